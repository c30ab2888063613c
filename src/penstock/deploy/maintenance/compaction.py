"""Rewrite a table's small files as few large ones, in the order of the sorting key, and merge the rows that its engine
merges where no answer can change.

In: a table and its bindings. Out: Iceberg snapshots that replace files, each run a commit of its own. Invariant: FINAL,
and every query that merges or sums what the engine merges, give the same before and after, for every version that
binds the table. Only rules are carried out that allow rows to be merged in parts and in any order: the latest row of
ReplacingMergeTree, sums, and states that ignore order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from typing_extensions import assert_never

from penstock.deploy.maintenance.maintained_tables import MaintainedTable, log_operation
from penstock.deploy.maintenance.retention import ENDED, NOT_ENDED
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.file_layouts import file_layout
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.lake.maintenance.data_files import CompactionLimits, DataFile, compaction_runs, list_data_files
from penstock.lake.maintenance.rewrite import RewriteResult, compact_files, rewrite_files
from penstock.lake.maintenance.shared_files import set_properties
from penstock.lake.read.bindings import bound_column_value
from penstock.lake.read.engine_merge import compacted_relation
from penstock.lake.spark.cancellation import time_limit
from penstock.lake.tables.snapshots import Snapshots
from penstock.model.deployment import Deployment
from penstock.model.manifest import REJECTS, SEQ, Binding
from penstock.model.merge_rule import Aggregating, Collapsing, Merge, Replacing, Summing, VersionedCollapsing
from penstock.model.settings import MaintenanceSettings
from penstock.model.types import AggregateFunction, Float, SimpleAggregateFunction, String, Type, unwrap_type
from penstock.sql.spark_text import quote_identifier

TURN = 10.0
"""Seconds after which no further run of this table begins, so that other tables get their turn, and a stopping server
does not wait."""

MERGED = "penstock.merged"
"""The table property with the rule by which rows were merged, for people to read."""


class CompactionResults:
    """Remembers the tables that had nothing to compact, since to look at all files of a table costs a Spark job."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}

    def is_worth(self, table: str, now: Snapshots, settings: MaintenanceSettings) -> bool:
        """Whether enough files came since the last look that found nothing."""
        then = self._files.get(table)
        enough = now.files >= settings.compact_files
        return enough and (then is None or not 0 <= now.files - then < max(settings.compact_files // 4, 1))

    def found_nothing(self, table: str, now: Snapshots) -> None:
        self._files[table] = now.files

    def forget(self, table: str) -> None:
        self._files.pop(table, None)


def compact_table(core: Core, on: MaintainedTable, looks: CompactionResults) -> bool:
    """Rewrite some of the table's small files. Returns whether it did."""
    settings, table = core.settings.maintenance, on.table.id
    now = core.warehouse.registry.snapshots(table)
    if now.current is None or not looks.is_worth(table, now, settings):
        return False
    with core.warehouse.registry.pinned(table, now.current.id):
        files = list_data_files(core.warehouse.lake, table, now.current.id)
        found = tuple(compaction_runs(files, file_tiers(settings)))
        if found:
            looks.forget(table)
            return _compact_runs(core, on, now.current.id, found)
    looks.found_nothing(table, now)
    return False


def _compact_runs(core: Core, on: MaintainedTable, snapshot: int, found: Sequence[Sequence[DataFile]]) -> bool:
    settings, table = core.settings.maintenance, on.table.id
    left, end = settings.compact_run_bytes, time.monotonic() + TURN
    seconds = float(core.settings.flow.max_step_seconds)
    with log_operation(core.store, "compaction", on) as done:
        for files in found:
            left -= sum(file.bytes for file in files)
            if done and (left < 0 or time.monotonic() > end):
                break
            with time_limit(core.warehouse.lake.bulk, seconds):
                done.append(_rewrite_files(core.store, core.warehouse, on, snapshot, files))
            core.warehouse.registry.refresh(table)
    return True


def _rewrite_files(
    store: StateStore, warehouse: Warehouse, on: MaintainedTable, snapshot: int, files: Sequence[DataFile]
) -> RewriteResult:
    """Rewrite one run of files. How rows merge is decided each time: a new deployment may read them by another rule."""
    layout = file_layout(on.table.sort, on.bindings)
    how = find_table_merge(on, store.deployments.in_state(*NOT_ENDED))
    if how is None:
        return compact_files(warehouse.lake, on.table.id, snapshot, files, layout)
    set_properties(warehouse.lake, on.table.id, {MERGED: str(how.rule)})
    return rewrite_files(warehouse.lake, on.table.id, snapshot, files, partial(merged_rows, how), layout)


def file_tiers(settings: MaintenanceSettings) -> CompactionLimits:
    return CompactionLimits(settings.compact_files, settings.compact_small_bytes, settings.compact_target_bytes)


WITHOUT_ORDER = frozenset(
    {"sum", "count", "min", "max", "avg", "uniq", "uniqExact", "uniqCombined", "uniqCombined64", "uniqHLL12"}
    | {"uniqTheta", "groupBitAnd", "groupBitOr", "groupBitXor"}
)
"""Aggregates whose state does not depend on the order or grouping of rows."""


@dataclass(frozen=True, slots=True)
class TableMerge:
    """How a table's rows merge, the same for every version that reads it."""

    binding: Binding
    rule: Merge
    """The merge rule of the binding."""
    apart: tuple[str, ...]
    """Physical columns that must be equal for rows to merge: rows that only some versions see stay apart."""


def find_table_merge(on: MaintainedTable, deployments: Iterable[Deployment]) -> TableMerge | None:
    """How the rows of the table may be merged; None if they may not."""
    first = on.bindings[0] if on.bindings and not on.others else None
    if first is None or first.merge is None or _triggers_view(on.table.id, deployments):
        return None
    # With a TTL, an older row that a later one replaces now would be visible again once the later one has expired.
    same = all((each.merge, each.columns, each.keeps) == (first.merge, first.columns, None) for each in on.bindings)
    if not same or not _can_merge_in_parts(first.merge, first):
        return None
    return TableMerge(first, first.merge, (_physical_alias(REJECTS),) if on.table.lands else ())


def merged_rows(how: TableMerge, view: str, stored: Sequence[tuple[str, str]]) -> str:
    """Spark SQL for the merged rows of `view`, which has the physical columns `stored` (names and types)."""
    physical = [name for name, _ in stored if name != SEQ]
    logical = [(column.name, column.type) for column in how.binding.columns]
    carried: list[tuple[str, Type]] = [(_physical_alias(name), String()) for name in physical]
    values = [f"{bound_column_value(column)} AS {quote_identifier(column.name)}" for column in how.binding.columns]
    values += [f"{quote_identifier(name)} AS {quote_identifier(_physical_alias(name))}" for name in physical]
    rows = f"(SELECT {', '.join(values)}, {SEQ} FROM {quote_identifier(view)})"
    made = {column.physical: column.name for column in how.binding.columns if column.name in _merged_columns(how.rule)}
    columns = ", ".join(
        quote_identifier(name)
        if name == SEQ
        else f"CAST({quote_identifier(made.get(name, _physical_alias(name)))} AS {of}) AS {quote_identifier(name)}"
        for name, of in stored
    )
    return f"SELECT {columns} FROM {compacted_relation(how.rule, [*logical, *carried], rows, how.apart)}"


def _physical_alias(physical: str) -> str:
    """An alias for a physical column beside the logical ones, whose names never begin with a blank."""
    return f" {physical}"


def _merged_columns(rule: Merge) -> tuple[str, ...]:
    return rule.columns if isinstance(rule, (Summing, Aggregating)) else ()


def _triggers_view(table: str, deployments: Iterable[Deployment]) -> bool:
    """Whether a view is triggered by the table: it reads the rows as they were appended, so they must not be merged."""
    kept = (each for each in deployments if each.state not in ENDED)
    return any(view.trigger.binding.table == table for each in kept for view in each.manifest.views)


def _can_merge_in_parts(rule: Merge, binding: Binding) -> bool:
    """Whether parts of the rows can be merged by themselves, in any order."""
    match rule:
        case Replacing():
            return True
        case Summing():
            return rule.drops_zeros and _covers_all_columns(rule, binding) and not _has_floats(rule, binding)
        case Aggregating():
            return _covers_all_columns(rule, binding) and all(
                _ignores_order(column.type) for column in binding.columns if column.name in rule.columns
            )
        case Collapsing() | VersionedCollapsing():
            return False
        case _:
            assert_never(rule)


def _covers_all_columns(rule: Summing | Aggregating, binding: Binding) -> bool:
    """Whether each column is merged or the same in all rows of a key, and is stored as it is read."""
    covered = {
        *rule.columns,
        *(column.name for column in binding.columns if quote_identifier(column.name) in rule.keys),
    }
    settled = all(column.before is None or column.before.is_settled for column in binding.columns)
    return settled and all(column.name in covered for column in binding.columns)


def _has_floats(rule: Summing, binding: Binding) -> bool:
    """Whether a summed column is a float: such sums depend on the order of rows in their last digits."""
    return any(isinstance(unwrap_type(column.type), Float) for column in binding.columns if column.name in rule.columns)


def _ignores_order(of: Type) -> bool:
    match of:
        case SimpleAggregateFunction(function, value_type):
            return function in WITHOUT_ORDER and not (function == "sum" and isinstance(unwrap_type(value_type), Float))
        case AggregateFunction(function):
            return function in WITHOUT_ORDER
        case _:
            return False
