"""Values that ClickHouse would change without saying so.

In: the type of a column, as ClickHouse writes it, and a value as Postgres does. Out: why it does not fit, or None.
Invariant: what passes is stored as it is, or refused by ClickHouse itself. Tried: whole numbers wrap around, digits
behind a Decimal's scale are cut, both in silence; all else that does not fit is an error there.
"""

from __future__ import annotations

import re

from penstock.postgres.translation.clickhouse.column_values import enum_values

_INTEGER = re.compile(r"(U?)Int(8|16|32|64|128|256)")
_DECIMAL = re.compile(r"Decimal\((\d+), (\d+)\)")
_FIXED = re.compile(r"FixedString\((\d+)\)")
_WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)")
_WHOLE = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?(\d+)(?:\.(\d*))?")


def refused_value(of: str, name: str, text: str | None) -> str | None:
    """Why a column of this type does not hold a value."""
    if text is None:
        return None if "Nullable(" in of else f"`{name}` is NULL, and the column is {of}"
    plain = of
    while (wrapped := _WRAPPED.fullmatch(plain)) is not None:
        plain = wrapped[1]
    if _fits(plain, text):
        return None
    return f"`{name}` is {text[:40]}, and the column is {of}"


def default_value(of: str) -> str | None:
    """What stands for the default of a type in an insert: NULL, but for an Enum, in which that is no label."""
    labels = None if of.startswith("Nullable(") else enum_values(of)
    return min(labels, key=lambda label: labels[label]) if labels else None


def _fits(of: str, text: str) -> bool:
    if (integer := _INTEGER.fullmatch(of)) is not None:
        return _fits_integer(signed=not integer[1], bits=int(integer[2]), text=text)
    if (decimal := _DECIMAL.fullmatch(of)) is not None:
        number = _NUMBER.fullmatch(text)
        return number is not None and len((number[2] or "").rstrip("0")) <= int(decimal[2])
    if (fixed := _FIXED.fullmatch(of)) is not None:
        return len(text.encode()) == int(fixed[1])
    return True


def _fits_integer(*, signed: bool, bits: int, text: str) -> bool:
    if text in ("t", "f"):
        return True
    if not _WHOLE.fullmatch(text):
        return False
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return low <= int(text) <= high
