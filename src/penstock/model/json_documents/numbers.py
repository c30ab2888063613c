"""Numbers in JSON: how one that is no plain integer is kept when it is read, and how ClickHouse writes a Float64.

In: the text of a number, or a float. Out: `JsonNumber`, text. Invariant: a text that was read is kept digit by digit.
"""

from __future__ import annotations

from decimal import Decimal

_LEAST_PLAIN, _LEAST_SCIENTIFIC = -6, 21


class JsonNumber(str):
    """A JSON number with a point, an exponent or thousands of digits, as it was written."""

    __slots__ = ()


def stored_float(number: float) -> str:
    """A finite number as ClickHouse writes a Float64, with `.0` after one that is written like an integer."""
    written = written_float(number)
    return written if "." in written or "e" in written else written + ".0"


def written_float(number: float) -> str:
    """A finite number as ClickHouse writes a Float64: `1`, `0.5`, `1e22`."""
    if number == 0:
        return "-0" if str(number).startswith("-") else "0"
    exact = Decimal(repr(number))
    exponent = exact.adjusted()
    if _LEAST_PLAIN <= exponent < _LEAST_SCIENTIFIC:
        shown = f"{exact:f}"
        return shown.rstrip("0").rstrip(".") if "." in shown else shown
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if number < 0 else ''}{digits[0]}{fraction}e{exponent}"
