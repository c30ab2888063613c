"""The events of a deployment: its state changes, the progress of its backfills, and its lag.

In: a deployment's id. Out: `DeploymentEvent`s until the deployment comes to rest. Invariant: derived from records and
tables each time, so any number of watchers may come and go, also across a restart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.deploy.lifecycle.executor import is_unfinished
from penstock.deploy.lifecycle.journal_steps import step_from_json
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.early_materialization import next_columns
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.flow.lag import find_lags
from penstock.lake.read.history_slices import FileExtent, extent_up_to, snapshot_extent
from penstock.model.cursor import HistoryCursor, TailCursor
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Copy, View
from penstock.plan.steps import MaterializeColumns

AT_REST: tuple[DeploymentState, ...] = ("live", "previous", "retired", "failed", "discarded")
INTERVAL = 0.5
SWITCH_INTERVAL = 0.01
"""How long to wait, in seconds, before looking again whether queries follow a switch that is in the state store."""
SWITCH_PATIENCE = 10.0
"""After so many seconds a switch is told all the same: the process that made it may be cut off from the state store."""


@dataclass(frozen=True, slots=True)
class DeploymentEvent:
    """One event, as `penstock deploy` shows it."""

    kind: str
    """`state`, `progress` or `lag`."""
    at: float
    """When it happened, in seconds since 1970."""
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class BackfillProgress:
    """The progress of one flow's history."""

    table: str
    name: str
    flow: str
    read: FileExtent
    """Rows and bytes of the source's files that were read."""
    all: FileExtent
    """Rows and bytes of all the source's files."""
    done: bool

    @property
    def data(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "table": self.table,
            "name": self.name,
            "flow": self.flow,
            "rows": self.read.rows,
            "of": self.all.rows,
            "bytes": self.read.bytes,
            "of_bytes": self.all.bytes,
            "done": self.done,
        }


def deployment_events(core: Core, id: int) -> Iterator[DeploymentEvent]:
    """State changes, progress and lag, until the deployment is at rest, or ready and waiting for a promotion by
    hand. That it is live is told once queries are answered by it."""
    shown: DeploymentState | None = None
    rates: dict[str, tuple[float, FileExtent]] = {}
    while (deployment := _settled_deployment(core, id)) is not None:
        if (
            deployment.state in ("backfilling", "ready", "live") and deployment.state != shown
        ) or deployment.state == "backfilling":
            yield from _progress_events(core, deployment, rates)
        if deployment.state != shown:
            shown = deployment.state
            yield DeploymentEvent("state", time.time(), {"id": id, "state": shown, "error": deployment.error})
        if shown in AT_REST or (shown == "ready" and not is_unfinished(core.store, deployment)):
            return
        if core.flows.scheduler.stopping:
            return
        time.sleep(INTERVAL)


def _settled_deployment(core: Core, id: int) -> Deployment | None:
    """The deployment, once queries follow its state: that it is live is in the state store a moment earlier. None if
    the server stops meanwhile."""
    patience: float | None = None
    while True:
        deployment = core.store.deployments.get(id)
        if deployment.state != "live" or _answers_queries(core, id):
            return deployment
        patience = patience or time.monotonic() + SWITCH_PATIENCE
        if time.monotonic() >= patience:
            return deployment
        if core.flows.scheduler.stopping:
            return None
        time.sleep(SWITCH_INTERVAL)


def _answers_queries(core: Core, id: int) -> bool:
    """Whether queries of the live version read this deployment."""
    live = core.board.live()
    return live is not None and live.id == id


def backfill_progress(store: StateStore, warehouse: Warehouse, deployment: Deployment) -> tuple[BackfillProgress, ...]:
    """The copies and the new views of a deployment."""
    old = _base_tables(store, deployment)
    return tuple(
        _flow_progress(warehouse, deployment, flow)
        for flow in deployment.manifest.flows
        if isinstance(flow, (Copy, View)) and flow.table not in old
    )


def _flow_progress(warehouse: Warehouse, deployment: Deployment, flow: Copy | View) -> BackfillProgress:
    """Read from the cursor in the table, so that a restart changes nothing."""
    source = flow.source.table if isinstance(flow, Copy) else flow.trigger.binding.table
    now, cursor = warehouse.registry.snapshots(source), warehouse.registry.cursor(flow.table, flow.id)
    read, every = FileExtent(0, 0), FileExtent(now.rows, now.bytes)
    if isinstance(cursor, HistoryCursor):
        read = extent_up_to(warehouse.lake, source, cursor.snapshot, cursor.seq)
        every = snapshot_extent(warehouse.lake, source, cursor.snapshot)
    elif isinstance(cursor, TailCursor):
        read = every
    name = deployment.manifest.name_of(flow.table)
    return BackfillProgress(flow.table, name, flow.id, read, every, isinstance(cursor, TailCursor))


def _base_tables(store: StateStore, deployment: Deployment) -> set[str]:
    if deployment.base is None:
        return set()
    return {table.id for table in store.deployments.get(deployment.base).manifest.tables}


def _materialization_progress(core: Core, deployment: Deployment) -> Iterator[BackfillProgress]:
    """The tables that get their bridged columns before the deployment is ready; read from the manifest, so that a
    restart changes nothing."""
    manifest = deployment.manifest
    for entry in core.store.journal.entries(deployment.id):
        step = step_from_json(entry.step)
        if not isinstance(step, MaterializeColumns) or (bound := manifest.binding(step.name)) is None:
            continue
        now, left = core.warehouse.registry.snapshots(bound.table), next_columns(manifest, step.name)
        read = every = FileExtent(now.rows, now.bytes)
        if left is not None and now.current is not None:
            read = extent_up_to(core.warehouse.lake, bound.table, now.current.id, left.after)
            every = extent_up_to(core.warehouse.lake, bound.table, now.current.id, left.upto)
        columns = ", ".join(step.columns)
        yield BackfillProgress(
            bound.table, f"{step.name} ({columns})", f"columns of {step.name}", read, every, left is None
        )


def _progress_events(
    core: Core, deployment: Deployment, before: dict[str, tuple[float, FileExtent]]
) -> Iterator[DeploymentEvent]:
    now = time.monotonic()
    filled = backfill_progress(core.store, core.warehouse, deployment)
    for each in (*filled, *_materialization_progress(core, deployment)):
        since, then = before.setdefault(each.flow, (now, each.read))
        seconds = now - since
        rate = (each.read.rows - then.rows) / seconds if seconds > 0 else 0.0
        eta = (each.all.rows - each.read.rows) / rate if rate > 0 else None
        pace = {"rate": rate, "bytes_rate": (each.read.bytes - then.bytes) / seconds if seconds > 0 else 0.0}
        data = {**each.data, **pace, "eta": eta, "waits": reason_for_waiting(core.flows, deployment)}
        yield DeploymentEvent("progress", time.time(), data)
    late = find_lags(core.warehouse.registry, deployment.manifest, core.flows.arrivals.heads)
    yield DeploymentEvent("lag", time.time(), {"behind": len(late), "seconds": core.flows.lag(deployment.manifest)})


def reason_for_waiting(flows: RunningFlows, deployment: Deployment) -> str | None:
    """Why the backfill of a deployment is slower than it could be, None if nothing holds it back."""
    if deployment.paused:
        return "paused"
    return "gives way: rows of live wait" if flows.stepper.gives_way_to_live else None
