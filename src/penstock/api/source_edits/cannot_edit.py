"""Why a place of Python is not edited."""

from __future__ import annotations


class CannotEdit(Exception):
    """The reason, of one object; who asked for the edit makes a problem with a place of it."""
