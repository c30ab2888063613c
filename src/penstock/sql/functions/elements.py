"""What functions on arrays ask of elements: their type, a common one, whether they compare as Spark compares.

In: `Typed` arrays. Out: types and SQL. Called by the families of functions on arrays and by lambdas. Invariant:
what Spark would compare or sort otherwise than ClickHouse is refused, or is written out.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.functions.function import BadArguments
from penstock.sql.let import bound
from penstock.sql.supertypes import supertype
from penstock.sql.typed import Typed, as_spark
from penstock.sql.value_types import quoted, value_type

_KEPT_AS_TEXT = (t.Enum, t.UUID, t.IPv4, t.IPv6)


def element_type(value: Typed) -> Type:
    """The type of an array's elements. Raises BadArguments for what is no array."""
    if not isinstance(value.bare, t.Array):
        raise BadArguments(f"expected an Array, this is {value.type}")
    return value.bare.of


def parts_of(of: Type) -> list[Type]:
    """The types that values of a type are made of, without itself."""
    match t.bare(of):
        case t.Array(inner):
            return [inner, *parts_of(inner)]
        case t.Tuple(fields):
            return [part for _, inner in fields for part in (inner, *parts_of(inner))]
        case t.Map(key, value):
            return [key, value, *parts_of(key), *parts_of(value)]
        case _:
            return []


def check_equality(of: Type) -> None:
    """Refuses elements that hold floats deeper inside: NaN is not itself in ClickHouse, and is in Spark."""
    if any(isinstance(t.bare(part), t.Float) for part in parts_of(of)):
        raise BadArguments(f"elements of {of} cannot be compared exactly", "arrays of plain values")


def check_order(of: Type) -> None:
    """Refuses elements whose order in Spark is another than in ClickHouse."""
    for part in (of, *parts_of(of)):
        if isinstance(t.bare(part), _KEPT_AS_TEXT):
            raise BadArguments(f"the order of {t.bare(part)} inside an array is not supported", "toString(x)")
    check_equality(of)
    if any(t.nullable(part) for part in parts_of(of)):
        raise BadArguments(f"the order of {of} is not supported", "elements without NULL inside")


def common_array(values: Sequence[Typed]) -> tuple[list[str], Type]:
    """Arrays as one type, and the type of their elements. Raises BadArguments where there is none."""
    of = supertype([element_type(value) for value in values])
    if of is None:
        raise BadArguments("the arrays have no common type")
    return [as_spark(value, value_type(t.Array(of))) for value in values], of


def side_by_side(arrays: Sequence[str]) -> str:
    """Arrays of one size as one array of structs `0`, `1` …; arrays of several sizes are an error."""
    parts = ", ".join(f"{sql} AS {quoted(str(place))}" for place, sql in enumerate(arrays))
    names = [quoted(str(place)) for place in range(len(arrays))]
    fields = ", ".join(f"element_at(` s`.{name}, ` i` + 1) AS {name}" for name in names)
    same = " OR ".join(f"size(` s`.`0`) <> size(` s`.{name})" for name in names[1:])
    walk = f"transform(` s`.`0`, (` e`, ` i`) -> struct({fields}))"
    wrong = "raise_error('the arrays of a lambda have different sizes')"
    return bound(f"struct({parts})", "` s`", f"if({same}, {wrong}, {walk})")
