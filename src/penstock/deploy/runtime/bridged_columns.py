"""The columns that readers compute for older rows, and how a slice of these rows gets the values into its files.

In: a manifest. Out: `BridgedColumns`; rewritten files, and manifests that say up to which `_seq` columns are stored.
Invariant: answers do not change: until a manifest says that rows are materialized, readers compute the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.crash_points import crash_point
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.file_layouts import file_layout
from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.state_store import StateStore
from penstock.lake.maintenance.rewrite import ColumnValues, materialize_columns
from penstock.lake.read.bindings import accepted_conditions
from penstock.lake.read.history_slices import SliceLimits, next_slice
from penstock.lake.spark.errors import has_spark_ended, is_out_of_memory
from penstock.lake.tables.java_table import RewriteConflict
from penstock.model.manifest import Before, Binding, BoundColumn, Manifest
from penstock.model.manifest_updates import mark_materialized
from penstock.model.merge_rule import Aggregating, Summing
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type

_MATERIALIZATION = "materialization"
"""In the place of a flow, where the crashes of a table's materialization are counted."""
MOST_CRASHES = 4
"""After so many the smallest slices end Spark, too, and the table is tried once an hour."""


@dataclass(frozen=True, slots=True)
class BridgedColumns:
    """Columns of one table that readers compute for the rows with after < `_seq` <= upto."""

    table: str
    seen: str
    """Spark SQL condition for the rows that the version accepts."""
    columns: tuple[BoundColumn, ...]
    after: int
    upto: int


def materialize_slice(core: Core, manifest: Manifest, found: BridgedColumns, most: SliceLimits) -> None:
    """Write the values into the next slice of the rows, and record it in all running deployments. Does nothing if other
    maintenance rewrote these files meanwhile. May be run again after a crash anywhere in it: where Spark's process
    ended in a slice of the table, or had no memory for it, the next ones are smaller."""
    crashes, flow = core.store.crash_counts, (found.table, _MATERIALIZATION)
    try:
        _materialize(core, manifest, found, most.after_crashes(crashes.count(flow)))
    except Exception as error:
        if has_spark_ended(error) or is_out_of_memory(error):
            crashes.record_deaths([flow], MOST_CRASHES)
        raise
    crashes.record_success(flow)


def is_given_up(core: Core, table: str) -> bool:
    """Whether slices of a table, also the smallest ones, ended Spark's process, and lately."""
    crashes, flow = core.store.crash_counts, (table, _MATERIALIZATION)
    return crashes.count(flow) >= MOST_CRASHES and crashes.crashed_lately(flow)


def _materialize(core: Core, manifest: Manifest, found: BridgedColumns, most: SliceLimits) -> None:
    core.warehouse.recorded.verify([found.table])
    current = core.warehouse.registry.refresh(found.table).current
    if current is None:
        return _record_materialized(core.store, core.board, found, found.upto)
    with core.warehouse.registry.pinned(found.table, current.id):
        upto = _rewrite_slice(core, manifest, found, current.id, most)
    if upto is not None:
        crash_point("settle.committed")
        core.warehouse.registry.refresh(found.table)
        _record_materialized(core.store, core.board, found, upto)
    return None


def _rewrite_slice(
    core: Core, manifest: Manifest, found: BridgedColumns, snapshot: int, most: SliceLimits
) -> int | None:
    """Materialize the next slice. Returns up to which `_seq`; None if other maintenance came first."""
    piece = next_slice(core.warehouse.lake, found.table, snapshot, found.after, most)
    upto = found.upto if piece.last else min(piece.upto, found.upto)
    values = ColumnValues({each.physical: _stored_value(each, found.seen) for each in found.columns}, found.after, upto)
    table = manifest.table(found.table)
    try:
        layout = file_layout(table.sort if table is not None else (), _bindings_of(core.board, found.table))
        materialize_columns(core.warehouse.lake, found.table, values, layout)
    except RewriteConflict:
        return None  # a compaction came first: the next look takes its files
    return upto


def _bindings_of(board: DeploymentBoard, table: str) -> Iterator[Binding]:
    """The bindings of a table in all running versions: a file is laid out for all that read it."""
    for deployment in board.running.deployments:
        yield from deployment.manifest.bindings_of(table)


def _never(table: str) -> bool:
    return False


def bridged_columns(manifest: Manifest, leases: Callable[[str], bool] = _never) -> Iterator[BridgedColumns]:
    """The columns that are still computed when they are read, by table and range of `_seq`. Of a table that other
    Iceberg readers read (`leases`), also those that are only another column: they cannot be given them before."""
    for binding in manifest.bindings:
        by_place: dict[tuple[int, int], list[BoundColumn]] = {}
        computed = _varying_columns if leases(binding.table) else _computed_columns
        for column, before in computed(binding):
            if before.cut is not None and not before.is_settled:
                by_place.setdefault((before.settled, before.cut), []).append(column)
        for (after, upto), columns in sorted(by_place.items()):
            seen = " AND ".join(accepted_conditions(binding.accepts)) or "true"
            yield BridgedColumns(binding.table, seen, tuple(columns), after, upto)


def materialized_share(binding: Binding) -> float:
    """The share (0 to 1) of the rows up to the cutover offset in which every column of the binding is stored."""
    shares = (
        (before.settled + 1) / (before.cut + 1) for _, before in _computed_columns(binding) if before.cut is not None
    )
    return min(shares, default=1.0)


def _computed_columns(binding: Binding) -> Iterator[tuple[BoundColumn, Before]]:
    """The columns that readers compute, without those that are only a constant or another column: these are not worth
    rewriting files, unless rows of the table are merged, which they can be when all their columns are stored."""
    merges = isinstance(binding.merge, (Summing, Aggregating))
    for column in binding.columns:
        if column.before is not None and (merges or not expression_facts(column.before.expression).is_cheap):
            yield column, column.before


def _varying_columns(binding: Binding) -> Iterator[tuple[BoundColumn, Before]]:
    """The columns that have not the same value in all older rows."""
    for column in binding.columns:
        if column.before is not None and not expression_facts(column.before.expression).is_constant:
            yield column, column.before


def _stored_value(column: BoundColumn, seen: str) -> str:
    """Spark SQL of the stored value. Rows that the version does not accept may hold values that cannot be computed."""
    assert column.before is not None, "only columns with an expression are materialized"
    stored = f"CAST({column.before.value} AS {spark_type(column.type)})"
    return f"CASE WHEN {seen} THEN {stored} ELSE {quote_identifier(column.physical)} END"


def _record_materialized(store: StateStore, board: DeploymentBoard, found: BridgedColumns, upto: int) -> None:
    """Record in the manifests of all running deployments up to which `_seq` the columns are stored."""
    physical = [column.physical for column in found.columns]
    for deployment in store.deployments.running():
        store.deployments.revise(
            deployment.id, lambda manifest: mark_materialized(manifest, found.table, physical, upto)
        )
    board.refresh()
