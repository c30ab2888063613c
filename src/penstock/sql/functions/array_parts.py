"""Arrays cut, turned and filled: arrayRemove, arrayShingles, arrayTranspose, mapPopulateSeries.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: what comes out of ClickHouse
in the order of a hash table, or in none, is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.functions.array_sets import FUNCTIONS as SETS
from penstock.sql.functions.array_sets import both
from penstock.sql.functions.elements import check_equality, element_type
from penstock.sql.functions.function import UINT64, BadArguments, Function
from penstock.sql.functions.text_arguments import constant_number
from penstock.sql.let import let
from penstock.sql.typed import Typed, is_null, typed
from penstock.sql.value_types import value_type

_HAS = next(row for row in SETS if row.name == "has")
_INTEGERS = tuple(t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False) if bits < 64 or signed)


def _not_has(values: Sequence[Typed]) -> Typed:
    found = _HAS.build(values)
    return replace(found, sql=f"(NOT {found.sql})")


def _remove(values: Sequence[Typed]) -> Typed:
    """Without the elements that equal the value; NULL equals NULL."""
    of = element_type(values[0])
    check_equality(of)
    if isinstance(t.bare(of), (t.Float, t.Decimal)) or isinstance(values[1].bare, (t.Float, t.Decimal)):
        raise BadArguments("`arrayRemove` of floats and decimals is not supported", "arrayFilter(x -> x != …, …)")
    if is_null(values[1]):
        return typed(f"filter({values[0].sql}, ` x` -> ` x` IS NOT NULL)", values[0].type)
    array, value, wide = both(values)
    kept = f"filter({array}, ` x` -> NOT (` x` <=> {value}))"
    whole = value_type(values[0].type)
    return typed(kept if value_type(t.Array(wide)) == whole else f"CAST({kept} AS {whole})", values[0].type)


def _shingles(values: Sequence[Typed]) -> Typed:
    """All runs of neighbours of one length; a shorter array is an error."""
    size = constant_number(values[1], "the length of the shingles")
    if not 1 <= size < 2**31:
        raise BadArguments("the length of the shingles must be a literal from 1")

    def formula(a: str) -> str:
        runs = f"transform(sequence(1, greatest(size({a}) - {size - 1}, 1)), ` i` -> slice({a}, ` i`, {size}))"
        return f"if(size({a}) < {size}, raise_error('the shingles are longer than the array'), {runs})"

    return typed(let(values[0].sql, formula), t.Array(values[0].bare))


def _transpose(values: Sequence[Typed]) -> Typed:
    of = element_type(values[0])
    if not isinstance(of, t.Array):
        raise BadArguments(f"`arrayTranspose` needs an array of arrays, this is {values[0].type}")

    def formula(a: str) -> str:
        column = f"transform({a}, ` r` -> ` r`[` i`])"
        columns = f"transform({a}[0], (` e`, ` i`) -> {column})"
        wrong = "raise_error('the arrays of arrayTranspose have different sizes')"
        uneven = f"exists({a}, ` r` -> size(` r`) <> size({a}[0]))"
        return f"CASE WHEN size({a}) = 0 THEN {a} WHEN {uneven} THEN {wrong} ELSE {columns} END"

    return typed(let(values[0].sql, formula), values[0].type)


def _flattened_length(values: Sequence[Typed]) -> Typed:
    def count(sql: str, of: Type, level: int) -> str:
        inner = of.of if isinstance(of, t.Array) else of
        if not isinstance(inner, t.Array):
            return f"CAST(size({sql}) AS BIGINT)"
        name = f"` x{level}`"
        each = count(name, inner, level + 1)
        return f"aggregate(transform({sql}, {name} -> {each}), 0L, (` a`, ` b`) -> ` a` + ` b`)"

    return Typed(count(values[0].sql, values[0].bare, 0), UINT64, "BIGINT")


def _populate(values: Sequence[Typed]) -> Typed:
    """Every key between the least and the greatest, or a given last one; a new one has the value 0."""
    of = values[0].bare
    if not isinstance(of, t.Map) or of.key not in _INTEGERS or of.value not in _INTEGERS:
        raise BadArguments(f"`mapPopulateSeries` of {values[0].type} is not supported", "a Map of integers")
    key, value = value_type(of.key), value_type(of.value)

    def formula(m: str) -> str:
        last = f"array_max(map_keys({m}))"
        if len(values) > 1:
            end = constant_number(values[1], "the last key")
            if not isinstance(of.key, t.Int) or not of.key.low <= end <= of.key.high:
                raise BadArguments(f"the last key {end} is no {of.key}")
            last = f"CAST({end} AS {key})"
        first = f"array_min(map_keys({m}))"
        filled = f"coalesce(try_element_at({m}, ` k`), CAST(0 AS {value}))"
        entries = f"transform(sequence({first}, greatest({last}, {first})), ` k` -> struct(` k`, {filled}))"
        nothing = f"CAST(map() AS MAP<{key}, {value}>)"
        empty = f"size({m}) = 0 OR {last} < {first}"
        return f"if({empty}, {nothing}, map_from_entries({entries}))"

    return typed(let(values[0].sql, formula), of)


FUNCTIONS: tuple[Function, ...] = (
    Function("notHas", (2, 2), ("any",), _not_has, strict=False),
    Function("arrayRemove", (2, 2), ("array", "any"), _remove, strict=False),
    Function("arrayShingles", (2, 2), ("array", "constant"), _shingles),
    Function("arrayTranspose", (1, 1), ("array",), _transpose),
    Function("arrayFlattenedLength", (1, 1), ("array",), _flattened_length),
    Function("mapPopulateSeries", (1, 2), ("map", "constant"), _populate),
)
ALIASES = {"array_remove": "arrayRemove", "CARDINALITY": "length", "array_to_string": "arrayStringConcat"}
ANY_CASE = ("array_remove", "CARDINALITY", "array_to_string")
