"""By how much a date or time is moved, as Spark can add it.

In: a typed amount, a unit, a sign, the type that is moved. Out: an `IntervalNumber`. Invariant: nothing overflows in
Spark. Where ClickHouse counts modulo a power of two (a Date in 16 bits, a Date32 and a DateTime in 32) so does the
amount; where it stops at a year, the amount stops beyond it.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import MONTHS_PER_UNIT, clamp
from penstock.sql.expr.overflow import WIDE_TYPE, lowest_64_bits, negate_wrapping
from penstock.sql.expr.typed import TypedSql, as_spark, typed_sql

CLOCK_UNITS = ("SECOND", "MINUTE", "HOUR")
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604_800}
_SECONDS |= {unit: months * 2_678_400 for unit, months in MONTHS_PER_UNIT.items()}
_YEAR = 31_622_400
_MOST_YEARS, _FEW_YEARS = 11_000, 1_700
"""Any time that is moved by the first leaves the years 1 to 9999; one of today that is moved by the second does not."""
_LOW_32 = "4294967295L"
_PARTS = {"WEEK": ("DAY", 7), "QUARTER": ("MONTH", 3)}
"""What ClickHouse counts in place of a unit, in 64 bits."""


@dataclass(frozen=True)
class IntervalNumber:
    """SQL of a signed number of units: an INT for days and longer ones, a BIGINT for others."""

    count: str
    unit: str


def as_signed_bigint(value: TypedSql) -> str:
    """The number of an interval, as a BIGINT: a UInt64 beyond 63 bits is read as a negative number."""
    if value.spark != "DECIMAL(20,0)":
        return as_spark(value, "BIGINT")
    return bind_if_long(value.sql, lambda n: f"CAST(if({n} >= {2**63}, {n} - {2**64}, {n}) AS BIGINT)")


def may_leave_years(amount: TypedSql, unit: str) -> bool:
    """Whether a time that is moved so far may lie before the year 1 or after 9999."""
    return _greatest(amount) * _SECONDS.get(unit, 1) > _FEW_YEARS * _YEAR


def shift_count(amount: TypedSql, unit: str, sign: int, of: Type) -> IntervalNumber:
    """`of`: the type of the moved time."""
    spark = "INT" if unit in ("DAY", "WEEK", *MONTHS_PER_UNIT) else "BIGINT"
    if unit not in _SECONDS or not _is_wide(amount, unit):
        number = as_spark(amount, spark)
        return IntervalNumber(number if sign > 0 else f"(- {number})", unit)
    number, minus = as_spark(amount, "BIGINT"), "" if sign > 0 else "- "  # a UInt64 beyond it fails, as there
    if isinstance(of, t.Date) and unit in ("DAY", "WEEK"):
        factor = " * 7" if unit == "WEEK" else ""
        return IntervalNumber(_signed_32_bits(f"({minus}({number} & {_LOW_32}){factor})"), "DAY")
    if isinstance(of, t.DateTime) and unit in CLOCK_UNITS:
        return IntervalNumber(f"({minus}(({number} & {_LOW_32}) * {_SECONDS[unit]} & {_LOW_32}))", "SECOND")
    if unit in _PARTS and _greatest(amount) >= 2**63:
        unit, parts = _PARTS[unit]
        number = lowest_64_bits(f"CAST({number} AS {WIDE_TYPE}) * {parts}")
    most = _MOST_YEARS * _YEAR // _SECONDS[unit]
    signed = number if sign > 0 else _negative(number, amount)
    near = clamp(_checked(signed, unit, of), f"-{most}L", f"{most}L", nullable=amount.nullable)
    return IntervalNumber(f"CAST({near} AS {spark})", unit)


def _negative(number: str, amount: TypedSql) -> str:
    """The least number of 64 bits stays as it is, as in ClickHouse."""
    short = isinstance(amount.bare, t.Int) and amount.bare.bits < 64
    return f"(- {number})" if short else negate_wrapping(typed_sql(number, t.Int(64)), "BIGINT")


def _signed_32_bits(number: str) -> str:
    """The lower 32 bits of a BIGINT as an INT."""
    return f"CAST(shiftright(shiftleft({number}, 32), 32) AS INT)"


def _checked(number: str, unit: str, of: Type) -> str:
    """A number of shorter units that overflows what ClickHouse counts a DateTime64 in raises when run."""
    if not isinstance(of, t.DateTime64) or unit not in CLOCK_UNITS:
        return number
    most = 2**62 // 10**of.precision // _SECONDS[unit]
    wrong = "raise_error('a time is moved so far that ClickHouse wraps around')"
    return bind_if_long(number, lambda n: f"if({n} > {most}L OR {n} < -{most}L, {wrong}, {n})")


def _greatest(amount: TypedSql) -> int:
    """No amount is greater, whatever its sign."""
    if isinstance(amount.constant, int):
        return abs(amount.constant)
    return 2**amount.bare.bits if isinstance(amount.bare, t.Int) else 2**64


def _is_wide(amount: TypedSql, unit: str) -> bool:
    """Whether the amount may be more than what Spark adds of the unit without an overflow."""
    most = _greatest(amount)
    if unit in CLOCK_UNITS:
        return most > 2**32 or (most >= 2**31 and amount.bare != t.Int(32))
    return most > 2**24
