"""Conversions to numbers: from texts, other numbers, dates and times.

In: a value and a number type. Out: `Conversion`. Called by conversions. Invariant: integers wrap around
as in ClickHouse where `accurate` does not forbid it.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversion import TWO_64, Conversion
from penstock.sql.typed import Typed, as_spark
from penstock.sql.value_types import value_type

_INTEGER = "^[+-]?[0-9]+$"
_DECIMAL = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_SPECIAL = "^[+-]?(?i:inf|infinity|nan)$"
_TEXTS = (t.String, t.FixedString, t.Json)


def to_number(value: Typed, want: Type, accurate: bool) -> Conversion | None:
    match want:
        case t.Int():
            return _to_integer(value, want, accurate)
        case t.Float():
            return _to_float(value, want, accurate)
        case t.Decimal():
            return _to_decimal(value, want)
        case _:
            return _to_bool(value)


def _to_integer(value: Typed, want: t.Int, accurate: bool) -> Conversion | None:
    match value.bare:
        case t.Int() as have:
            return _between_integers(value, have, want, accurate)
        case t.Bool():
            return Conversion(f"CAST({value.sql} AS {value_type(want)})")
        case t.Float():
            return _from_float(value, want, accurate)
        case t.Decimal():
            return Conversion(f"CAST({value.sql} AS {value_type(want)})", _in_range(value.sql, want))
        case t.Date():
            return _between_integers(Typed(f"unix_date({value.sql})", t.Int(32), "INT"), t.Int(32), want, accurate)
        case t.DateTime() | t.DateTime64():
            seconds = Typed(f"unix_seconds({value.sql})", t.Int(64), "BIGINT")
            return _between_integers(seconds, t.Int(64), want, accurate)
        case t.Enum(_, values):
            pairs = ", ".join(f"'{name}', {number}" for name, number in values)
            return Conversion(f"CAST(map({pairs})[{value.sql}] AS {value_type(want)})")
        case of if isinstance(of, _TEXTS):
            number = f"try_cast({value.sql} AS DECIMAL(38,0))"
            valid = f"{value.sql} RLIKE '{_INTEGER}' AND coalesce({_in_range(number, want)}, false)"
            return Conversion(f"CAST({value.sql} AS {value_type(want)})", valid)
        case _:
            return None


def _in_range(sql: str, want: t.Int) -> str:
    return f"{sql} BETWEEN {want.low} AND {want.high}"


def _between_integers(value: Typed, have: t.Int, want: t.Int, accurate: bool) -> Conversion:
    spark = value_type(want)
    if want.low <= have.low and have.high <= want.high:
        return Conversion(as_spark(value, spark))
    if isinstance(value.constant, int) and want.low <= value.constant <= want.high:
        return Conversion(as_spark(value, spark))
    number = as_spark(value, "INT") if value.spark == "BOOLEAN" else value.sql
    if accurate:
        return Conversion(f"CAST({number} AS {spark})", _in_range(number, want))
    return Conversion(_wrapped(number, value.spark, want))


def _wrapped(sql: str, have: str, want: t.Int) -> str:
    """The lowest bits of a number, as ClickHouse's conversions between integers have it."""
    spark = value_type(want)
    if want.bits == 64:
        if want.signed:
            return f"CAST(if({sql} > {2**63 - 1}, {sql} - {TWO_64}, {sql}) AS BIGINT)"
        return f"CAST(if({sql} < 0, {sql} + {TWO_64}, {sql}) AS {spark})"
    low = f"CAST({sql} % {2**want.bits} AS BIGINT)" if have.startswith("DECIMAL") else f"CAST({sql} AS BIGINT)"
    if not want.signed:
        return f"CAST(({low} & {2**want.bits - 1}L) AS {spark})"
    return f"CAST(shiftright(shiftleft({low}, {64 - want.bits}), {64 - want.bits}) AS {spark})"


def _from_float(value: Typed, want: t.Int, accurate: bool) -> Conversion:
    if accurate:
        valid = f"{_in_range(value.sql, want)} AND {value.sql} = floor({value.sql})"
        return Conversion(f"CAST({value.sql} AS {value_type(want)})", valid)
    if want.bits == 64:
        return Conversion(f"CAST({value.sql} AS {value_type(want)})")
    whole = Typed(f"CAST({value.sql} AS BIGINT)", t.Int(64), "BIGINT")
    return _between_integers(whole, t.Int(64), want, accurate=False)


def _to_float(value: Typed, want: t.Float, accurate: bool) -> Conversion | None:
    spark = value_type(want)
    match value.bare:
        case t.Int() | t.Float() | t.Decimal() | t.Bool():
            sql = as_spark(value, "INT") if value.spark == "BOOLEAN" else value.sql
            valid = f"CAST(CAST({sql} AS FLOAT) AS DOUBLE) = {sql}" if accurate and spark == "FLOAT" else None
            return Conversion(as_spark(value, spark), valid)
        case t.Date():
            return Conversion(f"CAST(unix_date({value.sql}) AS {spark})")
        case t.DateTime():
            return Conversion(f"CAST(unix_seconds({value.sql}) AS {spark})")
        case t.DateTime64():
            return Conversion(f"CAST(unix_micros({value.sql}) / 1000000D AS {spark})")
        case of if isinstance(of, _TEXTS):
            special = f"{value.sql} RLIKE '{_SPECIAL}'"
            number = f"CAST(regexp_replace({value.sql}, '(?i)inf(inity)?$', 'Infinity') AS {spark})"
            return Conversion(number, f"{value.sql} RLIKE '{_DECIMAL}' OR {special}")
        case _:
            return None


def _to_decimal(value: Typed, want: t.Decimal) -> Conversion | None:
    """Digits after the scale are cut off, not rounded."""
    spark = value_type(want)
    match value.bare:
        case t.Int() | t.Bool() | t.Float():
            sql = as_spark(value, "INT") if value.spark == "BOOLEAN" else value.sql
            return Conversion(f"CAST({sql} AS {spark})")
        case t.Decimal(_, scale):
            if scale <= want.scale:
                return Conversion(f"CAST({value.sql} AS {spark})")
            return _cut(value.sql, want)
        case of if isinstance(of, _TEXTS):
            cut = f"regexp_replace({value.sql}, '([.][0-9]{{{want.scale}}})[0-9]+$', '$1')"
            valid = f"{value.sql} RLIKE '{_DECIMAL}' AND try_cast({cut} AS {spark}) IS NOT NULL"
            return Conversion(f"CAST({cut} AS {spark})", valid)
        case _:
            return None


def _cut(sql: str, want: t.Decimal) -> Conversion:
    down = f"if({sql} < 0, ceil({sql}, {want.scale}), floor({sql}, {want.scale}))"
    return Conversion(f"CAST({down} AS {value_type(want)})")


def _to_bool(value: Typed) -> Conversion | None:
    match value.bare:
        case t.Bool() | t.Int() | t.Float() | t.Decimal():
            return Conversion(value.sql if value.spark == "BOOLEAN" else f"({value.sql} <> 0)")
        case of if isinstance(of, _TEXTS):
            lowered = f"lower({value.sql})"
            yes, no = "'true', 't', 'yes', 'y', 'on', 'enable', 'enabled', '1'", "'false', 'f', 'no', 'n', 'off', 'disable', 'disabled', '0'"
            return Conversion(f"({lowered} IN ({yes}))", f"{lowered} IN ({yes}, {no})")
        case _:
            return None
