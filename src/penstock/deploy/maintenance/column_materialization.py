"""Write the values of bridged columns into the files of live's tables, so that readers need not compute them any more.

In: the live manifest. Out: rewritten files, and manifests that say up to which `_seq` columns are stored. Invariant:
answers do not change: until a manifest says that rows are materialized, readers compute the same values.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from penstock.crash_points import crash_point
from penstock.deploy.maintenance.maintenance_share import MaintenanceShare, waiting_tables
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.file_layouts import file_layout
from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.state_store import StateStore
from penstock.lake.maintenance.rewrite import ColumnValues, materialize_columns
from penstock.lake.read.bindings import accepted_conditions
from penstock.lake.read.history_slices import SliceLimits, next_slice
from penstock.lake.tables.java_table import RewriteConflict
from penstock.model.manifest import Before, Binding, BoundColumn, Manifest
from penstock.model.manifest_updates import mark_materialized
from penstock.model.merge_rule import Aggregating, Summing
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type

PAUSE = 5.0
"""Seconds between two searches for columns to materialize."""
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class BridgedColumns:
    """Columns of one table that readers compute for the rows with after < `_seq` <= upto."""

    table: str
    seen: str
    """Spark SQL condition for the rows that the version accepts."""
    columns: tuple[BoundColumn, ...]
    after: int
    upto: int


class ColumnMaterializer:
    """A thread that materializes one slice at a time, and then rests as long as the slice took."""

    def __init__(self, core: Core, most: SliceLimits):
        self._core = core
        self._most = most
        self._share = MaintenanceShare(partial(_waiting_tables, core))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="materializer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        self._core.flows.stepper.join_pool("background")
        rest = PAUSE
        while not self._stop.wait(rest):
            started = time.monotonic()
            try:
                busy = materialize_next(self._core, self._most, self._share.allows)
            except Exception:  # tried again later; nothing depends on it
                log.exception("columns could not be materialized")
                busy = False
            self._share.ran(time.monotonic() - started)
            rest = max(time.monotonic() - started, 0.2) if busy else PAUSE


def materialize_next(core: Core, most: SliceLimits, may: Callable[[str], bool] = lambda table: True) -> bool:
    """Materialize one slice of one table of live on which work may begin. Returns whether there was one, also if other
    maintenance came first: somebody who compacts all the while would else come first each time."""
    live = core.board.live()
    if live is None:
        return False
    found = next((each for each in bridged_columns(live.manifest, core.board.readers.leases) if may(each.table)), None)
    if found is None:
        return False
    core.warehouse.recorded.verify([found.table])
    current = core.warehouse.registry.refresh(found.table).current
    if current is None:
        _record_materialized(core.store, core.board, found, found.upto)
        return True
    with core.warehouse.registry.pinned(found.table, current.id):
        upto = _materialize_slice(core, live.manifest, found, current.id, most)
    if upto is None:
        return True
    crash_point("settle.committed")
    core.warehouse.registry.refresh(found.table)
    _record_materialized(core.store, core.board, found, upto)
    return True


def _waiting_tables(core: Core) -> frozenset[str]:
    """The tables of live that give way: those whose rows wait, and all of them while a deployment fills its tables."""
    live = core.board.live()
    if live is not None and any(each.state == "backfilling" for each in core.board.running.deployments):
        return frozenset(table.id for table in live.manifest.tables)
    return waiting_tables(core)


def _materialize_slice(
    core: Core, manifest: Manifest, found: BridgedColumns, snapshot: int, most: SliceLimits
) -> int | None:
    """Materialize the next slice. Returns up to which `_seq`; None if other maintenance came first."""
    piece = next_slice(core.warehouse.lake, found.table, snapshot, found.after, most)
    upto = found.upto if piece.last else min(piece.upto, found.upto)
    values = ColumnValues({each.physical: _stored_value(each, found.seen) for each in found.columns}, found.after, upto)
    table = manifest.table(found.table)
    try:
        layout = file_layout(table.sort if table is not None else (), manifest.bindings_of(found.table))
        materialize_columns(core.warehouse.lake, found.table, values, layout)
    except RewriteConflict:
        return None  # a compaction came first: the next look takes its files
    return upto


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
    stored = f"CAST({column.before.expression} AS {spark_type(column.type)})"
    return f"CASE WHEN {seen} THEN {stored} ELSE {quote_identifier(column.physical)} END"


def _record_materialized(store: StateStore, board: DeploymentBoard, found: BridgedColumns, upto: int) -> None:
    """Record in the manifests of all running deployments up to which `_seq` the columns are stored."""
    physical = [column.physical for column in found.columns]
    for deployment in store.deployments.running():
        store.deployments.revise(
            deployment.id, lambda manifest: mark_materialized(manifest, found.table, physical, upto)
        )
    board.refresh()
