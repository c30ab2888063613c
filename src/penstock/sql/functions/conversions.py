"""Type conversion: toInt32 … toDateTime64, each also with OrZero, OrNull and OrDefault

Every row goes through `penstock.sql.conversions.explicit`, so that `toT(x)` and `CAST(x AS T)` never differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversions.explicit import CAST_MODE, STRICT_MODE, ConversionMode, convert
from penstock.sql.expr.spark_types import function_default, value_default, value_type
from penstock.sql.expr.typed import TypedSql, as_spark, is_null, nullable_if_any, replace_sql
from penstock.sql.functions.arguments import literal_zone, precision_argument
from penstock.sql.functions.function import BadArguments, Function

_SIMPLE_TYPES: Mapping[str, Type] = {
    **{str(t.Int(bits, signed)): t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)},
    "Float32": t.Float(32),
    "Float64": t.Float(64),
    "UUID": t.UUID(),
    "Date": t.Date(),
    "Date32": t.Date(wide=True),
    "Bool": t.Bool(),
    "String": t.String(),
    "IPv4": t.IPv4(),
    "IPv6": t.IPv6(),
}
_ALWAYS_STRICT = ("String", "Bool")
"""ClickHouse has no OrZero, OrNull and OrDefault of these."""
_YEARS_0_TO_9999 = (-62167219200, 253402300799)
"""The first and the last second of what a DateTime64 holds."""
_DECIMALS = ((32, 9), (64, 18), (128, 38))
"""The sizes in bits, and the digits that they hold."""
_OR_ZERO, _OR_NULL = ConversionMode("zero"), ConversionMode("null")
_MODE_OF_SUFFIX = {"OrZero": _OR_ZERO, "OrNull": _OR_NULL}
_STRICT_OF_FIXED = (t.DateTime64, t.Bool, t.String, t.FixedString)
"""To these a FixedString that is no value of theirs fails, whether or not it may be NULL."""
_Convert: TypeAlias = Callable[[TypedSql, Type], TypedSql]


def _convert_leniently(value: TypedSql, of: Type) -> TypedSql:
    """toT(x): where x may be NULL, a text that is no value of the type is NULL (but not for a DateTime64)."""
    if value.nullable and isinstance(value.bare, t.FixedString) and not isinstance(of, _STRICT_OF_FIXED):
        return _convert_fixed_string(value, of)
    if value.nullable and isinstance(value.bare, t.String):
        if isinstance(of, t.IPv4):
            return _convert(value, of, _OR_NULL)
        if not isinstance(of, (t.DateTime64, t.FixedString)):
            return _convert(value, t.Nullable(of), CAST_MODE)
    return _convert_strictly(value, of)


def _convert_fixed_string(value: TypedSql, of: Type) -> TypedSql:
    """A FixedString that may be NULL: NULL if it is no value of the type. Of nothing but zeros an integer is 0."""
    if isinstance(of, t.Decimal):
        raise BadArguments(f"{value.type} is no number with its zeros", "trimRight(…) it, or make it a String")
    return _zeros_as_zero(value, _convert(value, of, ConversionMode("null", "refused")))


def _convert_strictly(value: TypedSql, of: Type) -> TypedSql:
    """toT(x) in a FORWARD_QUERY: a text that is no value of the type is an error, whether or not x may be NULL."""
    return _zeros_as_zero(value, _convert(value, of, STRICT_MODE))


def _convert(value: TypedSql, of: Type, mode: ConversionMode) -> TypedSql:
    _refuse_bytes_as_numbers(value, of)
    result = convert(value, of, mode)
    if result is None:
        raise BadArguments(f"{value.type} cannot be converted to {of}")
    return result


def _materialize(values: Sequence[TypedSql]) -> TypedSql:
    """The value, which is no constant any more: what asks for a literal array refuses it."""
    value = values[0]
    return replace_sql(value, f"coalesce({value.sql})" if isinstance(value.bare, t.Array) else value.sql)


def _identity(values: Sequence[TypedSql]) -> TypedSql:
    return replace_sql(values[0], values[0].sql)


def _to_low_cardinality(values: Sequence[TypedSql]) -> TypedSql:
    of = values[0].type
    if is_null(values[0]) or not isinstance(values[0].bare, t.IN_LOW_CARDINALITY):
        raise BadArguments(f"`{of}` cannot be inside LowCardinality", "leave toLowCardinality out")
    return values[0] if isinstance(of, t.LowCardinality) else replace(values[0], type=t.LowCardinality(of))


def _to_string(values: Sequence[TypedSql], convert_value: _Convert) -> TypedSql:
    """toString(value), or toString(time, zone): the time as the clock of that zone shows it."""
    value = values[0]
    if len(values) > 1 and not isinstance(value.bare, (t.DateTime, t.DateTime64)):
        raise BadArguments(f"a time zone beside {value.type} has no meaning", "toString(…) of a DateTime takes one")
    return convert_value(_on_clock_of(values), t.String())


def _require_string(value: TypedSql) -> None:
    if not isinstance(value.bare, (t.String, t.FixedString)):
        raise BadArguments(f"the argument must be a String, this is {value.type}")


def _zeros_as_zero(value: TypedSql, found: TypedSql) -> TypedSql:
    """A FixedString of nothing but zeros is the integer 0."""
    if not isinstance(value.bare, t.FixedString) or not isinstance(found.bare, t.Int):
        return found
    return replace(found, sql=f"if(rtrim(chr(0), {value.sql}) = '', {value_default(found.bare)}, {found.sql})")


def _refuse_bytes_as_numbers(value: TypedSql, of: Type) -> None:
    """16 bytes are a UUID or IPv6 for ClickHouse, not its text; they are no texts in Spark."""
    if value.bare == t.FixedString(16) and isinstance(of, (t.UUID, t.IPv6)):
        raise BadArguments(f"a FixedString(16) is the bytes of a {of}, not its text", "toString(…) of it")


def _conversion_functions(name: str, of: Type) -> tuple[Function, ...]:
    """toTOrZero, toTOrNull and toTOrDefault of one type."""

    def forgiving(mode: ConversionMode) -> Callable[[Sequence[TypedSql]], TypedSql]:
        def build(values: Sequence[TypedSql]) -> TypedSql:
            _require_string(values[0])
            return _zeros_as_zero(values[0], _convert(values[0], of, mode))

        return build

    rows = []
    if name not in _ALWAYS_STRICT:
        rows.append(Function(f"to{name}OrZero", (1, 1), ("string",), forgiving(_OR_ZERO)))
        rows.append(Function(f"to{name}OrNull", (1, 1), ("string",), forgiving(_OR_NULL)))
        rows.append(Function(f"to{name}OrDefault", (1, 2), ("any",), _or_default_build(of), strict=False))
    return tuple(rows)


def _or_default_build(of: Type) -> Callable[[Sequence[TypedSql]], TypedSql]:
    """toTOrDefault: the default (else the zero value) where the conversion fails."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        default = _default_sql(values, 1, of) if len(values) > 1 or values[0].nullable else None
        return _zeros_as_zero(values[0], _convert(values[0], of, ConversionMode("zero", "refused", default=default)))

    return build


def _zone_argument(values: Sequence[TypedSql], place: int) -> str | None:
    if len(values) <= place:
        return values[0].bare.zone if isinstance(values[0].bare, (t.DateTime, t.DateTime64)) else None
    return literal_zone(values[place])


def _on_clock_of(values: Sequence[TypedSql]) -> TypedSql:
    """The time of toDate(time, zone) and toString(time, zone), which read that zone's clock."""
    value, zone = values[0], _zone_argument(values, 1) if len(values) > 1 else None
    match value.bare:
        case t.DateTime() if zone:
            return replace(value, type=nullable_if_any(t.DateTime(zone), [value]))
        case t.DateTime64(precision, _) if zone:
            return replace(value, type=nullable_if_any(t.DateTime64(precision, zone), [value]))
    return value


def _require_text_or_seconds(value: TypedSql, mode: ConversionMode) -> None:
    """toDateTimeOrNull takes texts and integers, toDateTimeOrZero texts alone."""
    if mode.failure == "zero" or not isinstance(value.bare, (t.Int, t.Bool)):
        _require_string(value)


def _to_datetime(mode: ConversionMode) -> Callable[[Sequence[TypedSql]], TypedSql]:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        _require_text_or_seconds(values[0], mode)
        accurate = mode.failure == "null" and isinstance(values[0].bare, t.Int)
        return _convert(
            values[0], t.DateTime(_zone_argument(values, 1)), ConversionMode("null", "refused") if accurate else mode
        )

    return build


def _to_datetime64(mode: ConversionMode) -> Callable[[Sequence[TypedSql]], TypedSql]:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        _require_text_or_seconds(values[0], mode)
        of = _time64_argument(values)
        found = _convert(values[0], of, mode)
        if isinstance(values[0].bare, t.Int):
            return _within_calendar(values[0], found)
        if mode.failure == "null" and isinstance(values[0].bare, t.String):
            return replace(found, sql=f"if({values[0].sql} IN ('', '-'), {value_default(found.bare)}, {found.sql})")
        return found

    return build


def _within_calendar(seconds: TypedSql, found: TypedSql) -> TypedSql:
    """The time of a number of seconds; NULL before the year 0 and after the year 9999."""
    if seconds.spark in ("INT", "BOOLEAN") or (isinstance(seconds.constant, int) and abs(seconds.constant) < 2**32):
        return found
    first, last = _YEARS_0_TO_9999
    return replace(found, sql=f"if({seconds.sql} BETWEEN {first} AND {last}, {found.sql}, NULL)", computed=None)


def _time64_argument(values: Sequence[TypedSql]) -> t.DateTime64:
    return t.DateTime64(precision_argument(values, 1), _zone_argument(values, 2))


def _decimal_argument(precision: int, values: Sequence[TypedSql]) -> t.Decimal:
    scale = values[1].constant
    if not isinstance(scale, int) or not 0 <= scale <= precision:
        raise BadArguments(f"the scale must be a literal from 0 to {precision}")
    return t.Decimal(precision, scale)


def _to_decimal(precision: int, mode: ConversionMode) -> Callable[[Sequence[TypedSql]], TypedSql]:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = _decimal_argument(precision, values)
        _require_string(values[0])
        return _unless_padded(values[0], _convert(values[0], of, mode), mode)

    return build


def _unless_padded(value: TypedSql, found: TypedSql, mode: ConversionMode) -> TypedSql:
    """The zeros behind a shorter FixedString are no part of a Decimal; as the other conversions, `toDecimal` ignores
    them, but not -OrNull and -OrZero."""
    if not isinstance(value.bare, t.FixedString):
        return found
    failed = "NULL" if mode.failure == "null" else value_default(found.bare)
    return replace(found, sql=f"if(endswith({value.sql}, chr(0)), {failed}, {found.sql})", computed=None)


def _plain_functions(convert_value: _Convert) -> tuple[Function, ...]:
    """toT of every type, by the rule for texts that are no value of it."""
    rows = [
        Function(f"to{name}", (1, 1), ("any",), lambda v, of=of: convert_value(v[0], of))  # type: ignore[misc]
        for name, of in _SIMPLE_TYPES.items()
        if name not in ("Date", "String")
    ]
    decimals = [
        Function(
            f"toDecimal{size}",
            (2, 2),
            ("any",),
            lambda v, digits=digits: convert_value(v[0], _decimal_argument(digits, v)),  # type: ignore[misc]
        )
        for size, digits in _DECIMALS
    ]
    return (
        *rows,
        *decimals,
        Function("toDateTime", (1, 2), ("any",), lambda v: convert_value(v[0], t.DateTime(_zone_argument(v, 1)))),
        Function("toDateTime64", (2, 3), ("any",), lambda v: convert_value(v[0], _time64_argument(v))),
        Function("toDate", (1, 2), ("any", "constant"), lambda v: convert_value(_on_clock_of(v), t.Date())),
        Function("toString", (1, 2), ("any", "constant"), lambda v: _to_string(v, convert_value)),
    )


def _to_fixed_string(values: Sequence[TypedSql]) -> TypedSql:
    length = values[1].constant
    if not isinstance(length, int) or not 1 <= length <= t.LONGEST_FIXED_STRING:
        raise BadArguments(f"the length must be a literal from 1 to {t.LONGEST_FIXED_STRING}")
    return _convert(values[0], t.FixedString(length), STRICT_MODE)


def _to_nullable(value: TypedSql) -> TypedSql:
    if isinstance(value.bare, (t.Array, t.Map)):
        raise BadArguments(f"{value.type} is never Nullable", "the value itself")
    return replace(value, type=t.Nullable(value.bare))


def _default_sql(values: Sequence[TypedSql], place: int, of: Type) -> str:
    """The SQL of the default argument at `place`, which must be of the result's own type; without one the type's
    zero."""
    if is_null(values[0]):
        raise BadArguments("a literal NULL has no default", "the default alone")
    if len(values) <= place:
        return function_default(of)
    is_bool = of == t.Int(8, signed=False) and values[place].type == t.Bool()  # equal types in ClickHouse
    if values[place].type != of and not is_bool:
        raise BadArguments(f"the default must be a {of}, this is {values[place].type}", "CAST it")
    return as_spark(values[place], value_type(of))


def _refuse_date_in_zone(value: TypedSql, of: t.DateTime | t.DateTime64) -> None:
    if isinstance(value.bare, t.Date) and of.zone not in (None, "UTC"):
        raise BadArguments("a Date in a time zone is not converted with a default", "toDateTime(…, zone)")


def _surely_fits(value: TypedSql, of: t.Decimal) -> bool:
    """Whether a value is a string or a number whose type fits into the decimal: ClickHouse's decimals may hold more
    digits than declared."""
    match value.bare:
        case t.String():
            return True
        case t.Int() as have:
            return len(str(have.high)) + of.scale <= of.precision
        case t.Decimal(precision, scale):
            return precision - scale + of.scale <= of.precision
        case _:
            return False


def _datetime_or_default(values: Sequence[TypedSql]) -> TypedSql:
    of = t.DateTime(_zone_argument(values, 1))
    _refuse_date_in_zone(values[0], of)
    return _convert(values[0], of, ConversionMode("zero", "refused", default=_default_sql(values, 2, of)))


def _datetime64_or_default(values: Sequence[TypedSql]) -> TypedSql:
    if not isinstance(values[0].bare, (t.String, t.Date, t.DateTime, t.DateTime64)):
        raise BadArguments(f"a {values[0].type} is not converted with a default", "toDateTime64(…)")
    precision = precision_argument(values, 1)
    of = t.DateTime64(precision, _zone_argument(values, 2))
    _refuse_date_in_zone(values[0], of)
    return _convert(values[0], of, ConversionMode("zero", "refused", default=_default_sql(values, 3, of)))


def _decimal_or_default(precision: int) -> Callable[[Sequence[TypedSql]], TypedSql]:
    """toDecimalNOrDefault: the default is a decimal of the result's own type."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = _decimal_argument(precision, values)
        default = _default_sql(values, 2, of)
        if not _surely_fits(values[0], of):
            raise BadArguments(
                f"{values[0].type} may not fit in {of}", f"toDecimal128OrDefault(toString(…), {of.scale})"
            )
        return _convert(values[0], of, ConversionMode("zero", "refused", default=default))

    return build


STRICT_FUNCTIONS: Mapping[str, Function] = {row.name: row for row in _plain_functions(_convert_strictly)}
"""toT as a FORWARD_QUERY reads it."""
FUNCTIONS: tuple[Function, ...] = (
    *_plain_functions(_convert_leniently),
    *(row for name, of in _SIMPLE_TYPES.items() for row in _conversion_functions(name, of)),
    *(Function(f"toDateTime{end}", (1, 2), ("any",), _to_datetime(mode)) for end, mode in _MODE_OF_SUFFIX.items()),
    *(Function(f"toDateTime64{end}", (1, 3), ("any",), _to_datetime64(mode)) for end, mode in _MODE_OF_SUFFIX.items()),
    *(
        Function(f"toDecimal{size}{end}", (2, 2), ("any",), _to_decimal(precision, mode))
        for size, precision in _DECIMALS
        for end, mode in _MODE_OF_SUFFIX.items()
    ),
    Function("toDateTimeOrDefault", (1, 3), ("any", "constant", "any"), _datetime_or_default, strict=False),
    Function(
        "toDateTime64OrDefault", (2, 4), ("any", "constant", "constant", "any"), _datetime64_or_default, strict=False
    ),
    *(
        Function(
            f"toDecimal{size}OrDefault",
            (2, 3),
            ("any", "constant", "any"),
            _decimal_or_default(precision),
            strict=False,
        )
        for size, precision in _DECIMALS
    ),
    Function("toFixedString", (2, 2), ("bytes", "constant"), _to_fixed_string),
    Function("toLowCardinality", (1, 1), ("any",), _to_low_cardinality, strict=False),
    Function("toNullable", (1, 1), ("any",), lambda v: _to_nullable(v[0])),
    Function("materialize", (1, 1), ("any",), _materialize),
    Function("identity", (1, 1), ("any",), _identity),
)
ALIASES: dict[str, str] = {"DATE": "toDate", "toDateTime32": "toDateTime"}
ANY_CASE: tuple[str, ...] = ("DATE",)
