"""Rows of answers as JSON texts.

In: names and Python values. Out: a JSON object as text. Invariant: every value that Spark returns has a text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence


def row_text(columns: Sequence[str], row: Sequence[object]) -> str:
    """A row as a JSON object; numbers keep all their digits, and what JSON has no form for is a text."""
    return json.dumps(dict(zip(columns, map(_plain, row), strict=True)), ensure_ascii=False, default=str)


def _plain(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case str() | bytes() | bytearray():
            return value
        case Sequence():
            return [_plain(each) for each in value]
        case _:
            return value
