"""Conversions to numbers, from texts, other numbers, dates and times.

In: a value and a number type. Out: `Conversion`. Invariant: integers wrap around, as in ClickHouse, unless `overflow`
refuses that.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversions.conversion import Conversion, Overflow
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.fine_times import as_microseconds, nanoseconds
from penstock.sql.expr.ip_addresses import ipv4_number
from penstock.sql.expr.overflow import TWO_64
from penstock.sql.expr.spark_types import FINE_TIME, value_type
from penstock.sql.expr.typed import TypedSql, as_spark, number_sql
from penstock.sql.spark_text import string_literal

_INTEGER, _NATURAL = (string_literal(rf"^{sign}?[0-9]+\z") for sign in ("[+-]", "[+]"))
_DECIMAL = string_literal(r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?\z")
_SPECIAL = string_literal(r"^[+-]?(?i:inf|infinity|nan)\z")
_LONG_DIGITS = 18
_TEXTS = (t.String, t.FixedString)


def to_number(value: TypedSql, want: Type, overflow: Overflow) -> Conversion | None:
    """A value as an integer, float, Decimal or Bool; None if ClickHouse has no such conversion."""
    match want:
        case t.Int():
            return _to_integer(value, want, overflow)
        case t.Float():
            return _to_float(value, want, overflow)
        case t.Decimal():
            return _to_decimal(value, want)
        case _:
            return _to_bool(value)


def _to_integer(value: TypedSql, want: t.Int, overflow: Overflow) -> Conversion | None:
    match value.bare:
        case t.Int() as have:
            return _integer_to_integer(value, have, want, overflow)
        case t.Bool():
            return Conversion(f"CAST({value.sql} AS {value_type(want)})")
        case t.Float():
            return _float_to_integer(value, want, overflow)
        case t.Decimal():
            whole = _cut_fraction(value.sql) if want.bits == 64 and not want.signed else value.sql
            # the fraction is cut off, so that -0.5 is the UInt8 0
            valid = f"{value.sql} > {want.low - 1} AND {value.sql} < {want.high + 1}"
            return Conversion(f"CAST({whole} AS {value_type(want)})", valid)
        case t.Date() | t.DateTime() | t.DateTime64():
            return _time_to_integer(value, want, overflow)
        case t.IPv4():
            return _ipv4_to_integer(value, want)
        case _:
            return _text_to_integer(value, want)


def _time_to_integer(value: TypedSql, want: t.Int, overflow: Overflow) -> Conversion:
    """Days since 1970 of a date, seconds of a time. An accurate conversion checks the range for DateTime64 only, as
    ClickHouse does."""
    if isinstance(value.bare, t.Date):
        days = TypedSql(f"unix_date({value.sql})", t.Int(32), "INT")
        return _integer_to_integer(days, t.Int(32), want, "wraps")
    moment = as_microseconds(value).sql
    of = value.bare
    fraction = isinstance(of, t.DateTime64) and of.precision > 0
    whole = f"(unix_micros({moment}) DIV 1000000L)" if fraction else f"unix_seconds({moment})"
    seconds = TypedSql(whole, t.Int(64), "BIGINT")
    return _integer_to_integer(seconds, t.Int(64), want, overflow if isinstance(value.bare, t.DateTime64) else "wraps")


def _ipv4_to_integer(value: TypedSql, want: t.Int) -> Conversion | None:
    """The 32 bits of an address; ClickHouse has no other integers of it."""
    if want.signed or want.bits < 32:
        return None
    return Conversion(f"CAST({ipv4_number(value.sql)} AS {value_type(want)})")


def _text_to_integer(value: TypedSql, want: t.Int) -> Conversion | None:
    """Digits with a sign; for an enum the number of its name, which wraps around where it is out of range."""
    if isinstance(value.bare, t.Enum):
        wrapped = ((name, (number - want.low) % 2**want.bits + want.low) for name, number in value.bare.values)
        pairs = ", ".join(f"{string_literal(name)}, {number}" for name, number in wrapped)
        return Conversion(f"CAST(map({pairs})[{value.sql}] AS {value_type(want)})")
    if not isinstance(value.bare, _TEXTS):
        return None
    number = f"try_cast({value.sql} AS DECIMAL(38,0))"
    valid = f"{value.sql} RLIKE {_INTEGER if want.signed else _NATURAL} AND coalesce({_in_range(number, want)}, false)"
    return Conversion(f"CAST({value.sql} AS {value_type(want)})", valid)


def _in_range(sql: str, want: t.Int) -> str:
    return f"{sql} BETWEEN {want.low} AND {want.high}"


def _integer_to_integer(value: TypedSql, have: t.Int, want: t.Int, overflow: Overflow) -> Conversion:
    spark = value_type(want)
    if want.low <= have.low and have.high <= want.high:
        return Conversion(as_spark(value, spark))
    if isinstance(value.constant, int) and want.low <= value.constant <= want.high:
        return Conversion(as_spark(value, spark))
    number = number_sql(value)
    if overflow == "refused":
        return Conversion(f"CAST({number} AS {spark})", _in_range(number, want))
    return Conversion(wrap_integer(number, value.spark, want))


def wrap_integer(sql: str, have: str, want: t.Int) -> str:
    """The lowest bits of an integer, as ClickHouse converts between integers. `have` is its Spark type."""
    spark = value_type(want)
    if want.bits == 64:
        if want.signed:
            return f"CAST(if({sql} > {2**63 - 1}, {sql} - {TWO_64}, {sql}) AS BIGINT)"
        return f"CAST(if({sql} < 0, {sql} + {TWO_64}, {sql}) AS {spark})"
    low = f"CAST({sql} % {2**want.bits} AS BIGINT)" if have.startswith("DECIMAL") else f"CAST({sql} AS BIGINT)"
    if not want.signed:
        return f"CAST(({low} & {2**want.bits - 1}L) AS {spark})"
    return f"CAST(shiftright(shiftleft({low}, {64 - want.bits}), {64 - want.bits}) AS {spark})"


def _cut_fraction(sql: str) -> str:
    """A decimal without its fraction; a cast would round it."""
    return f"({sql} - {sql} % 1)"


def _float_to_integer(value: TypedSql, want: t.Int, overflow: Overflow) -> Conversion:
    if overflow == "refused":
        valid = f"{_in_range(value.sql, want)} AND {value.sql} = floor({value.sql})"
        return Conversion(f"CAST({value.sql} AS {value_type(want)})", valid)
    if isinstance(value.constant, float) and want.low <= value.constant <= want.high:
        return Conversion(f"CAST({value.sql} AS {value_type(want)})")
    return Conversion(bind_if_long(value.sql, lambda x: _integer_of_float(x, want)))


def _integer_of_float(x: str, want: t.Int) -> str:
    """As a processor converts: by way of 32 bits, or of 64 for a UInt32 and more. What those do not hold is their least
    number; `x - x` makes an error of NaN and infinities, and keeps NULL."""
    bits = 64 if want.bits == 64 or (want.bits == 32 and not want.signed) else 32
    spark, limit = "BIGINT" if bits == 64 else "INT", f"{float(2 ** (bits - 1))!r}D"
    low = f"-{limit}" if bits == 64 else f"{float(-(2**31) - 1)!r}D"
    inside = f"{x} > {low} AND {x} < {limit}"
    if want.bits == 64 and not want.signed:
        number = wrap_integer(f"CAST({x} AS BIGINT)", "BIGINT", want)
        upper = f"CAST({x} - {limit} AS BIGINT) + {2**63}BD"
        above = f"WHEN {x} >= {limit} AND {x} < {float(TWO_64)!r}D THEN CAST({upper} AS DECIMAL(20,0))"
        least = f"CAST(CAST({x} - {x} AS BIGINT) + {2**63}BD AS DECIMAL(20,0))"
        return f"CASE WHEN {inside} THEN {number} {above} ELSE {least} END"
    if want.bits == bits:
        return f"if({inside}, CAST({x} AS {spark}), CAST({x} - {x} - {limit} AS {spark}))"
    number = wrap_integer(f"CAST({x} AS {spark})", spark, want)
    return f"if({inside}, {number}, CAST({x} - {x} AS {value_type(want)}))"


def _to_float(value: TypedSql, want: t.Float, overflow: Overflow) -> Conversion | None:
    spark = value_type(want)
    match value.bare:
        case t.Int() | t.Float() | t.Decimal() | t.Bool():
            sql = number_sql(value)
            rounds = spark == "FLOAT" or (isinstance(value.bare, t.Int) and value.bare.bits == 64)
            checked = overflow == "refused" and rounds and not isinstance(value.bare, t.Decimal)
            valid = _is_exact_float(value, sql, spark) if checked else None
            return Conversion(as_spark(value, spark), valid)
        case t.Date():
            return Conversion(f"CAST(unix_date({value.sql}) AS {spark})")
        case t.DateTime():
            return Conversion(f"CAST(unix_seconds({value.sql}) AS {spark})")
        case t.DateTime64() if value.spark == FINE_TIME:
            return Conversion(f"CAST(CAST({nanoseconds(value.sql)} AS DOUBLE) / 1e9D AS {spark})")
        case t.DateTime64():
            return Conversion(f"CAST(unix_micros({value.sql}) / 1000000D AS {spark})")
        case of if isinstance(of, _TEXTS):
            special = f"{value.sql} RLIKE {_SPECIAL}"
            unsigned = f"regexp_replace({value.sql}, '(?i)^[+-]nan$', 'NaN')"
            number = f"CAST(regexp_replace({unsigned}, '(?i)inf(inity)?$', 'Infinity') AS {spark})"
            return Conversion(number, f"{value.sql} RLIKE {_DECIMAL} OR {special}")
        case _:
            return None


def _is_exact_float(value: TypedSql, sql: str, spark: str) -> str:
    """Whether a number is the same as a float; one of 64 bits is compared as an integer, as a double may not be."""
    double = f"CAST({as_spark(value, spark)} AS DOUBLE)"
    if not isinstance(value.bare, t.Int) or value.bare.bits < 64:
        return f"{double} = {sql}"
    limit = f"{float(2**value.bare.bits if not value.bare.signed else 2**63)!r}D"
    return f"{double} < {limit} AND {_integer_of_float(double, value.bare)} = {sql}"


def _to_decimal(value: TypedSql, want: t.Decimal) -> Conversion | None:
    """Digits after the scale are cut off, not rounded."""
    spark = value_type(want)
    match value.bare:
        case t.Int() | t.Bool():
            sql = number_sql(value)
            return Conversion(f"CAST({sql} AS {spark})")
        case t.Float():
            return _float_to_decimal(value, want)
        case t.Decimal(_, scale):
            if scale <= want.scale:
                return Conversion(f"CAST({value.sql} AS {spark})")
            return _cut_to_scale(value.sql, want)
        case t.DateTime64(precision):
            seconds = as_spark(value, FINE_TIME)
            return (
                Conversion(f"CAST({seconds} AS {spark})") if precision <= want.scale else _cut_to_scale(seconds, want)
            )
        case of if isinstance(of, _TEXTS):
            return _text_to_decimal(value.sql, want)
        case _:
            return None


def _text_to_decimal(text: str, want: t.Decimal) -> Conversion:
    """Digits with a sign, a point and an exponent. As in ClickHouse, points after the first are skipped, and a sign, a
    point or an exponent alone is 0."""
    spark = value_type(want)
    one_point = f"regexp_replace({text}, '(?<=[.][0-9.]{{0,99}})[.]', '')"
    number = f"regexp_replace({one_point}, '^([+-]?)(?=[.eE]|$)', '$10')"
    cut = f"regexp_replace({number}, '([.][0-9]{{{want.scale}}})[0-9]+$', '$1')"
    valid = f"{text} <> '' AND {number} RLIKE {_DECIMAL} AND try_cast({cut} AS {spark}) IS NOT NULL"
    return Conversion(f"CAST({cut} AS {spark})", valid)


def _float_to_decimal(value: TypedSql, want: t.Decimal) -> Conversion:
    """As in ClickHouse: times 10^scale as a float of as many bits, then the fraction is cut off."""
    spark = value_type(want)
    scaled = f"({as_spark(value, 'DOUBLE')} * {float(10**want.scale)!r}D)"
    if value.bare == t.Float(32):
        scaled = f"CAST({as_spark(value, 'FLOAT')} * CAST({float(10**want.scale)!r}D AS FLOAT) AS DOUBLE)"
    if want.precision > _LONG_DIGITS:
        return Conversion(bind_if_long(scaled, lambda number: _wide_decimal(number, want)))
    whole = f"if({scaled} < 0, ceil({scaled}), floor({scaled}))"
    one = "0." + "0" * (want.scale - 1) + "1" if want.scale else "1"
    unit = f"CAST('{one}' AS DECIMAL({want.scale + 1},{want.scale}))"
    return Conversion(f"CAST(CAST({whole} AS DECIMAL(19,0)) * {unit} AS {spark})")


def _wide_decimal(scaled: str, want: t.Decimal) -> str:
    """Beyond 63 bits `floor` gives the nearest BIGINT. A double as large as that is whole, and is split into two
    parts that a BIGINT holds."""
    high = f"CAST({scaled} / {float(TWO_64)!r}D AS BIGINT)"
    low = f"CAST(({scaled} - CAST({high} AS DOUBLE) * {float(TWO_64)!r}D) / 2 AS BIGINT)"
    large = f"CAST({high} AS DECIMAL(20,0)) * {TWO_64} + CAST({low} AS DECIMAL(20,0)) * 2"
    whole = f"if(abs({scaled}) < {float(2**63)!r}D, CAST(CAST({scaled} AS BIGINT) AS DECIMAL(38,0)), {large})"
    return f"CAST(concat(CAST({whole} AS STRING), 'e-{want.scale}') AS {value_type(want)})"


def _cut_to_scale(sql: str, want: t.Decimal) -> Conversion:
    down = f"if({sql} < 0, ceil({sql}, {want.scale}), floor({sql}, {want.scale}))"
    return Conversion(f"CAST({down} AS {value_type(want)})")


def _to_bool(value: TypedSql) -> Conversion | None:
    match value.bare:
        case t.Bool() | t.Int() | t.Float() | t.Decimal():
            return Conversion(value.sql if value.spark == "BOOLEAN" else f"({value.sql} <> 0)")
        case of if isinstance(of, _TEXTS):
            lowered = f"lower({value.sql})"
            yes, no = (
                "'true', 't', 'yes', 'y', 'on', 'enable', 'enabled', '1'",
                "'false', 'f', 'no', 'n', 'off', 'disable', 'disabled', '0'",
            )
            return Conversion(f"({lowered} IN ({yes}))", f"{lowered} IN ({yes}, {no})")
        case _:
            return None
