"""What a column becomes when rows with equal sorting keys are merged, as Spark SQL.

In: a column's type, its SQL, and a window over its rows in their order. Out: SQL of the column's Spark
type. Called by merge_rules (whether it can be merged) and lake.merge. Invariant: sums wrap around as
ClickHouse's do; NULL is passed over; what depends on the order follows the window's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.model import types as t
from penstock.model.types import Type, bare
from penstock.sql.aggregates.aggregate import State
from penstock.sql.kept_order import enum_number
from penstock.sql.spark_types import spark_type, state_arguments, state_parameters, state_row
from penstock.sql.value_types import value_type

_WHOLE = "DECIMAL(38,0)"
_SUMMED = (t.Int, t.Float, t.Decimal)
_ORDERED = (*_SUMMED, t.Bool, t.Date, t.DateTime, t.DateTime64, t.String, t.FixedString, t.Enum)
_KEYS = (t.Int, t.String, t.FixedString)


def is_summed(of: Type) -> bool:
    """Whether SummingMergeTree takes a column of this type for a number. Bool is one, though its sums
    are neither true nor false."""
    return not is_aggregate(of) and isinstance(bare(of), (*_SUMMED, t.Bool))


def is_aggregate(of: Type) -> bool:
    """Whether a merge of states or of simple aggregates is meant."""
    return isinstance(of, (t.AggregateFunction, t.SimpleAggregateFunction))


def can_be_merged(of: Type) -> bool:
    """Whether `merged_column` has a form for the type. Raises UnknownState."""
    match of:
        case t.AggregateFunction():
            return bool(spark_type(of))
        case t.SimpleAggregateFunction(function, inner):
            return function in _SIMPLE and _takes(function, inner)
        case _:
            return isinstance(bare(of), _SUMMED)


def _takes(function: str, of: Type) -> bool:
    """Whether the simple aggregate of values of this type has a form here."""
    match function, bare(of):
        case (("min" | "max"), plain):
            return isinstance(plain, _ORDERED)
        case (("sum" | "sumWithOverflow"), plain):
            return isinstance(plain, _SUMMED)
        case (("groupBitAnd" | "groupBitOr" | "groupBitXor"), plain):
            return isinstance(plain, t.Int)
        case "sumMap", t.Map(key, value):
            return isinstance(bare(key), _KEYS) and isinstance(value, (t.Int, t.Float))
        case (("groupArrayArray" | "groupUniqArrayArray"), plain):
            return isinstance(plain, t.Array)
        case (("any" | "anyLast" | "any_respect_nulls" | "anyLast_respect_nulls"), _):
            return True
        case _:
            return False


def merged_column(of: Type, sql: str, over: str) -> str:
    """The column over all rows of the window."""
    match of:
        case t.AggregateFunction():
            state = State(sql, state_arguments(of), state_parameters(of), over)
            return f"CAST({state_row(of).merge(state)} AS {spark_type(of)})"
        case t.SimpleAggregateFunction(function, inner):
            return _SIMPLE[function](inner, sql, over)
        case _:
            return _sum(of, sql, over)


def _sum(of: Type, sql: str, over: str) -> str:
    match bare(of):
        case t.Float(32):
            # From row to row as a FLOAT: Spark's sum would be rounded once, at the end.
            adding = "(` a`, ` x`) -> coalesce(` a` + ` x`, ` x`)"
            return f"aggregate(collect_list({sql}){over}, CAST(NULL AS FLOAT), {adding})"
        case t.Int() as whole:
            return wrapped(f"sum(CAST({sql} AS DECIMAL(20,0))){over}", whole)
        case plain:
            return f"CAST(sum({sql}){over} AS {value_type(plain)})"


def wrapped(sql: str, of: t.Int) -> str:
    """The lowest bits of a whole decimal number, as the integer."""
    span = f"CAST({1 << of.bits} AS {_WHOLE})"
    low = f"CAST({of.low} AS {_WHOLE})"
    inside = f"pmod({sql} - {low}, {span}) + {low}" if of.signed else f"pmod({sql}, {span})"
    return f"CAST({inside} AS {value_type(of)})"


def _extreme(name: str) -> Callable[[Type, str, str], str]:
    """min or max: of an enumeration by its numbers; NaN only where there is nothing else."""

    def pick(of: Type, sql: str, over: str) -> str:
        match bare(of):
            case t.Float():
                return f"coalesce({name}(if(isnan({sql}), NULL, {sql})){over}, max({sql}){over})"
            case t.Enum() as texts:
                return f"{name}_by({sql}, {enum_number(texts, sql)}){over}"
            case _:
                return f"{name}({sql}){over}"

    return pick


def _bits(name: str) -> Callable[[Type, str, str], str]:
    """Bit by bit; a UInt64, a decimal in Spark, goes through the signed integer of the same bits."""

    def merge(of: Type, sql: str, over: str) -> str:
        if bare(of) != t.Int(64, signed=False):
            return f"CAST({name}(CAST({sql} AS BIGINT)){over} AS {value_type(of)})"
        signed = wrapped(f"CAST({sql} AS {_WHOLE})", t.Int(64))
        return wrapped(f"CAST({name}({signed}){over} AS {_WHOLE})", t.Int(64, signed=False))

    return merge


def _arrays(of: Type, sql: str, over: str) -> str:
    return f"flatten(collect_list({sql}){over})"


def _sum_map(of: Type, sql: str, over: str) -> str:
    """Key by key; in the order of the keys, those whose sum is 0 as well."""
    plain = bare(of)
    assert isinstance(plain, t.Map), "asked for maps only"
    kept = value_type(plain.value) if isinstance(plain.value, t.Float) else _WHOLE
    done = wrapped("` s`", plain.value) if isinstance(plain.value, t.Int) else "` s`"
    own = "filter(` e`, ` p` -> ` p`.`key` = ` k`)"
    total = f"aggregate({own}, CAST(0 AS {kept}), (` s`, ` p`) -> CAST(` s` + ` p`.`value` AS {kept}), ` s` -> {done})"
    keys = "array_sort(array_distinct(transform(` e`, ` p` -> ` p`.`key`)))"
    made = f"map_from_arrays({keys}, transform({keys}, ` k` -> {total}))"
    return f"element_at(transform(array(flatten(collect_list(map_entries({sql})){over})), ` e` -> {made}), 1)"


_SIMPLE: Mapping[str, Callable[[Type, str, str], str]] = {
    "any": lambda of, sql, over: f"first({sql}, true){over}",
    "anyLast": lambda of, sql, over: f"last({sql}, true){over}",
    "any_respect_nulls": lambda of, sql, over: f"first({sql}){over}",
    "anyLast_respect_nulls": lambda of, sql, over: f"last({sql}){over}",
    "min": _extreme("min"),
    "max": _extreme("max"),
    "sum": _sum,
    "sumWithOverflow": _sum,
    "groupBitAnd": _bits("bit_and"),
    "groupBitOr": _bits("bit_or"),
    "groupBitXor": _bits("bit_xor"),
    "sumMap": _sum_map,
    "groupArrayArray": _arrays,
    "groupUniqArrayArray": lambda of, sql, over: f"array_distinct({_arrays(of, sql, over)})",
}
