"""Penstock: change a running Spark data pipeline without stopping it.

The names with which projects are written in Python are those of `penstock.api`, which is imported when the first is
asked for: a command that needs none of them does not wait for Pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.api.objects import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """A name of `penstock.api`. The packages of Penstock, whose names are in lower case, are not looked for there."""
    if not (name[:1].isupper() or name.startswith(("clickhouse_", "materialized_", "simple_")) or name == "__all__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("penstock.api"), name)
