"""Explicit conversions: CAST, toT, toTOrZero, toTOrNull, accurateCast and its variants.

In: a value and a type. Out: `TypedSql`, or None where ClickHouse has no such conversion. Invariant: a text that is no
value of the type fails the query, or gives the default or NULL where that was asked for (also by a Nullable type); it
never becomes another value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.analysis.may_raise import may_raise, suppress_errors
from penstock.sql.conversions import dates, numbers, strings
from penstock.sql.conversions.conversion import Conversion, Overflow
from penstock.sql.conversions.implicit import are_matched_by_name, cast_column, is_same_state, moves_fields
from penstock.sql.conversions.literals import parse_literal
from penstock.sql.expr.bind_once import SUBQUERY, bind_if_long, fresh_name, try_bind_once
from penstock.sql.expr.json_documents import ARRAYS, is_kind, scalar_of, scalar_types
from penstock.sql.expr.spark_types import function_default, value_default, value_type
from penstock.sql.expr.typed import NOTHING, TypedSql, is_null, nullable_if_any, typed_sql, unless_null
from penstock.sql.spark_text import quote_identifier, string_literal
from penstock.sql.stored_types import spark_type

OnFailure: TypeAlias = Literal["error", "by type", "zero", "null"]
"""`by type`: NULL for a text that is no value of a Nullable type, else an error."""


@dataclass(frozen=True, slots=True)
class ConversionMode:
    """What becomes of a value that cannot be converted."""

    failure: OnFailure = "error"
    overflow: Overflow = "wraps"
    """What a number out of range does."""
    default: str | None = None
    """Replaces the default value of the type for `zero`."""


STRICT_MODE = ConversionMode()
"""A failure is an error, numbers out of range wrap around."""
CAST_MODE = ConversionMode("by type")
"""The mode of CAST."""
STRICT_FAILURES: tuple[OnFailure, ...] = ("error", "by type")


def convert(value: TypedSql, want: Type, mode: ConversionMode = STRICT_MODE) -> TypedSql | None:
    """`value` as `want`; NULL stays NULL. None if ClickHouse has no such conversion. The value is bound where it is
    used more than once; a default stays outside of that binding."""
    if isinstance(unwrap_type(want), t.AggregateFunction):
        return TypedSql(value.sql, want, spark_type(want)) if is_same_state(value.type, unwrap_type(want)) else None
    if isinstance(value.bare, t.Dynamic):
        return _convert_dynamic(value, want) if mode.failure in STRICT_FAILURES else None
    if is_null(value):
        return typed_sql(f"CAST(NULL AS {value_type(want)})", t.Nullable(unwrap_type(want)))
    if mode.failure == "by type" and gives_null_for_text(value, want):
        return convert(value, want, ConversionMode("null", "refused"))
    known = _known_time(value, unwrap_type(want))
    if known is not None:
        return replace(known, type=t.Nullable(unwrap_type(want)) if mode.failure == "null" else want, literal=None)
    default = mode.default if mode.failure == "zero" and not is_nullable(want) else None
    formula = _guarded_formula(
        value, unwrap_type(want), ConversionMode("null", mode.overflow) if default is not None else mode
    )
    if formula is None:
        return None
    sql = bind_if_long(value.sql, partial(formula.replace, _OPERAND))
    if default is not None:
        sql = f"coalesce({sql}, {default})"
    stays_null = value.nullable and not isinstance(unwrap_type(want), _CONTAINERS) and default is None
    return typed_sql(sql, t.Nullable(unwrap_type(want)) if mode.failure == "null" or stays_null else want)


def _known_time(value: TypedSql, want: Type) -> TypedSql | None:
    """A text literal as a date or time; None where the conversion of a column's texts has to decide. One with
    spaces around it is always left to that."""
    if not isinstance(value.constant, str) or not isinstance(want, (t.Date, t.DateTime, t.DateTime64)):
        return None
    return parse_literal(value.constant, want) if value.constant == value.constant.strip() else None


def gives_null_for_text(value: TypedSql, want: Type) -> bool:
    """Whether ClickHouse converts a text that is no value of the type to NULL: not for a Bool, an Enum and JSON. Of a
    text with a subquery it is an error here: the formula is long, and Spark binds no subquery."""
    fails = (t.Bool, t.Enum, t.Json, t.String, *_CONTAINERS)
    if SUBQUERY in value.sql:
        return False
    return is_nullable(want) and isinstance(value.bare, t.String) and not isinstance(unwrap_type(want), fails)


def _convert_dynamic(value: TypedSql, want: Type) -> TypedSql | None:
    """A value whose type is only known for each row, by the conversion from the type that it has. No value is NULL, or
    the default of a type without NULL."""
    name = fresh_name("d", value.sql)
    plain = unwrap_type(want)
    if isinstance(plain, t.Json | t.Map | t.Tuple | t.AggregateFunction):
        return None
    refused = f"raise_error(concat('cannot convert ', {name}.kind, {string_literal(f' to {plain}')}))"
    branches = [f"WHEN {name} IS NULL THEN {value_default(want)}"]
    if isinstance(plain, t.String):
        branches.append(f"WHEN {name}.text IS NOT NULL THEN {name}.text")
    elif isinstance(plain, t.Array):
        array = convert(typed_sql(f"from_json({name}.json, 'ARRAY<STRING>')", t.Array(t.Nullable(t.String()))), plain)
        if array is None:
            return None
        kinds = ", ".join(string_literal(str(of)) for of in ARRAYS)
        branches.append(f"WHEN {name}.kind IN ({kinds}) THEN {array.sql}")
    else:
        for of in scalar_types(value.bare):
            result = convert(scalar_of(name, of), plain)
            branches += [f"WHEN {is_kind(name, of)} THEN {result.sql}"] if result is not None else []
    return typed_sql(try_bind_once(value.sql, name, f"CASE {' '.join(branches)} ELSE {refused} END"), want)


_OPERAND = "` operand`"
"""Stands for the value while the formula is made, so that `suppress_errors` does not change the value itself."""


def _guarded_formula(value: TypedSql, want: Type, mode: ConversionMode) -> str | None:
    """The conversion with the rule of its mode for invalid values."""
    texts = isinstance(value.bare, (t.String, t.FixedString))
    if (isinstance(want, t.FixedString) and not texts) or (
        isinstance(want, t.DateTime) and isinstance(value.bare, t.Decimal)
    ):
        return None
    value = replace(value, sql=_OPERAND)
    if isinstance(value.bare, t.FixedString) and not isinstance(want, (t.FixedString, t.String)):
        value = typed_sql(_without_zeros(want, mode), nullable_if_any(t.String(), [value]))
    conversion = _find_conversion(value, want, mode)
    if conversion is None:
        return None
    match mode.failure:
        case "error" | "by type":
            return _raise_if_invalid(value, want, conversion)
        case "null":
            return _null_if_invalid(conversion)
        case "zero":
            return _default_if_invalid(value, conversion, mode.default or function_default(want))


def _without_zeros(want: Type, mode: ConversionMode) -> str:
    """A FixedString without the zeros at its end. Nothing but zeros is no time, as '?'; of a String, '' may be one. As
    a Decimal it is 0, but for toDecimal…OrNull."""
    text = f"rtrim(chr(0), {_OPERAND})"
    if isinstance(want, t.Decimal) and (mode.failure in STRICT_FAILURES or mode.overflow == "refused"):
        return f"if({text} = '', '0', {text})"
    lenient = isinstance(want, t.DateTime64) and mode.failure not in STRICT_FAILURES
    return f"if({text} = '', '?', {text})" if lenient else text


def _raise_if_invalid(value: TypedSql, want: Type, conversion: Conversion) -> str:
    """An invalid value raises an error; NULL is not invalid."""
    error = f"raise_error(concat('cannot convert ', CAST({value.sql} AS STRING), {string_literal(f' to {want}')}))"
    if conversion.null_if_invalid:
        return f"coalesce({conversion.sql}, {unless_null(error, value)})"
    if conversion.valid is None:
        return conversion.sql
    given = f"{value.sql} IS NOT NULL AND " if value.nullable else ""
    return f"if({given}NOT ({conversion.valid}), {error}, {conversion.sql})"


def _null_if_invalid(conversion: Conversion) -> str:
    """An invalid value gives NULL."""
    if conversion.null_if_invalid:
        return conversion.sql
    if conversion.valid is not None:
        return f"if({conversion.valid}, {conversion.sql}, NULL)"
    return suppress_errors(conversion.sql) if may_raise(conversion.sql) else conversion.sql


def _default_if_invalid(value: TypedSql, conversion: Conversion, other: str) -> str:
    """An invalid value gives `other`; NULL stays NULL."""
    if conversion.null_if_invalid:
        return f"coalesce({conversion.sql}, {unless_null(other, value)})"
    if conversion.valid is not None:
        return f"CASE WHEN {value.sql} IS NULL THEN NULL WHEN {conversion.valid} THEN {conversion.sql} ELSE {other} END"
    if not may_raise(conversion.sql):
        return conversion.sql
    return f"if({value.sql} IS NULL, NULL, coalesce({suppress_errors(conversion.sql)}, {other}))"


_CONTAINERS = (t.Array, t.Map, t.Tuple)
_FAMILIES: tuple[tuple[tuple[type[Type], ...], Callable[[TypedSql, Type, Overflow], Conversion | None]], ...] = (
    ((t.Int, t.Float, t.Decimal, t.Bool), numbers.to_number),
    ((t.Date, t.DateTime, t.DateTime64), dates.to_time),
    ((t.String, t.FixedString, t.UUID, t.Enum, t.Json, t.IPv4, t.IPv6), strings.to_text),
)


def _find_conversion(value: TypedSql, want: Type, mode: ConversionMode) -> Conversion | None:
    if mode.failure not in STRICT_FAILURES and not _supports_fallback(value, want):
        return None
    if value.bare == want and value.spark == value_type(want):
        return Conversion(value.sql)
    if isinstance(value.bare, dates.TEXTS) and isinstance(want, (t.DateTime, t.DateTime64)):
        if mode.failure in STRICT_FAILURES:
            return dates.read_any_format(value, want)
        if mode.overflow == "refused":
            return dates.read_with_year(value, want)
    if value.bare == t.Array(NOTHING) and isinstance(want, t.Map):
        return Conversion(f"CAST(map() AS {value_type(want)})")
    for kinds, family in _FAMILIES:
        if isinstance(want, kinds):
            return family(value, want, mode.overflow)
    return _convert_container(value, want, mode)


def _supports_fallback(value: TypedSql, want: Type) -> bool:
    """Arrays, maps and tuples fail as a whole with one element; a Decimal of more than 30 digits overflows in a
    product that nothing turns into NULL."""
    overflows = isinstance(value.bare, t.Decimal) and value.bare.precision > 30 and isinstance(want, t.DateTime64)
    return not overflows and not isinstance(want, _CONTAINERS)


def _convert_container(value: TypedSql, want: Type, mode: ConversionMode) -> Conversion | None:
    """Arrays, maps and tuples, element by element."""
    have = value.bare
    if have == NOTHING:
        return None
    lossless = cast_column(value.sql, have, want)
    if lossless is not None:
        plain = value.spark == value_type(have) or moves_fields(have, want)
        return Conversion(lossless if plain else f"CAST({value.sql} AS {value_type(want)})")
    match (have, want):
        case (t.Array(old), t.Array(new)):
            element = _convert_element(old, new, mode)
            return Conversion(f"transform({value.sql}, ` e` -> {element})") if element is not None else None
        case (t.Tuple(), t.Tuple()) if not value.nullable:
            return _convert_tuple(value.sql, have, want, mode)
        case (t.Map(), t.Map() | t.Array(t.Tuple((_, _)))):
            return _convert_map(value.sql, have, want, mode)
        case (t.Array(t.Tuple(fields)), t.Map(key, item)) if len(fields) == 2:
            pairs = _find_conversion(value, t.Array(t.Tuple(((None, key), (None, item)))), mode)
            return None if pairs is None else replace(pairs, sql=f"map_from_entries({pairs.sql})")
        case (t.Tuple(((_, t.Array()), (_, t.Array()))), t.Map()) if not value.nullable:
            return _map_of_arrays(value.sql, have, want, mode)
        case _:
            return None


def _convert_map(sql: str, have: t.Map, want: t.Map | t.Array, mode: ConversionMode) -> Conversion | None:
    """A map as another one, of which keys that become equal are an error, or as an array of pairs."""
    if not isinstance(want, t.Map) or have.key != want.key:
        return _find_conversion(_map_pairs(sql, have.key, have.value), want, mode)
    element = _convert_element(have.value, want.value, mode)
    return None if element is None else Conversion(f"transform_values({sql}, (` k`, ` e`) -> {element})")


def _map_of_arrays(sql: str, have: t.Tuple, want: t.Map, mode: ConversionMode) -> Conversion | None:
    """A tuple of the keys and the values as a map; arrays of different sizes are an error."""
    named = ((name or f"_{place}", of) for place, (name, of) in enumerate(have.fields, 1))
    given = [typed_sql(f"{sql}.{quote_identifier(name)}", of) for name, of in named]
    found = [convert(each, t.Array(of), mode) for each, of in zip(given, (want.key, want.value), strict=True)]
    if any(each is None for each in found):
        return None
    wrong = "raise_error('the arrays of keys and of values have different sizes')"
    keys, items = (each.sql for each in found if each is not None)
    same = f"size({given[0].sql}) = size({given[1].sql})"
    return Conversion(f"if({same}, map_from_arrays({keys}, {items}), {wrong})")


def _map_pairs(sql: str, key: Type, item: Type) -> TypedSql:
    """The entries of a map as tuples, in their order."""
    pair = "named_struct('_1', ` p`.key, '_2', ` p`.value)"
    return typed_sql(f"transform(map_entries({sql}), ` p` -> {pair})", t.Array(t.Tuple(((None, key), (None, item)))))


def _convert_tuple(sql: str, have: t.Tuple, want: t.Tuple, mode: ConversionMode) -> Conversion | None:
    """A tuple, field by field, by their names where both types name them; None if one field cannot be converted."""
    fields = _fields_by_place(sql, have, want)
    if fields is None:
        return None
    parts = []
    for place, ((named, new), value) in enumerate(zip(want.fields, fields, strict=True), 1):
        field = convert(value, new, mode) if value is not None else None
        if value is not None and field is None:
            return None
        part = _as_field(field, new).sql if field is not None else value_default(new)
        parts.append(f"{string_literal(named or f'_{place}')}, {part}")
    return Conversion(f"named_struct({', '.join(parts)})")


def _fields_by_place(sql: str, have: t.Tuple, want: t.Tuple) -> list[TypedSql | None] | None:
    """For each field of `want` the value that it is converted from, None for one that takes its default; None where
    the types do not match."""
    values: list[TypedSql | None] = [
        typed_sql(f"{sql}.{quote_identifier(name or f'_{place}')}", of)
        for place, (name, of) in enumerate(have.fields, 1)
    ]
    if not are_matched_by_name(have, want):
        return values if len(have.fields) == len(want.fields) else None
    by_name = {name: value for (name, _), value in zip(have.fields, values, strict=True)}
    return [by_name.get(name) for name, _ in want.fields]


def _convert_element(old: Type, new: Type, mode: ConversionMode) -> str | None:
    """An element of an array; NULL is an error where the new element type has none."""
    if isinstance(unwrap_type(new), t.Json) != isinstance(unwrap_type(old), t.Json):
        return None
    element = convert(typed_sql("` e`", old), new, mode)
    if element is None or not element.nullable or is_nullable(new):
        return element.sql if element is not None else None
    return f"if(` e` IS NULL, raise_error({string_literal(f'cannot convert NULL to {new}')}), {element.sql})"


def _as_field(value: TypedSql, want: Type) -> TypedSql:
    """A field of a tuple; NULL is an error where its new type has none."""
    return value if is_nullable(want) else require_not_null(value, want)


def require_not_null(value: TypedSql, want: Type) -> TypedSql:
    """A converted value of a type without NULL: NULL raises an error."""
    if not value.nullable:
        return value
    message = string_literal("Cannot convert NULL value to non-Nullable type")
    return typed_sql(f"coalesce({value.sql}, raise_error({message}))", want)
