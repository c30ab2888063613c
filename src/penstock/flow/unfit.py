"""What a column's type cannot hold, and how it is told.

In: a value of a row. Out: `Unfit`, and the value as an error shows it. Called by `values` and `moments`.
Invariant: what is shown is short, whatever the value is.
"""

from __future__ import annotations

import json


class Unfit(ValueError):
    """A value that the column's type cannot hold; the text says why."""


class Number(str):
    """A JSON number with a point or an exponent, as it was written."""

    __slots__ = ()


def shown(value: object) -> str:
    """As JSON, cut to sixty characters."""
    text = value if isinstance(value, Number) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
