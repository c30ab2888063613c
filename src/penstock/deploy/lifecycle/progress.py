"""What a deployment is doing, as a stream of small facts.

In: a deployment's id. Out: `Event`s until it comes to rest. Called by `pipeline` for the API's
server-sent events. Invariant: derived from records and tables each time, so any number of watchers
may come and go, also across a restart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.deploy.lifecycle.executor import unfinished
from penstock.deploy.runtime.core import Core
from penstock.flow.lag import find_lags
from penstock.lake.read.history_slices import FileExtent, extent_up_to, snapshot_extent
from penstock.model.cursor import HistoryCursor, TailCursor
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Copy, View

AT_REST: tuple[DeploymentState, ...] = ("live", "previous", "retired", "failed", "discarded")
INTERVAL = 0.5


@dataclass(frozen=True, slots=True)
class DeploymentEvent:
    """`kind` is state or progress; `at` seconds since 1970."""

    kind: str
    at: float
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class FillProgress:
    """How far the history of one flow of a deployment is: rows and bytes of the files of its source that
    were read, and of all there are."""

    table: str
    name: str
    flow: str
    read: FileExtent
    all: FileExtent
    done: bool

    @property
    def data(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "table": self.table, "name": self.name, "flow": self.flow, "rows": self.read.rows, "of": self.all.rows,
            "bytes": self.read.bytes, "of_bytes": self.all.bytes, "done": self.done,
        }  # fmt: skip


def deployment_events(core: Core, id: int) -> Iterator[DeploymentEvent]:
    """State changes and progress, until the deployment is at rest, or ready and to be promoted by
    hand."""
    shown: DeploymentState | None = None
    rates: dict[str, tuple[float, FileExtent]] = {}
    while True:
        deployment = core.deployments.get(id)
        if (
            deployment.state in ("backfilling", "ready", "live") and deployment.state != shown
        ) or deployment.state == "backfilling":
            yield from _progress(core, deployment, rates)
        if deployment.state != shown:
            shown = deployment.state
            yield DeploymentEvent("state", time.time(), {"id": id, "state": shown, "error": deployment.error})
        if shown in AT_REST or (shown == "ready" and not unfinished(core, deployment)):
            return
        if core.scheduler.stopping:
            return
        time.sleep(INTERVAL)


def fillings(core: Core, deployment: Deployment) -> tuple[FillProgress, ...]:
    """The copies and the new views of a deployment."""
    old = _base_tables(core, deployment)
    return tuple(
        _filling(core, deployment, flow)
        for flow in deployment.manifest.flows
        if isinstance(flow, (Copy, View)) and flow.table not in old
    )


def _filling(core: Core, deployment: Deployment, flow: Copy | View) -> FillProgress:
    """As the cursor in the table says, so that a restart forgets nothing."""
    source = flow.source.table if isinstance(flow, Copy) else flow.trigger.binding.table
    now, cursor = core.registry.snapshots(source), core.registry.cursor(flow.table, flow.id)
    read, every = FileExtent(0, 0), FileExtent(now.rows, now.bytes)
    if isinstance(cursor, HistoryCursor):
        read = extent_up_to(core.lake, source, cursor.snapshot, cursor.seq)
        every = snapshot_extent(core.lake, source, cursor.snapshot)
    elif isinstance(cursor, TailCursor):
        read = every
    name = deployment.manifest.name_of(flow.table)
    return FillProgress(flow.table, name, flow.id, read, every, isinstance(cursor, TailCursor))


def _base_tables(core: Core, deployment: Deployment) -> set[str]:
    if deployment.base is None:
        return set()
    return {table.id for table in core.deployments.get(deployment.base).manifest.tables}


def _progress(
    core: Core, deployment: Deployment, before: dict[str, tuple[float, FileExtent]]
) -> Iterator[DeploymentEvent]:
    now = time.monotonic()
    for each in fillings(core, deployment):
        since, then = before.setdefault(each.flow, (now, each.read))
        seconds = now - since
        rate = (each.read.rows - then.rows) / seconds if seconds > 0 else 0.0
        eta = (each.all.rows - each.read.rows) / rate if rate > 0 else None
        pace = {"rate": rate, "bytes_rate": (each.read.bytes - then.bytes) / seconds if seconds > 0 else 0.0}
        data = {**each.data, **pace, "eta": eta, "waits": waits(core, deployment)}
        yield DeploymentEvent("progress", time.time(), data)
    late = find_lags(core.registry, deployment.manifest, core.arrivals.heads)
    yield DeploymentEvent("lag", time.time(), {"behind": len(late), "seconds": core.lag(deployment.manifest)})


def waits(core: Core, deployment: Deployment) -> str | None:
    """Why the histories of a deployment are not filled as fast as could be."""
    if deployment.paused:
        return "paused"
    return "gives way: rows of live wait" if core.stepper.yields else None
