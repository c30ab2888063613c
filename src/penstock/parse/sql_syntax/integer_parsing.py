"""Parse text that consists of ASCII digits only.

In: text from outside, such as a query or a URL. Out: its number, or None. Invariant: it never raises.
(`str.isdigit` accepts characters such as `³` that `int` refuses, and `int` refuses very long texts.)
"""

from __future__ import annotations

MAX_DIGITS = 78  # digits of the greatest UInt256, ClickHouse's widest integer


def parse_whole_number(text: str) -> int | None:
    """The number that the text writes in ASCII digits; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None
