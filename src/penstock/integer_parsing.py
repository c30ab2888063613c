"""Digits that are a number.

In: a text. Out: its number, if it is one. Called wherever a text of somebody else may be a whole number.
Invariant: never an error: `str.isdigit` is true of `³`, which `int` refuses, and `int` refuses very many digits.
"""

from __future__ import annotations

MAX_DIGITS = 78  # of an unsigned integer of 256 bits, the widest there is


def parse_whole_number(text: str) -> int | None:
    """The number that ASCII digits alone write; None for every other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None
