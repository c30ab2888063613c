"""Arrays of another size or shape: arrayResize, arrayRotateLeft, arrayShiftLeft, arrayZip, arrayTranspose

A new element has the value given or the zero value of the element type.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.spark_types import function_default, missing_value, value_default, value_type
from penstock.sql.expr.typed import TypedSql, as_spark, is_null, typed_sql
from penstock.sql.functions.arguments import (
    as_spark_int,
    check_equality,
    checked_size,
    element_type,
    literal_integer,
    zip_arrays,
)
from penstock.sql.functions.arrays.sets import cast_array_and_value
from penstock.sql.functions.function import MAX_ARGUMENTS, STRING, UINT64, BadArguments, Function
from penstock.sql.spark_text import quote_identifier

_NESTED = (t.Array, t.Map, t.Tuple)
_MOST_ELEMENTS = 2**30
_EMPTY_ARRAY_TYPES: tuple[tuple[str, Type], ...] = (
    *((str(t.Int(bits, signed)), t.Int(bits, signed)) for bits in (8, 16, 32, 64) for signed in (True, False)),
    ("Float32", t.Float(32)),
    ("Float64", t.Float(64)),
    ("String", STRING),
    ("Date", t.Date()),
    ("DateTime", t.DateTime()),
)


def _filler_sql(values: Sequence[TypedSql], of: Type, default: str) -> str:
    """The value of new elements: the third argument, or the default."""
    return as_common_type(values[2], of) if len(values) > 2 else default


def _size_argument(value: TypedSql, name: str) -> str:
    if value.nullable:
        raise BadArguments(f"a number of `{name}` that may be NULL is not supported", "assumeNotNull")
    return as_spark_int(value)


def _new_size(value: TypedSql, name: str) -> str:
    """The size of an array that is made. Raises BadArguments for a literal beyond what ClickHouse makes."""
    if isinstance(value.constant, int) and abs(value.constant) > _MOST_ELEMENTS:
        raise BadArguments(f"`{name}` makes {_MOST_ELEMENTS:,} elements at most")
    return _size_argument(value, name)


def _resize(values: Sequence[TypedSql]) -> TypedSql:
    of = supertype([element_type(values[0]), *(value.type for value in values[2:])])
    if of is None:
        raise BadArguments(f"{values[0].type} cannot hold {values[2].type}")
    filler, n = _filler_sql(values, of, missing_value(of)), _new_size(values[1], "arrayResize")

    def formula(a: str) -> str:
        new = f"array_repeat({filler}, greatest(abs({n}) - size({a}), 0))"
        start = f"greatest(size({a}) + {n}, 0) + 1"
        whole = f"if({n} < 0, concat({new}, slice({a}, {start}, abs({n}))), concat(slice({a}, 1, abs({n})), {new}))"
        return checked_size(whole, f"abs({n})", values[1:2])

    return typed_sql(bind_if_long(as_common_type(values[0], t.Array(of)), formula), t.Array(of))


def _rotate_function(name: str, sign: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        if values[1].nullable or values[1].spark.startswith("DECIMAL"):
            raise BadArguments(f"a number of `{name}` cannot be a {values[1].type}", "toInt64")
        n = f"({as_spark(values[1], 'BIGINT')})"

        def formula(a: str) -> str:
            k = f"CAST(pmod({sign}{n}, greatest(size({a}), 1)) AS INT)"
            return f"concat(slice({a}, {k} + 1, size({a})), slice({a}, 1, {k}))"

        return TypedSql(bind_if_long(values[0].sql, formula), values[0].type, values[0].spark)

    return Function(name, (2, 2), ("array", "integer"), build)


def _moderate(count: TypedSql, sql: str) -> str:
    """A count that can be negated: the least integer cannot."""
    narrow = isinstance(count.constant, int) or not isinstance(count.bare, t.Int) or count.bare.bits < 32
    return sql if narrow else f"if({sql} < -2147483647, -2147483647, {sql})"


def _shift_function(name: str, sign: str) -> Function:
    """Elements that become free get the third argument or the zero value."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of, n = element_type(values[0]), f"{sign}({_moderate(values[1], _size_argument(values[1], name))})"
        if len(values) > 2 and supertype((of, values[2].type)) != of:
            raise BadArguments(f"{values[0].type} cannot hold {values[2].type}")
        filler = _filler_sql(values, of, function_default(of))

        def formula(a: str) -> str:
            count = f"least(abs({n}), size({a}))"
            new, kept = f"array_repeat({filler}, {count})", f"size({a}) - {count}"
            return f"if({n} < 0, concat({new}, slice({a}, 1, {kept})), concat(slice({a}, {count} + 1, {kept}), {new}))"

        return TypedSql(bind_if_long(values[0].sql, formula), values[0].type, values[0].spark)

    return Function(name, (2, 3), ("array", "integer", "any"), build)


def _zip(values: Sequence[TypedSql]) -> TypedSql:
    types = [element_type(value) for value in values]
    result = t.Array(t.Tuple(tuple((None, of) for of in types)))
    if len(values) == 1:
        return typed_sql(f"transform({values[0].sql}, ` r` -> named_struct('_1', ` r`))", result)
    parts = ", ".join(f"'_{place + 1}', ` r`.{quote_identifier(str(place))}" for place in range(len(values)))
    rows = zip_arrays([value.sql for value in values])
    return typed_sql(f"transform({rows}, ` r` -> named_struct({parts}))", result)


def _zip_unaligned(values: Sequence[TypedSql]) -> TypedSql:
    types = [element_type(value) for value in values]
    if len(types) == 1 or any(isinstance(t.unwrap_type(of), _NESTED) for of in types):
        raise BadArguments("`arrayZipUnaligned` takes two arrays or more, of plain values", "arrayZip")
    result = t.Array(t.Tuple(tuple((None, of if t.is_nullable(of) else t.Nullable(of)) for of in types)))
    most = f"greatest({', '.join(f'size({value.sql})' for value in values)})"
    parts = ", ".join(f"'_{n}', try_element_at({value.sql}, ` i`)" for n, value in enumerate(values, 1))
    rows = f"transform(sequence(1, {most}), ` i` -> named_struct({parts}))"
    return typed_sql(f"if({most} = 0, CAST(array() AS {value_type(result)}), {rows})", result)


def _with_constant(values: Sequence[TypedSql]) -> TypedSql:
    n, value = _new_size(values[0], "arrayWithConstant"), values[1]
    wrong = "raise_error('the size of an array is negative')"
    whole = f"if({n} < 0, {wrong}, array_repeat({as_spark(value, value_type(value.type))}, {n}))"
    return typed_sql(checked_size(whole, n, values[:1]), t.Array(value.type))


def _empty_to_single(values: Sequence[TypedSql]) -> TypedSql:
    array, of = values[0].sql, element_type(values[0])
    return TypedSql(f"if(size({array}) = 0, array({value_default(of)}), {array})", values[0].type, values[0].spark)


def _empty_array_function(name: str, of: Type) -> Function:
    return Function(
        f"emptyArray{name}", (0, 0), ("any",), lambda values: typed_sql(value_default(t.Array(of)), t.Array(of))
    )


def _remove(values: Sequence[TypedSql]) -> TypedSql:
    """The array without the elements that equal the value; NULL equals NULL."""
    of = element_type(values[0])
    check_equality(of)
    if isinstance(t.unwrap_type(of), (t.Float, t.Decimal)) or isinstance(values[1].bare, (t.Float, t.Decimal)):
        raise BadArguments("`arrayRemove` of floats and decimals is not supported", "arrayFilter(x -> x != …, …)")
    if is_null(values[1]):
        return typed_sql(f"filter({values[0].sql}, ` x` -> ` x` IS NOT NULL)", values[0].type)
    array, value, wide = cast_array_and_value(values)
    kept = f"filter({array}, ` x` -> NOT (` x` <=> {value}))"
    whole = value_type(values[0].type)
    return typed_sql(kept if value_type(t.Array(wide)) == whole else f"CAST({kept} AS {whole})", values[0].type)


def _shingles(values: Sequence[TypedSql]) -> TypedSql:
    """All runs of neighbouring elements of one length; a shorter array raises when run."""
    size = literal_integer(values[1], "the length of the shingles")
    if not 1 <= size < 2**31:
        raise BadArguments("the length of the shingles must be a literal from 1")

    def formula(a: str) -> str:
        runs = f"transform(sequence(1, greatest(size({a}) - {size - 1}, 1)), ` i` -> slice({a}, ` i`, {size}))"
        return f"if(size({a}) < {size}, raise_error('the shingles are longer than the array'), {runs})"

    return typed_sql(bind_if_long(values[0].sql, formula), t.Array(values[0].bare))


def _transpose(values: Sequence[TypedSql]) -> TypedSql:
    of = element_type(values[0])
    if not isinstance(of, t.Array):
        raise BadArguments(f"`arrayTranspose` needs an array of arrays, this is {values[0].type}")

    def formula(a: str) -> str:
        column = f"transform({a}, ` r` -> ` r`[` i`])"
        columns = f"transform({a}[0], (` e`, ` i`) -> {column})"
        wrong = "raise_error('the arrays of arrayTranspose have different sizes')"
        uneven = f"exists({a}, ` r` -> size(` r`) <> size({a}[0]))"
        return f"CASE WHEN size({a}) = 0 THEN {a} WHEN {uneven} THEN {wrong} ELSE {columns} END"

    return typed_sql(bind_if_long(values[0].sql, formula), values[0].type)


def _flattened_length(values: Sequence[TypedSql]) -> TypedSql:
    def count(sql: str, of: Type, level: int) -> str:
        inner = of.of if isinstance(of, t.Array) else of
        if not isinstance(inner, t.Array):
            return f"CAST(size({sql}) AS BIGINT)"
        name = f"` x{level}`"
        each = count(name, inner, level + 1)
        return f"aggregate(transform({sql}, {name} -> {each}), 0L, (` a`, ` b`) -> ` a` + ` b`)"

    return TypedSql(count(values[0].sql, values[0].bare, 0), UINT64, "BIGINT")


FUNCTIONS: tuple[Function, ...] = (
    Function("arrayResize", (2, 3), ("array", "integer", "any"), _resize, strict=False),
    _rotate_function("arrayRotateLeft", ""),
    _rotate_function("arrayRotateRight", "-"),
    _shift_function("arrayShiftLeft", ""),
    _shift_function("arrayShiftRight", "-"),
    Function("arrayZip", (1, MAX_ARGUMENTS), ("array",), _zip),
    Function("arrayZipUnaligned", (1, MAX_ARGUMENTS), ("array",), _zip_unaligned),
    Function("arrayWithConstant", (2, 2), ("integer", "any"), _with_constant, strict=False),
    Function("emptyArrayToSingle", (1, 1), ("array",), _empty_to_single),
    *(_empty_array_function(name, of) for name, of in _EMPTY_ARRAY_TYPES),
    Function("arrayRemove", (2, 2), ("array", "any"), _remove, strict=False),
    Function("arrayShingles", (2, 2), ("array", "constant"), _shingles),
    Function("arrayTranspose", (1, 1), ("array",), _transpose),
    Function("arrayFlattenedLength", (1, 1), ("array",), _flattened_length),
)
ALIASES: dict[str, str] = {"array_remove": "arrayRemove"}
ANY_CASE: tuple[str, ...] = ("array_remove",)
