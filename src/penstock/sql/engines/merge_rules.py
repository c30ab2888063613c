"""The merge rule of a data source's engine: what FINAL and compaction do with rows of equal sorting keys.

`merge_rule` gives a `MergeRuleResult`: a `Merge`, or the reason why FINAL is refused. `merged_column` gives the Spark
SQL of one column over a window of rows to merge, in their order. Invariant: with a rule, FINAL shows what ClickHouse's
FINAL shows; where that depends on what is unknown here (a hashed partition id), there is no rule. Sums wrap around
like ClickHouse's, and NULL is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.model import types as t
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.merge_rule import Aggregating, Collapsing, Merge, Replacing, Summing, VersionedCollapsing
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.parse.sql_syntax.engine_keys import column_name
from penstock.sql.aggregates.aggregate import AggregateState
from penstock.sql.engines.column_expression import compile_expression
from penstock.sql.expr.sort_order import enum_number
from penstock.sql.expr.spark_types import value_type
from penstock.sql.query import CompiledExpression
from penstock.sql.stored_types import UnknownState, spark_type, state_aggregate, state_arguments, state_parameters

_MERGING_ENGINES = (
    "ReplacingMergeTree",
    "SummingMergeTree",
    "AggregatingMergeTree",
    "CollapsingMergeTree",
    "VersionedCollapsingMergeTree",
)
"""Engines that merge rows of equal sorting keys."""
_KEYED_ENGINES = "SummingMergeTree", "AggregatingMergeTree"
_WIDE_DECIMAL = "DECIMAL(38,0)"
_SUMMED = (t.Int, t.Float, t.Decimal)
_ORDERED = (*_SUMMED, t.Bool, t.Date, t.DateTime, t.DateTime64, t.String, t.FixedString, t.Enum)
_KEYS = (t.Int, t.String, t.FixedString)


@dataclass(frozen=True, slots=True)
class MergeRuleResult:
    """The rule of an engine, or why there is none."""

    rule: Merge | None = None
    why: str = ""
    """Why FINAL is refused."""
    hint: str = "leave FINAL out"
    """What to do instead."""


def merge_rule(source: DataSource) -> MergeRuleResult:
    """What the engine does with rows of equal keys. Raises InvalidQuery if a key does not compile."""
    engine = source.engine
    if engine.name not in _MERGING_ENGINES:
        return MergeRuleResult(why=f"FINAL is not supported by the engine {engine.name}")
    if engine.name in _KEYED_ENGINES and not engine.sorting_key:
        message = f"`{source.name}` has no sorting key: {engine.name} merges nothing"
        return MergeRuleResult(why=f"FINAL is not supported here: {message}", hint="give it an ENGINE_SORTING_KEY")
    sorting = _compile_keys(source, "ENGINE_SORTING_KEY", engine.sorting_key)
    parting = _compile_keys(source, "ENGINE_PARTITION_KEY", engine.partition_key)
    partition = () if _is_partition_in_sorting_key(sorting, parting, engine.sorting_key) else _partition_ids(parting)
    if partition is None:
        message = "ClickHouse orders rows of equal keys by a hash of the partition key"
        hint = "add the columns of the partition key to the sorting key"
        return MergeRuleResult(why=f"FINAL is not supported on `{source.name}`: {message}", hint=hint)
    fixed = frozenset(name for each in (*sorting, *parting) for name in each.uses)
    return _rule_of_engine(source, tuple(each.sql for each in sorting), partition, fixed)


def _rule_of_engine(
    source: DataSource, keys: tuple[str, ...], partition: tuple[str, ...], fixed: frozenset[str]
) -> MergeRuleResult:
    """The rule; `fixed` are the columns that the keys read, which are never merged."""
    engine = source.engine
    if engine.name == "ReplacingMergeTree":
        return MergeRuleResult(Replacing(keys, engine.ver, engine.is_deleted, partition))
    if engine.name == "CollapsingMergeTree":
        return MergeRuleResult(Collapsing(keys, engine.sign or "", partition))
    if engine.name == "VersionedCollapsingMergeTree":
        return MergeRuleResult(VersionedCollapsing(keys, engine.sign or "", engine.version or "", partition))
    merged = _merged_columns(source, fixed)
    refused = next((column for column in merged if not _is_mergeable(column)), None)
    if refused is not None:
        message = (
            f"FINAL is not supported on `{source.name}`: `{refused.name}` is {refused.type}, which is not merged here"
        )
        return MergeRuleResult(why=message, hint=_hint_for(refused))
    names = tuple(column.name for column in merged)
    if engine.name == "AggregatingMergeTree":
        return MergeRuleResult(Aggregating(keys, names, partition))
    drops_zeros = bool(merged) and all(_is_summable(column.type) for column in merged)
    return MergeRuleResult(Summing(keys, names, drops_zeros, partition))


def _merged_columns(source: DataSource, fixed: frozenset[str]) -> tuple[Column, ...]:
    """The columns that the engine sums or merges."""
    engine = source.engine
    columns = tuple(column for column in source.columns if column.name not in fixed)
    if engine.name == "AggregatingMergeTree":
        return tuple(column for column in columns if _holds_aggregate(column.type))
    named = engine.summed
    chosen = (column for column in columns if not named or column.name in named)
    return tuple(column for column in chosen if _is_summable(column.type) or _holds_aggregate(column.type))


def _is_mergeable(column: Column) -> bool:
    try:
        return _can_be_merged(column.type)
    except UnknownState:
        return False


def _hint_for(column: Column) -> str:
    if isinstance(unwrap_type(column.type), t.Bool) and _is_summable(column.type):
        return "make it a UInt64, or name the columns to sum in ENGINE_COLUMNS"
    return "merge it where it is read, with GROUP BY"


def _compile_keys(source: DataSource, directive: str, parts: Sequence[str]) -> tuple[CompiledExpression, ...]:
    place = source.engine.location(directive) or source.location
    return tuple(compile_expression(Text(part, place), source.columns) for part in parts)


def _is_partition_in_sorting_key(
    sorting: Sequence[CompiledExpression], parting: Sequence[CompiledExpression], keys: Sequence[str]
) -> bool:
    """Whether rows with equal sorting keys always lie in one partition: its key is made of columns of the sorting
    key."""
    columns = {name for each, key in zip(sorting, keys, strict=True) for name in each.uses if column_name(key) == name}
    known = {each.sql for each in sorting}
    return all(each.sql in known or columns.issuperset(each.uses) for each in parting)


def _partition_ids(parting: Sequence[CompiledExpression]) -> tuple[str, ...] | None:
    """The parts of ClickHouse's partition id as Spark SQL, which ClickHouse compares as text.

    None if ClickHouse would hash the key (`MergeTreePartition::getID`).
    """
    found = [_partition_id(each) for each in parting]
    parts = tuple(each for each in found if each is not None)
    return parts if len(parts) == len(found) else None


def _partition_id(part: CompiledExpression) -> str | None:
    if is_nullable(part.type):
        return None
    match unwrap_type(part.type):
        case t.Int():
            return f"CAST({part.sql} AS STRING)"
        case t.Bool():
            return f"CAST(CAST({part.sql} AS INT) AS STRING)"
        case t.Date(wide=False):
            return f"date_format({part.sql}, 'yyyyMMdd')"
        case t.Date():
            return f"CAST(datediff({part.sql}, DATE'1970-01-01') AS STRING)"
        case t.DateTime():
            return f"CAST(unix_seconds({part.sql}) AS STRING)"
        case t.Enum() as texts:
            return f"CAST({enum_number(texts, part.sql)} AS STRING)"
        case _:
            return None


def _is_summable(of: Type) -> bool:
    """Whether SummingMergeTree sums columns of this type. Bool is one of them, though a sum is neither true nor
    false."""
    return not _holds_aggregate(of) and isinstance(unwrap_type(of), (*_SUMMED, t.Bool))


def _holds_aggregate(of: Type) -> bool:
    """Whether a column holds states, or values of a simple aggregate function."""
    return isinstance(of, (t.AggregateFunction, t.SimpleAggregateFunction))


def _can_be_merged(of: Type) -> bool:
    """Whether `merged_column` supports the type. Raises UnknownState."""
    match of:
        case t.AggregateFunction():
            return bool(spark_type(of))
        case t.SimpleAggregateFunction(function, inner):
            return function in _SIMPLE and _supports_simple_aggregate(function, inner)
        case _:
            return isinstance(unwrap_type(of), _SUMMED)


def _supports_simple_aggregate(function: str, of: Type) -> bool:
    """Whether a simple aggregate function over this type is supported."""
    match function, unwrap_type(of):
        case (("min" | "max"), plain):
            return isinstance(plain, _ORDERED)
        case (("sum" | "sumWithOverflow"), plain):
            return isinstance(plain, _SUMMED)
        case (("groupBitAnd" | "groupBitOr" | "groupBitXor"), plain):
            return isinstance(plain, t.Int)
        case "sumMap", t.Map(key, value):
            return isinstance(unwrap_type(key), _KEYS) and isinstance(value, (t.Int, t.Float))
        case (("groupArrayArray" | "groupUniqArrayArray"), plain):
            return isinstance(plain, t.Array)
        case (("any" | "anyLast" | "any_respect_nulls" | "anyLast_respect_nulls"), _):
            return True
        case _:
            return False


def merged_column(of: Type, sql: str, over: str) -> str:
    """Spark SQL of a column merged over all rows of the window `over`."""
    match of:
        case t.AggregateFunction():
            state = AggregateState(sql, state_arguments(of), state_parameters(of), over)
            return f"CAST({state_aggregate(of).merge(state)} AS {spark_type(of)})"
        case t.SimpleAggregateFunction(function, inner):
            return _SIMPLE[function](inner, sql, over)
        case _:
            return _sum_over(of, sql, over)


def _sum_over(of: Type, sql: str, over: str) -> str:
    match unwrap_type(of):
        case t.Float(32):
            # ClickHouse rounds to FLOAT after each row; Spark's sum would add doubles and round once.
            adding = "(` a`, ` x`) -> coalesce(` a` + ` x`, ` x`)"
            return f"aggregate(collect_list({sql}){over}, CAST(NULL AS FLOAT), {adding})"
        case t.Int() as whole:
            return _wrap_integer(f"sum(CAST({sql} AS DECIMAL(20,0))){over}", whole)
        case plain:
            return f"CAST(sum({sql}){over} AS {value_type(plain)})"


def _wrap_integer(sql: str, of: t.Int) -> str:
    """A whole decimal reduced to the lowest bits of an integer type, as on overflow in ClickHouse."""
    span = f"CAST({1 << of.bits} AS {_WIDE_DECIMAL})"
    low = f"CAST({of.low} AS {_WIDE_DECIMAL})"
    inside = f"pmod({sql} - {low}, {span}) + {low}" if of.signed else f"pmod({sql}, {span})"
    return f"CAST({inside} AS {value_type(of)})"


def _extreme_over(name: str) -> Callable[[Type, str, str], str]:
    """min or max: Enum by its numbers; NaN only if there is no other value."""

    def pick(of: Type, sql: str, over: str) -> str:
        match unwrap_type(of):
            case t.Float():
                return f"coalesce({name}(if(isnan({sql}), NULL, {sql})){over}, max({sql}){over})"
            case t.Enum() as texts:
                return f"{name}_by({sql}, {enum_number(texts, sql)}){over}"
            case _:
                return f"{name}({sql}){over}"

    return pick


def _bitwise_over(name: str) -> Callable[[Type, str, str], str]:
    """A bitwise aggregate. A UInt64 is a decimal in Spark, so it goes through the signed integer of the same bits."""

    def merge(of: Type, sql: str, over: str) -> str:
        if unwrap_type(of) != t.Int(64, signed=False):
            return f"CAST({name}(CAST({sql} AS BIGINT)){over} AS {value_type(of)})"
        signed = _wrap_integer(f"CAST({sql} AS {_WIDE_DECIMAL})", t.Int(64))
        return _wrap_integer(f"CAST({name}({signed}){over} AS {_WIDE_DECIMAL})", t.Int(64, signed=False))

    return merge


def _concatenate_arrays(of: Type, sql: str, over: str) -> str:
    return f"flatten(collect_list({sql}){over})"


def _sum_map_over(of: Type, sql: str, over: str) -> str:
    """sumMap: the sum for each key, in the order of keys; keys whose sum is 0 stay."""
    plain = unwrap_type(of)
    assert isinstance(plain, t.Map), "asked for maps only"
    kept = value_type(plain.value) if isinstance(plain.value, t.Float) else _WIDE_DECIMAL
    done = _wrap_integer("` s`", plain.value) if isinstance(plain.value, t.Int) else "` s`"
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
    "min": _extreme_over("min"),
    "max": _extreme_over("max"),
    "sum": _sum_over,
    "sumWithOverflow": _sum_over,
    "groupBitAnd": _bitwise_over("bit_and"),
    "groupBitOr": _bitwise_over("bit_or"),
    "groupBitXor": _bitwise_over("bit_xor"),
    "sumMap": _sum_map_over,
    "groupArrayArray": _concatenate_arrays,
    "groupUniqArrayArray": lambda of, sql, over: f"array_distinct({_concatenate_arrays(of, sql, over)})",
}
