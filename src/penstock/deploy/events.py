"""What a deployment is doing, as a stream of small facts.

In: a deployment's id. Out: `Event`s until it comes to rest. Called by `pipeline` for the API's
server-sent events. Invariant: derived from records and tables each time, so any number of watchers
may come and go, also across a restart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.deploy.core import Core
from penstock.deploy.executor import unfinished
from penstock.flow.copy import is_complete
from penstock.flow.lag import behind
from penstock.model.cursor import Tail
from penstock.model.deployment import Deployment, State
from penstock.model.manifest import Copy, View

AT_REST: tuple[State, ...] = ("live", "previous", "retired", "failed", "discarded")
INTERVAL = 0.5


@dataclass(frozen=True, slots=True)
class Event:
    """`kind` is state or progress; `at` seconds since 1970."""

    kind: str
    at: float
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class Filling:
    """How far the history of one flow of a deployment is, in rows of its source."""

    table: str
    name: str
    flow: str
    rows: int
    of: int
    bytes: int
    done: bool


def events(core: Core, id: int) -> Iterator[Event]:
    """State changes and progress, until the deployment is at rest, or ready and to be promoted by
    hand."""
    shown: State | None = None
    rates: dict[str, tuple[float, int]] = {}
    while True:
        deployment = core.deployments.get(id)
        if (
            deployment.state in ("backfilling", "ready", "live") and deployment.state != shown
        ) or deployment.state == "backfilling":
            yield from _progress(core, deployment, rates)
        if deployment.state != shown:
            shown = deployment.state
            yield Event("state", time.time(), {"id": id, "state": shown, "error": deployment.error})
        if shown in AT_REST or (shown == "ready" and not unfinished(core, deployment)):
            return
        if core.scheduler.stopping:
            return
        time.sleep(INTERVAL)


def fillings(core: Core, deployment: Deployment) -> tuple[Filling, ...]:
    """The copies and the new views of a deployment."""
    names = {bound.table: bound.name for bound in deployment.manifest.bindings}
    old = _base_tables(core, deployment)
    found = []
    for flow in deployment.manifest.flows:
        if isinstance(flow, (Copy, View)) and flow.table not in old:
            source = flow.source.table if isinstance(flow, Copy) else flow.trigger.binding.table
            now = core.registry.snapshots(source)
            cursor = core.registry.cursor(flow.table, flow.id)
            done = (
                is_complete(cursor)
                if isinstance(flow, Copy)
                else _reached(cursor, now.current.id if now.current else None)
            )
            read = now.rows if done else min(core.stepper.rows_read(flow.table, flow.id), now.rows)
            size = now.bytes * read // now.rows if now.rows else 0
            found.append(Filling(flow.table, names.get(flow.table, flow.table), flow.id, read, now.rows, size, done))
    return tuple(found)


def _reached(cursor: object, newest: int | None) -> bool:
    return newest is None or (isinstance(cursor, Tail) and cursor.snapshot == newest)


def _base_tables(core: Core, deployment: Deployment) -> set[str]:
    if deployment.base is None:
        return set()
    return {table.id for table in core.deployments.get(deployment.base).manifest.tables}


def _progress(core: Core, deployment: Deployment, rates: dict[str, tuple[float, int]]) -> Iterator[Event]:
    now = time.time()
    for each in fillings(core, deployment):
        since, before = rates.setdefault(each.flow, (now, each.rows))
        rate = (each.rows - before) / (now - since) if now > since else 0.0
        data = {"table": each.table, "name": each.name, "flow": each.flow, "rows": each.rows, "of": each.of}
        yield Event("progress", now, {**data, "bytes": each.bytes, "rate": rate, "done": each.done})
    late = behind(core.registry, deployment.manifest, core.stepper.heads)
    yield Event("lag", now, {"behind": len(late)})
