"""The tables that maintenance works on, and how its work is written to the operations log.

In: the records of all deployments. Out: `MaintainedTable`s; operations. Invariant: only tables of deployments that have
not ended, and none that drifted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.deploy.maintenance.retention import NOT_ENDED
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.lake.drift.recorded_tables import DriftedTable
from penstock.lake.maintenance.rewrite import RewriteResult
from penstock.model.deployment import Deployment
from penstock.model.manifest import Binding, Table
from penstock.state.logs.operations import Operation


@dataclass(frozen=True, slots=True)
class MaintainedTable:
    """A table, and what all deployments that use it say about it."""

    table: Table
    """The table as the most urgent of its deployments declares it: live, then previous, then ready."""
    bindings: tuple[Binding, ...]
    """The bindings of the table in all deployments."""
    name: str
    """The name of the data source."""
    deployment: int
    """The id of the most urgent deployment."""
    is_quarantine: bool
    others: int = 0
    """How many deployments have the table without binding it."""


@dataclass(slots=True)
class MaintenanceCounts:
    """How often each kind of maintenance ran and failed since the server started, and what fails now."""

    done: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    failing: dict[tuple[str, str], str] = field(default_factory=dict)

    def forget_except(self, tables: frozenset[str]) -> None:
        """Forget what fails for tables that are gone: nothing would ever succeed for them."""
        self.failing = {key: why for key, why in self.failing.items() if not key[1] or key[1] in tables}

    def as_json(self) -> dict[str, object]:
        """As `status` shows them; `failing` are the tasks whose last run failed."""
        failing = [{"kind": kind, "table": table, "message": why} for (kind, table), why in self.failing.copy().items()]
        return {"done": self.done.copy(), "failed": self.failed.copy(), "failing": failing}


def maintained_tables(store: StateStore, warehouse: Warehouse) -> tuple[MaintainedTable, ...]:
    """The tables to maintain, each once, without those that drifted."""
    order = {"live": 0, "previous": 1, "ready": 2}
    kept = sorted(store.deployments.in_state(*NOT_ENDED), key=lambda each: order.get(each.state, 3))
    found: dict[str, MaintainedTable] = {}
    for deployment in kept:
        for table in deployment.manifest.tables:
            found[table.id] = _add_deployment(found.get(table.id), deployment, table)
    return tuple(each for each in found.values() if _is_sound(warehouse, each.table.id))


def _add_deployment(known: MaintainedTable | None, deployment: Deployment, table: Table) -> MaintainedTable:
    manifest = deployment.manifest
    bound, quarantines = manifest.bindings_of(table.id), manifest.quarantines_of(table.id)
    if known is None:
        name = next((each.name for each in (*bound, *quarantines)), table.id)
        known = MaintainedTable(table, (), name, deployment.id, bool(quarantines))
    lacks = 0 if bound or quarantines else 1
    return replace(known, bindings=(*known.bindings, *bound), others=known.others + lacks)


def _is_sound(warehouse: Warehouse, table: str) -> bool:
    try:
        warehouse.recorded.verify([table])
    except DriftedTable:
        return False
    return warehouse.registry.refresh(table).current is not None


@contextmanager
def log_operation(store: StateStore, kind: str, on: MaintainedTable) -> Iterator[list[RewriteResult]]:
    """Log the rewrites of the block as one operation; without rewrites, log only a failure. The block adds its results
    to the list."""
    done: list[RewriteResult] = []
    began = time.monotonic()
    try:
        yield done
    except Exception as error:
        store.operations.log(_operation(kind, on, began, done, f"{type(error).__name__}: {error}"[:2000]))
        raise
    if done:
        store.operations.log(_operation(kind, on, began, done, None))


def _operation(kind: str, on: MaintainedTable, began: float, done: list[RewriteResult], error: str | None) -> Operation:
    return Operation(
        event_type=kind,
        datasource_name=on.table.id,
        deployment_id=on.deployment,
        result="ok" if error is None else "error",
        elapsed_time=time.monotonic() - began,
        rows=sum(each.rows - each.rows_after for each in done),
        read_rows=sum(each.rows for each in done),
        read_bytes=sum(each.bytes for each in done),
        written_rows=sum(each.rows_after for each in done),
        written_bytes=sum(each.bytes_after for each in done),
        error=error,
    )
