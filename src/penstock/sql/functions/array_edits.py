"""Arrays of another size or order: arrayResize, arrayRotate*, arrayShift*, arrayZip, arrayWithConstant, emptyArray*.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a new place holds the value
given, or the zero value of the elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type, nullable
from penstock.sql.functions.elements import element_type, side_by_side
from penstock.sql.functions.function import MANY, STRING, BadArguments, Function
from penstock.sql.functions.text_arguments import as_int
from penstock.sql.let import let
from penstock.sql.supertypes import supertype
from penstock.sql.typed import Typed, as_spark, typed
from penstock.sql.value_types import quoted, value_type, value_zero

_NESTED = (t.Array, t.Map, t.Tuple)


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
        if values[1].nullable or values[1].spark.startswith("DECIMAL"):
            raise BadArguments(f"a number of `{name}` cannot be a {values[1].type}", "toInt64")
        n = f"({as_spark(values[1], 'BIGINT')})"

        def formula(a: str) -> str:
            k = f"CAST(pmod({sign}{n}, greatest(size({a}), 1)) AS INT)"
            return f"concat(slice({a}, {k} + 1, size({a})), slice({a}, 1, {k}))"

        return Typed(let(values[0].sql, formula), values[0].type, values[0].spark)

    return Function(name, (2, 2), ("array", "integer"), build)


def _shift(name: str, sign: str) -> Function:
    """Places that become free hold the third argument, or the zero value."""

    def build(values: Sequence[Typed]) -> Typed:
        of, n = element_type(values[0]), f"{sign}({_size(values[1], name)})"
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
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
