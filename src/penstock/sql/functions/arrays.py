"""Arrays made, read and edited: element, slices, resizing, rotating, zipping, joins to text.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: places count from
1, from the end where negative; a place outside gives the element type's zero value.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type, nullable
from penstock.sql.conversion_texts import as_text
from penstock.sql.functions.array_sets import both
from penstock.sql.functions.elements import common_array, element_type, side_by_side
from penstock.sql.functions.function import MANY, STRING, BadArguments, Function, simple
from penstock.sql.functions.map_places import map_element
from penstock.sql.functions.text_arguments import as_int
from penstock.sql.let import let
from penstock.sql.supertypes import supertype
from penstock.sql.typed import NOTHING, NULL, Typed, as_spark, is_null, null_if_any, typed
from penstock.sql.value_types import quoted, value_type, value_zero

_NESTED = (t.Array, t.Map, t.Tuple)


def element(values: Sequence[Typed]) -> Typed:
    """`array[place]` or `map[key]`."""
    value, key = values
    if is_null(key):
        return NULL
    if isinstance(value.bare, t.Map):
        return map_element(value, key)
    if not isinstance(value.bare, t.Array):
        raise BadArguments(f"`[…]` needs an Array or a Map, this is {value.type}")
    of, found = value.bare.of, _at(value, key)
    sql = found if nullable(of) else f"coalesce({found}, {value_zero(of)})"
    if not key.nullable:
        return typed(sql, of)
    if isinstance(t.bare(of), _NESTED):
        raise BadArguments(f"a place that may be NULL in {value.type} is not supported", "assumeNotNull")
    return typed(f"if({key.sql} IS NULL, NULL, {sql})", null_if_any(of, [key]))


def _at(value: Typed, key: Typed) -> str:
    if not isinstance(key.bare, (t.Int, t.Bool)):
        raise BadArguments(f"a place in an Array must be an integer, this is {key.type}")
    place = as_int(key) if key.spark in ("BIGINT", "BOOLEAN", "DECIMAL(20,0)") else as_spark(key, "INT")
    return f"try_element_at({value.sql}, nullif({place}, 0))"


def _element_or_null(values: Sequence[Typed]) -> Typed:
    value, key = values
    of = element_type(value)
    if isinstance(t.bare(of), _NESTED):
        raise BadArguments(f"`arrayElementOrNull` of {value.type} is not supported", "arrayElement")
    return typed(_at(value, key), of if nullable(of) else t.Nullable(of))


def _pushed(name: str, template: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        array, value, of = both(values)
        return typed(template.format(array, value), t.Array(of))

    return Function(name, (2, 2), ("array", "any"), build, strict=False)


def _same(name: str, template: str) -> Function:
    """An array to an array of the same elements."""
    return simple(name, "array", template, lambda values: values[0].bare)


def _slice(values: Sequence[Typed]) -> Typed:
    array, start = values[0].sql, values[1]
    length = values[2] if len(values) > 2 else None
    fixed = isinstance(start.constant, int) and start.constant != 0
    if fixed and int(start.constant or 0) > 0 and (length is None or _from_zero(length)):
        end = as_spark(length, "INT") if length else f"size({array})"
        return Typed(f"slice({array}, {as_spark(start, 'INT')}, {end})", values[0].type, values[0].spark)
    if fixed and length is None:
        place = f"greatest({as_spark(start, 'INT')}, - size({array}))"
        sql = f"if(size({array}) = 0, {array}, slice({array}, {place}, size({array})))"
        return Typed(sql, values[0].type, values[0].spark)
    if any(value.nullable for value in values[1:]):
        raise BadArguments("places of `arraySlice` that may be NULL are not supported", "assumeNotNull")
    sql = let(array, lambda a: _any_slice(a, as_int(start), as_int(length) if length else None))
    return Typed(sql, values[0].type, values[0].spark)


def _from_zero(length: Typed) -> bool:
    return isinstance(length.constant, int) and length.constant >= 0


def _any_slice(array: str, start: str, length: str | None) -> str:
    """Of any start, any length: a length below 0 leaves so many out at the end."""
    place, size = f"CAST({start} AS BIGINT)", f"size({array})"
    first = f"if({place} < 0, {size} + {place} + 1, {place})"
    wide = f"CAST({length} AS BIGINT)"
    last = f"least(if({wide} < 0, {size} + {wide}, {first} + {wide} - 1), {size})" if length else f"CAST({size} AS BIGINT)"
    begin = f"greatest({first}, 1L)"
    count = f"CAST(if({place} = 0, 0L, greatest({last} - {begin} + 1, 0L)) AS INT)"
    return f"slice({array}, CAST(least({begin}, 2147483647L) AS INT), {count})"


def _join(values: Sequence[Typed]) -> Typed:
    of = element_type(values[0])
    shown = as_text(typed("` x`", of)) if of != NOTHING else "` x`"
    if shown is None:
        raise BadArguments(f"elements of {of} cannot be joined")
    if len(values) > 1 and values[1].constant is None:
        raise BadArguments("the separator of `arrayStringConcat` must be a text literal")
    separator = values[1].sql if len(values) > 1 else "''"
    return typed(f"array_join(transform({values[0].sql}, ` x` -> {shown}), {separator})", STRING)


def _make_array(values: Sequence[Typed]) -> Typed:
    if not values:
        return Typed("array()", t.Array(NOTHING), "ARRAY<VOID>")
    of = supertype([value.type for value in values])
    if of is None:
        raise BadArguments("the elements have no common type")
    return typed(f"array({', '.join(as_spark(value, value_type(of)) for value in values)})", t.Array(of))


def _flatten(values: Sequence[Typed]) -> Typed:
    of, sql = values[0].bare, values[0].sql
    while isinstance(of, t.Array) and isinstance(of.of, t.Array):
        of, sql = of.of, f"flatten({sql})"
    return typed(sql, of)


def _concat(values: Sequence[Typed]) -> Typed:
    arrays, of = common_array(values)
    return typed(f"concat({', '.join(arrays)})", t.Array(of))


def _filler(values: Sequence[Typed], place: int, of: Type) -> str:
    """What new places hold: an argument, or the zero value."""
    return as_spark(values[place], value_type(of)) if len(values) > place else value_zero(of)


def _size(value: Typed, name: str) -> str:
    if value.nullable:
        raise BadArguments(f"a number of `{name}` that may be NULL is not supported", "assumeNotNull")
    return as_int(value)


def _resize(values: Sequence[Typed]) -> Typed:
    of = supertype([element_type(values[0]), *(value.type for value in values[2:])])
    if of is None:
        raise BadArguments(f"{values[0].type} cannot hold {values[2].type}")
    filler, n = _filler(values, 2, of), _size(values[1], "arrayResize")

    def formula(a: str) -> str:
        new = f"array_repeat({filler}, greatest(abs({n}) - size({a}), 0))"
        start = f"greatest(size({a}) + {n}, 0) + 1"
        return f"if({n} < 0, concat({new}, slice({a}, {start}, abs({n}))), concat(slice({a}, 1, abs({n})), {new}))"

    return typed(let(as_spark(values[0], value_type(t.Array(of))), formula), t.Array(of))


def _rotate(name: str, sign: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        n = _size(values[1], name)

        def formula(a: str) -> str:
            k = f"CAST(pmod({sign}CAST({n} AS BIGINT), greatest(size({a}), 1)) AS INT)"
            return f"concat(slice({a}, {k} + 1, size({a})), slice({a}, 1, {k}))"

        return Typed(let(values[0].sql, formula), values[0].type, values[0].spark)

    return Function(name, (2, 2), ("array", "integer"), build)


def _shift(name: str, sign: str) -> Function:
    """Places that become free hold the third argument, or the zero value."""

    def build(values: Sequence[Typed]) -> Typed:
        of, n = element_type(values[0]), f"{sign}{_size(values[1], name)}"
        if len(values) > 2 and supertype((of, values[2].type)) != of:
            raise BadArguments(f"{values[0].type} cannot hold {values[2].type}")
        filler = _filler(values, 2, of)

        def formula(a: str) -> str:
            count = f"least(abs({n}), size({a}))"
            new, kept = f"array_repeat({filler}, {count})", f"size({a}) - {count}"
            return f"if({n} < 0, concat({new}, slice({a}, 1, {kept})), concat(slice({a}, {count} + 1, {kept}), {new}))"

        return Typed(let(values[0].sql, formula), values[0].type, values[0].spark)

    return Function(name, (2, 3), ("array", "integer", "any"), build)


def _zip(values: Sequence[Typed]) -> Typed:
    types = [element_type(value) for value in values]
    result = t.Array(t.Tuple(tuple((None, of) for of in types)))
    if len(values) == 1:
        return typed(f"transform({values[0].sql}, ` r` -> named_struct('_1', ` r`))", result)
    parts = ", ".join(f"'_{place + 1}', ` r`.{quoted(str(place))}" for place in range(len(values)))
    rows = side_by_side([value.sql for value in values])
    return typed(f"transform({rows}, ` r` -> named_struct({parts}))", result)


def _zip_unaligned(values: Sequence[Typed]) -> Typed:
    types = [element_type(value) for value in values]
    if len(types) == 1 or any(isinstance(t.bare(of), _NESTED) for of in types):
        raise BadArguments("`arrayZipUnaligned` takes two arrays or more, of plain values", "arrayZip")
    result = t.Array(t.Tuple(tuple((None, of if nullable(of) else t.Nullable(of)) for of in types)))
    most = f"greatest({', '.join(f'size({value.sql})' for value in values)})"
    parts = ", ".join(f"'_{n}', try_element_at({value.sql}, ` i`)" for n, value in enumerate(values, 1))
    rows = f"transform(sequence(1, {most}), ` i` -> named_struct({parts}))"
    return typed(f"if({most} = 0, CAST(array() AS {value_type(result)}), {rows})", result)


def _with_constant(values: Sequence[Typed]) -> Typed:
    n, value = _size(values[0], "arrayWithConstant"), values[1]
    wrong = "raise_error('the size of an array is negative')"
    return typed(f"if({n} < 0, {wrong}, array_repeat({value.sql}, {n}))", t.Array(value.type))


def _empty_to_single(values: Sequence[Typed]) -> Typed:
    array, of = values[0].sql, element_type(values[0])
    return Typed(f"if(size({array}) = 0, array({value_zero(of)}), {array})", values[0].type, values[0].spark)


def _empty(name: str, of: Type) -> Function:
    return Function(f"emptyArray{name}", (0, 0), ("any",), lambda values: typed(value_zero(t.Array(of)), t.Array(of)))


_EMPTY: tuple[tuple[str, Type], ...] = (
    *((str(t.Int(bits, signed)), t.Int(bits, signed)) for bits in (8, 16, 32, 64) for signed in (True, False)),
    ("Float32", t.Float(32)), ("Float64", t.Float(64)), ("String", STRING), ("Date", t.Date()),
    ("DateTime", t.DateTime()),
)  # fmt: skip

FUNCTIONS: tuple[Function, ...] = (
    Function("arrayElement", (2, 2), ("any",), element),
    Function("arrayElementOrNull", (2, 2), ("array", "integer"), _element_or_null),
    _pushed("arrayPushBack", "array_append({0}, {1})"),
    _pushed("arrayPushFront", "array_prepend({0}, {1})"),
    _same("arrayReverse", "reverse({0})"),
    _same("arrayPopBack", "slice({0}, 1, greatest(size({0}) - 1, 0))"),
    _same("arrayPopFront", "slice({0}, 2, size({0}))"),
    _same(
        "arrayCompact",
        "transform(filter(transform({0}, (` x`, ` i`) -> struct(` x` AS v, "
        "if(` i` = 0, false, ` x` <=> {0}[` i` - 1]) AS r)), "
        "` s` -> NOT ` s`.r), ` s` -> ` s`.v)",
    ),
    Function("arrayFlatten", (1, 1), ("array",), _flatten),
    Function("arraySlice", (2, 3), ("array", "integer"), _slice),
    Function("arrayStringConcat", (1, 2), ("array", "string"), _join),
    Function("arrayConcat", (1, MANY), ("array",), _concat),
    Function("arrayResize", (2, 3), ("array", "integer", "any"), _resize, strict=False),
    _rotate("arrayRotateLeft", ""),
    _rotate("arrayRotateRight", "-"),
    _shift("arrayShiftLeft", ""),
    _shift("arrayShiftRight", "-"),
    Function("arrayZip", (1, MANY), ("array",), _zip),
    Function("arrayZipUnaligned", (1, MANY), ("array",), _zip_unaligned),
    Function("arrayWithConstant", (2, 2), ("integer", "any"), _with_constant, strict=False),
    Function("emptyArrayToSingle", (1, 1), ("array",), _empty_to_single),
    *(_empty(name, of) for name, of in _EMPTY),
    Function("array", (0, MANY), ("any",), _make_array, strict=False),
)
ALIASES = {"flatten": "arrayFlatten"}
ANY_CASE = ("flatten",)
