"""Whether the rows that a view's target has stored make up the rows that its changed view would give.

In: the transition of a target, before its columns are placed. Out: `RolledUp`, or why not. A key that is dropped or
made coarser (`toDate` to `toStartOfMonth`), a new column that is a function of what is stored, and a time with a
finer type need no look at the source: in the first two cases the engine merges the stored rows by the new key.
Invariant: once they are merged, the rows are those that the view would give, whatever came in which batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.model.datasource import Column, DataSource
from penstock.model.manifest import View
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import (
    AggregateFunction,
    DateTime,
    SimpleAggregateFunction,
    Type,
    is_nullable,
    unwrap_type,
)
from penstock.plan.diff.column_compatibility import is_promotion
from penstock.plan.diff.merged_rows import is_mergeable, key_columns
from penstock.plan.diff.project_queries import reads_of_view
from penstock.plan.equivalence.decimal_numbers import is_wider_number
from penstock.plan.equivalence.merged_aggregates import gives_what_is_merged
from penstock.plan.equivalence.stored_functions import RolledUp, StoredFunctions, stored_functions
from penstock.plan.equivalence.unchanged_history import columns_stored_as_live
from penstock.plan.strategies.derived_columns import (
    can_tell_rows,
    is_safe,
    live_target,
    survives_merging,
    why_not_one_view,
)
from penstock.plan.strategies.planning_context import PlanningContext
from penstock.plan.strategies.strategy_results import build_views_into
from penstock.plan.tables.column_placement import DataSourceTransition, DerivedColumn, prove_type
from penstock.plan.tables.stored_claims import Proof
from penstock.sql.compile import cast_column
from penstock.sql.spark_text import DIALECT, column_names, parse_tree, quote_identifier
from penstock.sql.stored_types import holds_floats, spark_type

_STATES = (AggregateFunction, SimpleAggregateFunction)


def find_rolled_up(context: PlanningContext, before: DataSourceTransition) -> RolledUp | str:
    """The stored rows as those of the changed view; a text that says why they are not known to be."""
    obstacle = _obstacle(context, before)
    if obstacle is not None:
        return obstacle
    placement = before.placement
    place = live_target(before, placement)
    (live,), (after,) = before.running.views, build_views_into(context, place, "beginning", context.history_binding)
    names = {column.physical: column.name for column in before.running.binding.columns}
    logical = {column.physical: column.name for column in place.columns}
    origins = {column.name: origin for column, origin in placement.match.pairs if origin is not None}
    live_names = {field: origins[name].name for field, name in logical.items() if name in origins}
    given = stored_functions(live, after, names, live_names, context.known_values(before.new.name))
    if given is None:
        return "what it would give is no function of the rows that are stored"
    own = {field.name for field in placement.added}
    stored = {column.name for column in placement.columns if column.physical not in own}
    stored &= columns_stored_as_live(before.running, placement.columns, placement.match)
    derived = {}
    for field, sql in given.columns.items():
        origin = origins.get(logical[field])
        sql = _without_default(sql, origin) if origin is not None else sql
        if logical[field] not in stored or origin is None or sql not in _as_stored(before, logical[field], origin):
            derived[logical[field]] = DerivedColumn(sql, not column_names(sql))
    changed = _Changed(context, before, origins)
    proofs = _why_not_derivable(changed, derived) or _prove_types(changed, derived)
    if isinstance(proofs, str):
        return proofs
    if given.coarser and not (_merges_into(before, given, derived) and _gives_merged(changed, live, names, derived)):
        return "the engine does not merge the stored rows into those that it would give"
    if given.coarser and _has_reader(context, before):
        return "a view reads the rows before they are merged"
    return RolledUp(derived, live, given.coarser, proofs)


def _why_not_derivable(changed: _Changed, derived: Mapping[str, DerivedColumn]) -> str | None:
    """Why a column is not known to have its computed value in each row; None if each is."""
    name = next((name for name, each in derived.items() if not _is_derivable(changed, name, each)), None)
    if name is None:
        return None
    if not is_safe(changed.before, derived[name]):
        return f"the value of `{name}` may fail for a row that is stored, or be another each time"
    return f"`{name}` is not known to have its value once rows are merged"


def _obstacle(context: PlanningContext, before: DataSourceTransition) -> str | None:
    if before.running.landing.stream in context.options.streams:
        return "rows were posted to it"
    return why_not_one_view(context, before)


def _without_default(sql: str, origin: Column) -> str:
    """The SQL of a column without the value in the place of NULL, if it shows a live column that is never NULL, as one
    that is no state of an aggregate."""
    tree, stored = parse_tree(sql), quote_identifier(origin.name)
    is_stored = isinstance(tree, exp.Coalesce) and tree.this.unnest().sql(dialect=DIALECT) == stored
    return stored if is_stored and not is_nullable(origin.type) and not isinstance(origin.type, _STATES) else sql


def _as_stored(before: DataSourceTransition, name: str, origin: Column) -> tuple[str, ...]:
    """How the value of a column is written that the live one holds, with the cast to a type to which it is promoted."""
    plain, column = quote_identifier(origin.name), before.new.column(name)
    if isinstance(unwrap_type(origin.type), DateTime) and column is not None and column.type == origin.type:
        return plain, f"TIMESTAMP_SECONDS(UNIX_SECONDS({plain}) & CAST(4294967295 AS BIGINT))"  # its range has no more
    if column is None or not is_promotion(spark_type(origin.type), spark_type(column.type)):
        return (plain,)
    return plain, f"CAST({plain} AS {spark_type(column.type)})"


@dataclass(frozen=True, slots=True)
class _Changed:
    """A data source that changes, and the live column that each of its columns continues."""

    context: PlanningContext
    before: DataSourceTransition
    origins: Mapping[str, Column]


def _is_derivable(changed: _Changed, name: str, derived: DerivedColumn) -> bool:
    """Whether a computed column has its value in each row, also once rows of one key are merged."""
    before, origin = changed.before, changed.origins.get(name)
    if not can_tell_rows(changed.context, before, name, derived) or _lays_out(before.new, name):
        return False
    if _keeps_stored_value(before, name, origin, derived):
        return _has_same_role(before, name, origin)
    # A state is that of all rows of its key: of several that are equal there is none to choose.
    values = (each for each in before.running.source.columns if not isinstance(each.type, _STATES))
    floats = {column.name for column in values if holds_floats(column.type)}
    if column_names(derived.sql) & floats or (origin is not None and before.new.engine.name == "ReplacingMergeTree"):
        return False  # numbers that are equal may be written differently; a version may be another one
    return is_safe(before, derived) and survives_merging(before, name, derived)


def _prove_types(changed: _Changed, derived: Mapping[str, DerivedColumn]) -> tuple[Proof, ...] | str:
    """Why the types of columns hold what is stored, where they do not hold every value of live; a text that says of
    which that is not known. A source whose type was proved tells nothing of rows that are gone from it."""
    before, proofs = changed.before, []
    has_proved_source = changed.context.reads_proved_columns(before.new.name)
    lacks_rows = changed.context.lacks_rows_with_null(before.new.name)
    for name, each in derived.items():
        column, origin = before.new.column(name), changed.origins.get(name)
        is_plain = origin is not None and each.sql == quote_identifier(origin.name)
        is_told = each.is_constant and not lacks_rows
        if column is None or is_told or (not is_plain and not has_proved_source):
            continue
        if origin is not None and is_plain and cast_column(each.sql, origin.type, column.type) is not None:
            continue
        found = prove_type(before, origin, column) if origin is not None and is_plain else ""
        if isinstance(found, Proof) and has_proved_source:
            proofs.append(found)
        elif isinstance(found, str) and (has_proved_source or found):
            return f"the type of `{name}` is not known to hold what is stored" + (f": {found}" if found else "")
    return tuple(proofs)


def _lays_out(source: DataSource, name: str) -> bool:
    """Whether a column may be in the partition key or the TTL."""
    parts = (*source.engine.partition_key, source.engine.ttl or "")
    return any(name in part for part in parts)


def _keeps_stored_value(before: DataSourceTransition, name: str, origin: Column | None, derived: DerivedColumn) -> bool:
    """Whether a column shows what the live one of that name has stored, in another type."""
    column = before.new.column(name)
    return (
        column is not None
        and origin is not None
        and derived.sql == quote_identifier(origin.name)
        and (spark_type(column.type) == spark_type(origin.type) or is_wider_number(column.type, origin.type))
    )


def _has_same_role(before: DataSourceTransition, name: str, origin: Column | None) -> bool:
    """Whether the engine does with a column what it did with the live one."""
    column, old, new = before.new.column(name), before.running.source, before.new
    if column is None or origin is None or new.engine.name == "SummingMergeTree":
        return False
    names = {origin.name: column.name for column, origin in before.placement.match.pairs if origin is not None}
    roles = _roles(old, names)
    is_same = roles is not None and roles == _roles(new, {each: each for each in new.column_names})
    return is_same and _merged_by(column.type) == _merged_by(origin.type)


def _roles(source: DataSource, names: Mapping[str, str]) -> tuple[object, ...] | None:
    """What the engine does with columns, which are called by `names`; None where a part of the key is computed of one
    that has another name there."""
    engine, moved = source.engine, {name for name, other in names.items() if name != other}
    keys = [key.strip().strip("`") for key in engine.sorting_key]
    if any(key not in names and any(name in key for name in moved) for key in keys):
        return None
    one = (engine.ver, engine.is_deleted, engine.sign, engine.version)
    return tuple(names.get(each, each) for each in (*keys, "", *engine.summed, "", *(name or "" for name in one)))


def _merged_by(of: Type) -> str | None:
    """The aggregate that merges the values of a column."""
    match of:
        case SimpleAggregateFunction() | AggregateFunction():
            return f"{type(of).__name__} {of.function}"
        case _:
            return None


def _merges_into(before: DataSourceTransition, given: StoredFunctions, derived: Mapping[str, DerivedColumn]) -> bool:
    """Whether stored rows of one new key become one row, which is what the view gives for it: each column is part of
    the key, or a state or simple aggregate that is merged, whatever the order."""
    old, new = before.running.source, before.new
    if new.engine.name != "AggregatingMergeTree":
        return False
    keys = key_columns(new)
    for column in new.columns:
        is_merged = column.name not in derived and is_mergeable(column.type)
        if not is_merged and column.name not in keys:
            return False
    read = {name for sql in given.keys for name in column_names(sql)}
    return len(keys) == len(new.engine.sorting_key) and read <= key_columns(old)


def _gives_merged(
    changed: _Changed, live: View, names: Mapping[str, str], derived: Mapping[str, DerivedColumn]
) -> bool:
    """Whether each column that is merged from now on was merged in the same way, of what its aggregate gives."""
    old, new = changed.before.running.source, changed.before.new
    fields = {name: field for field, name in names.items()}
    merged = {}
    for column in new.columns:
        if column.name in derived or column.name in key_columns(new):
            continue
        origin = changed.origins[column.name]
        was_merged = origin.name not in key_columns(old) and _merged_by(origin.type) == _merged_by(column.type)
        if not was_merged or origin.name not in fields:
            return False
        merged[fields[origin.name]] = origin.type
    return gives_what_is_merged(live, merged)


def _has_reader(context: PlanningContext, before: DataSourceTransition) -> bool:
    """Whether a view of either version reads the target; one that no change reaches is a view of both."""
    table = before.running.table.id
    live = {source.binding.table for view in context.live.manifest.views for source in (view.trigger, *view.others)}
    reads = (read for view in context.compiled.views.values() for read in reads_of_view(view))
    return table in live or any(read.datasource == before.new.name for read in reads)
