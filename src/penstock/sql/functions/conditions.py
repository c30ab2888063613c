"""NULL handling and choice of values: coalesce, ifNull, greatest, least, transform

Arguments are first cast to their common type. The arrays of `transform` must be literals of the same length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial, reduce

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import supertype, value_supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.sort_order import (
    ORDER_HINT,
    OddPlace,
    contains_stored_as_text,
    is_stored_as_text,
    needs_nested_key,
    nested_key,
)
from penstock.sql.expr.spark_types import function_default, value_default, value_type
from penstock.sql.expr.typed import TypedSql, as_condition, as_spark, is_null, null_test, replace_sql, typed_sql
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.function import MAX_ARGUMENTS, UINT8, BadArguments, Function
from penstock.sql.operators.dynamic_values import all_dynamic, is_dynamic_value
from penstock.sql.spark_text import string_literal


def require_common_type(values: Sequence[TypedSql]) -> Type:
    """The common type of the values. Raises BadArguments if there is none."""
    of = value_supertype(values)
    if of is None:
        types = ", ".join(dict.fromkeys(str(value.type) for value in values))
        raise BadArguments(f"there is no common type of {types}", "cast one of them")
    return of


def coalesce(values: Sequence[TypedSql]) -> TypedSql:
    """The first value that is not NULL; values after one that cannot be NULL are left out."""
    given = [value for value in values if not is_null(value)]
    sure = (place for place, value in enumerate(given, 1) if not value.nullable and not is_dynamic_value(value))
    given = given[: next(sure, len(given))]
    if not given:
        return values[0]
    given = all_dynamic(given) or given
    of = require_common_type(given)
    if len({value.bare.scale for value in given if isinstance(value.bare, t.Decimal)}) > 1:
        raise BadArguments("Decimals of different scales are not defined here", "cast them to one: toDecimal64(x, 4)")
    result = of if t.is_nullable(given[-1].type) or not t.is_nullable(of) else t.unwrap_type(of)
    if len(given) == 1:
        return typed_sql(as_common_type(given[0], result), result)
    return typed_sql(f"coalesce({', '.join(as_common_type(value, result) for value in given)})", result)


def _assume_not_null(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0]
    if not value.nullable or is_dynamic_value(value):
        return value
    return typed_sql(f"coalesce({as_spark(value, value_type(value.bare))}, {value_default(value.bare)})", value.bare)


def _extreme_function(name: str) -> Function:
    """greatest and least, which skip NULLs."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        types = [value.type for value in values]
        if _is_pair_of_64_bits(name, types):
            return _extreme_of_64_bits(name, values)
        of = supertype(types) if len(values) == 2 else None
        of = of or require_common_type(values)
        if len(values) == 1:
            return values[0]
        if is_stored_as_text(of) or contains_stored_as_text(of):
            raise BadArguments(f"`{name}` of {of} is not supported", ORDER_HINT)
        if t.has_part(of, t.Map):
            raise BadArguments(f"`{name}` of {of} is not supported: Spark does not order maps")
        if isinstance(t.unwrap_type(of), t.Decimal) and any(isinstance(value.bare, _WHOLE) for value in values):
            of = _decimal_beside_integers(values, of)
        elif isinstance(of, t.Decimal) and len(values) == 2:
            of = t.Decimal(of.kept_digits, of.scale)  # ClickHouse names all digits of the extreme of two
        if isinstance(t.unwrap_type(of), t.Float):
            return _float_extreme(name, values, of)
        parts = [as_common_type(value, of) for value in values]
        if needs_nested_key(of, "greatest") or needs_nested_key(of, "least"):
            return typed_sql(reduce(partial(_nested_extreme_sql, name, of), parts), of)
        both = typed_sql(f"{name}({', '.join(parts)})", of)
        return both if len(values) != 2 or of != t.Bool() else TypedSql(both.sql, UINT8, both.spark)

    return Function(name, (1, MAX_ARGUMENTS), ("any",), build, strict=False)


_WHOLE = (t.Int, t.Bool)


def _decimal_beside_integers(values: Sequence[TypedSql], common: Type) -> Type:
    """The type of the extreme of Decimals and integers: of two values that are never NULL, that of the Decimal. Raises
    BadArguments for an integer that it may not hold."""
    types = [value.type for value in values]
    of = common if len(types) != 2 or t.is_nullable(common) else next(o for o in types if isinstance(o, t.Decimal))
    room = t.unwrap_type(of)
    assert isinstance(room, t.Decimal), "it is the common type of Decimals"
    for value in values:
        if isinstance(value.bare, _WHOLE) and _digits(value) + room.scale > room.precision:
            raise BadArguments(f"{value.type} may not fit in {room}", f"toDecimal128(…, {room.scale}) of both")
    return of


def _digits(value: TypedSql) -> int:
    """The most digits that an integer may have."""
    if value.constant is not None or isinstance(value.bare, t.Bool):
        return len(str(abs(int(value.constant or 0))))
    return max(len(str(value.bare.high)), len(str(value.bare.low).lstrip("-"))) if isinstance(value.bare, t.Int) else 0


def _is_pair_of_64_bits(name: str, types: list[Type]) -> bool:
    """Whether the extreme is that of two integers of which a UInt64 is one: arithmetic on two values there, not a
    choice among them. Raises BadArguments where ClickHouse has an Int128."""
    pair = [of for of in types if isinstance(of, t.Int)]
    if len(types) != 2 or len(pair) != 2 or t.Int(64, signed=False) not in pair:
        return False
    if any(of.signed and of.bits < 64 for of in pair):
        raise BadArguments(f"`{name}` of {pair[0]} and {pair[1]} is an Int128, which is not supported", "toInt64(…)")
    return True


def _extreme_of_64_bits(name: str, values: Sequence[TypedSql]) -> TypedSql:
    """The least of a signed and an unsigned integer is signed; the greatest is never negative."""
    of = t.Int(
        64, signed=name == "least" and any(isinstance(value.bare, t.Int) and value.bare.signed for value in values)
    )
    wide = value_type(t.Int(64, signed=False))
    both = f"{name}({', '.join(as_spark(value, wide) for value in values)})"
    return typed_sql(as_spark(typed_sql(both, t.Int(64, signed=False)), value_type(of)), of)


def _float_extreme(name: str, values: Sequence[TypedSql], of: Type) -> TypedSql:
    """The extreme of floats: of NaN and a number the second one, as in ClickHouse, which for Nullable values orders
    NaN below all numbers; NULLs are skipped."""
    parts = [as_common_type(value, of) for value in values]
    pair = _nullable_extreme_sql if t.is_nullable(of) else _float_extreme_sql
    return typed_sql(reduce(partial(pair, name), parts), of)


def _float_extreme_sql(name: str, left: str, right: str) -> str:
    """The extreme of two floats, neither NULL."""
    odd, sign = ("{0}", ">") if name == "greatest" else ("{1}", "<")

    def chosen(a: str, b: str) -> str:
        return f"coalesce(if({a} {sign} {b} AND NOT isnan({odd.format(a, b)}), {a}, {b}), {a})"

    return bind_if_long(left, lambda a: bind_if_long(right, lambda b: chosen(a, b)))


def _nested_extreme_sql(name: str, of: Type, left: str, right: str) -> str:
    """The extreme of two arrays or tuples in which NULL and NaN lose."""
    sign = ">=" if name == "greatest" else "<="
    odd: OddPlace = "least" if name == "greatest" else "greatest"

    def chosen(a: str, b: str) -> str:
        return f"if({nested_key(of, a, odd)} {sign} {nested_key(of, b, odd)}, {a}, {b})"

    return bind_if_long(left, lambda a: bind_if_long(right, lambda b: chosen(a, b)))


def _nullable_extreme_sql(name: str, left: str, right: str) -> str:
    """The extreme of two floats, each of which may be NULL."""

    def chosen(a: str, b: str) -> str:
        return f"coalesce({name}(if(isnan({a}), NULL, {a}), if(isnan({b}), NULL, {b})), {a}, {b})"

    return bind_if_long(left, lambda a: bind_if_long(right, lambda b: chosen(a, b)))


def _transform(values: Sequence[TypedSql]) -> TypedSql:
    """The element of the second array at the position of the value in the first; else the default, or the value."""
    value, source, target = values[:3]
    if not isinstance(source.bare, t.Array) or not isinstance(target.bare, t.Array):
        raise BadArguments("`transform` takes a value, two arrays and a default")
    if not source.sql.startswith("array(") or not target.sql.startswith("array("):
        raise BadArguments("the arrays of `transform` must be literals", "multiIf")
    if "`" in source.sql or "`" in target.sql:
        raise BadArguments("the arrays of `transform` must be constants, without a column", "multiIf")
    if t.is_nullable(source.bare.of):
        raise BadArguments("`transform` looks up no NULL", "ifNull(…), or multiIf")
    if value.nullable and len(values) == 3:
        raise BadArguments("`transform` of Nullable values needs a default", "a fourth argument")
    key = _lookup_type(value, source)
    if key is None or (key != value.bare and not isinstance(key, t.Int)):
        raise BadArguments(f"{value.type} is not looked up among {source.bare.of}", "cast it first")
    other = values[3] if len(values) > 3 else value
    result = require_common_type([typed_sql("", target.bare.of), other])
    if len(values) == 3 and value.bare != result and not isinstance(value.bare, t.Int):
        raise BadArguments("without a default the values of `transform` must be of the argument's type")
    place = _place_among(source, value, key)
    shown = f"CAST({target.sql} AS ARRAY<{value_type(result)}>)"
    default = as_spark(other, value_type(result))
    found = f"try_element_at({shown}, CAST(nullif({place}, 0) AS INT))"
    if t.is_nullable(target.bare.of):
        chosen = bind_if_long(place, lambda at: f"if(coalesce({at}, 0) = 0, {default}, {shown}[CAST({at} AS INT) - 1])")
        return typed_sql(chosen, result)
    return typed_sql(f"coalesce({found}, {default})", result)


def _lookup_type(value: TypedSql, source: TypedSql) -> Type | None:
    """The type in which a value is compared with the elements of an array; an Enum is looked up by its names."""
    assert isinstance(source.bare, t.Array)
    if isinstance(value.bare, t.Enum) and isinstance(source.bare.of, t.String):
        name = "|".join(re.escape(string_literal(name)) for name, _ in value.bare.values)
        return value.bare if re.fullmatch(rf"array\((?:{name})(?:, (?:{name}))*\)", source.sql) else None
    return supertype((value.bare, source.bare.of))


def _place_among(source: TypedSql, value: TypedSql, key: Type) -> str:
    """The place of a value in an array of constants; NULL or 0 if it is not there. NaN is found nowhere, and -0.0 is
    not 0.0: ClickHouse compares hashes."""
    spark = value_type(key)
    listed, sought = f"CAST({source.sql} AS ARRAY<{spark}>)", as_spark(value, spark)
    if not isinstance(key, t.Float):
        return f"array_position({listed}, {sought})"

    def marked(x: str) -> str:
        return f"struct({x} AS v, {x} = 0 AND CAST({x} AS STRING) = '-0.0' AS n)"

    marks = f"transform({listed}, ` x` -> {marked('` x`')})"
    return bind_if_long(sought, lambda v: f"array_position({marks}, if(isnan({v}), NULL, {marked(v)}))")


def _throw_if(values: Sequence[TypedSql]) -> TypedSql:
    message = literal_string(values[1], "the message") if len(values) > 1 else "Value passed to 'throwIf' is non-zero"
    if values[0].nullable:
        raise BadArguments("`throwIf` of a Nullable is not supported", "ifNull")
    return typed_sql(f"if({as_condition(values[0])}, raise_error({string_literal(message)}), 0)", UINT8)


def _is_not_null(values: Sequence[TypedSql]) -> TypedSql:
    """True without a look at the value where its type has no NULL: there ClickHouse does not compute it."""
    found = null_test(values[0])
    return replace_sql(found, f"(NOT {found.sql})")


def _is_nullable(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql("1" if values[0].nullable else "0", UINT8)


def _default_of_type(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(function_default(values[0].type), values[0].type)


FUNCTIONS: tuple[Function, ...] = (
    Function("coalesce", (1, MAX_ARGUMENTS), ("any",), coalesce, strict=False),
    Function("ifNull", (2, 2), ("any",), coalesce, strict=False),
    Function("assumeNotNull", (1, 1), ("any",), _assume_not_null),
    Function("isNull", (1, 1), ("any",), lambda v: null_test(v[0]), strict=False),
    Function("isNotNull", (1, 1), ("any",), _is_not_null, strict=False),
    Function(
        "isZeroOrNull",
        (1, 1),
        ("number",),
        lambda v: TypedSql(f"coalesce({as_spark(v[0], 'DOUBLE')} = 0, true)", UINT8, "BOOLEAN"),
        strict=False,
    ),
    _extreme_function("greatest"),
    _extreme_function("least"),
    Function("transform", (3, 4), ("any",), _transform, strict=False),
    Function("throwIf", (1, 2), ("number", "constant"), _throw_if),
    Function("isNullable", (1, 1), ("any",), _is_nullable, strict=False),
    Function("ignore", (0, MAX_ARGUMENTS), ("any",), lambda values: typed_sql("0", UINT8), strict=False),
    Function("defaultValueOfArgumentType", (1, 1), ("any",), _default_of_type),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ("coalesce", "ifNull", "greatest", "least", "isNull")
