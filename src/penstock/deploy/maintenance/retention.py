"""Which snapshots and raw batches the flows still need: running flows, and flows that may begin.

In: the deployments that have not ended, and the progress in the tables. Out: `RetainedData`. Invariant: in
doubt, data is kept. A flow whose starting point is not known yet, and a table that inherits its cursors from another
table, keep everything they might read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from typing_extensions import assert_never

from penstock.flow.table_registry import TableRegistry
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.lake.tables.snapshots import Progress, Snapshots
from penstock.model.cursor import BatchCursor, HistoryCursor, TailCursor
from penstock.model.deployment import ALL_STATES, Deployment, DeploymentState
from penstock.model.manifest import Copy, Flow, Landing, Manifest, View

ENDED: tuple[DeploymentState, ...] = ("failed", "retired", "discarded")
"""The states of a deployment whose flows will never run again."""
NOT_ENDED: tuple[DeploymentState, ...] = tuple(state for state in ALL_STATES if state not in ENDED)
"""The states of a deployment whose flows run, or may still run."""


@dataclass(frozen=True, slots=True)
class RetainedData:
    """The snapshots and raw batches that flows still need."""

    read_snapshots: dict[str, set[int]] = field(default_factory=dict)
    """By table, the snapshots up to which flows have read it: these and all later ones are needed."""
    progress_snapshots: dict[str, int] = field(default_factory=dict)
    """By table, the snapshot that is needed for the progress that it records; no flow reads its rows."""
    whole_tables: set[str] = field(default_factory=set)
    """Tables whose snapshots are all needed."""
    being_begun: set[str] = field(default_factory=set)
    """Tables that a flow may be reading now, in its first step, which names a snapshot that nothing records yet."""
    passed_batches: dict[str, int] = field(default_factory=dict)
    """By stream, the last raw batch that no flow needs any more; a stream without an entry has no such flow."""
    rebuildable_streams: set[str] = field(default_factory=set)
    """Streams that may be landed again from their first batch, since views write their tables too and such tables can
    be rebuilt."""

    def keep_from_snapshot(self, table: str, id: int) -> None:
        """Record that a snapshot of a table and all later ones are needed."""
        self.read_snapshots.setdefault(table, set()).add(id)

    def needed_snapshots(self, table: str) -> set[int]:
        """The snapshots of a table that are needed together with all later ones."""
        progress = {self.progress_snapshots[table]} if table in self.progress_snapshots else set()
        return self.read_snapshots.get(table, set()) | progress

    def keep_after_batch(self, stream: str, batch: int) -> None:
        """Record that the batches of a stream after this one are needed."""
        self.passed_batches[stream] = min(batch, self.passed_batches.get(stream, batch))


def find_retained_data(
    registry: TableRegistry, deployments: Iterable[Deployment], stepped: Collection[str] = ()
) -> RetainedData:
    """What the flows of all deployments that have not ended need. `stepped` are the tables into which steps ran just
    before this call: what a flow without a cursor begins with is known to its step only."""
    found = RetainedData()
    for deployment in deployments:
        if deployment.state not in ENDED:
            _add_manifest(registry, deployment.manifest, found, stepped)
    return found


def _add_manifest(registry: TableRegistry, manifest: Manifest, found: RetainedData, stepped: Collection[str]) -> None:
    fed = {view.table for view in manifest.views}
    for flow in manifest.flows:
        if isinstance(flow, Landing) and flow.table in fed:
            found.rebuildable_streams.add(flow.stream)
        try:
            _add_flow(registry, manifest, flow, found)
            if flow.table in stepped and registry.cursor(flow.table, flow.id) is None:
                found.being_begun.update(_sources_of_first_step(manifest, flow))
        except DamagedTable:
            _keep_all_it_reads(manifest, flow, found)


def _sources_of_first_step(manifest: Manifest, flow: Flow) -> set[str]:
    match flow:
        case View():
            return {flow.trigger.binding.table}
        case Copy():  # at its end the views into its table get the cursors of the old ones, which go on meanwhile
            views = (each for each in manifest.flows_into(flow.table) if isinstance(each, View))
            return {flow.source.table, *(each.trigger.binding.table for each in views)}
        case Landing():
            return set()
        case _:
            assert_never(flow)


def _add_flow(registry: TableRegistry, manifest: Manifest, flow: Flow, found: RetainedData) -> None:
    match flow:
        case View():
            _add_view(registry, flow, found)
        case Copy():
            _add_copy(registry, manifest, flow, found)
        case Landing():
            _add_landing(registry, flow, found)
        case _:
            assert_never(flow)


def _keep_all_it_reads(manifest: Manifest, flow: Flow, found: RetainedData) -> None:
    """What the flow of a damaged table needs once the table can be read again is not known."""
    match flow:
        case View():
            found.whole_tables.add(flow.trigger.binding.table)
        case Copy():
            found.whole_tables.add(flow.source.table)
            _add_everything(manifest, flow, found)
        case Landing():
            found.keep_after_batch(flow.stream, 0)
        case _:
            assert_never(flow)


def _add_view(registry: TableRegistry, view: View, found: RetainedData) -> None:
    source = view.trigger.binding.table
    match registry.cursor(view.table, view.id):
        case TailCursor(snapshot) | HistoryCursor(snapshot, _):
            found.keep_from_snapshot(source, snapshot)
        case None if view.starts in ("met", "resumed"):
            found.whole_tables.add(source)  # the snapshot of its barrier has to be found


def _add_copy(registry: TableRegistry, manifest: Manifest, copy: Copy, found: RetainedData) -> None:
    """What a copy that is not complete needs: at its end the new table's flows get the cursors that the old table's
    flows had at the snapshot that is copied."""
    cursor = registry.cursor(copy.table, copy.id)
    if not isinstance(cursor, HistoryCursor):
        return
    found.keep_from_snapshot(copy.source.table, cursor.snapshot)
    try:
        then = registry.snapshots(copy.source.table).at(cursor.snapshot)
    except KeyError:
        _add_everything(manifest, copy, found)
        return
    for old, new in copy.cursors:
        if old in then:
            _add_inherited(manifest, copy, new, then[old], found)


def _add_inherited(manifest: Manifest, copy: Copy, flow: str, at: Progress, found: RetainedData) -> None:
    for each in manifest.flows_into(copy.table):
        if each.id != flow:
            continue
        if isinstance(each, View) and isinstance(at.cursor, (TailCursor, HistoryCursor)):
            found.keep_from_snapshot(each.trigger.binding.table, at.cursor.snapshot)
        elif isinstance(each, Landing) and isinstance(at.cursor, BatchCursor):
            found.keep_after_batch(each.stream, at.cursor.number)


def _add_everything(manifest: Manifest, copy: Copy, found: RetainedData) -> None:
    for each in manifest.flows_into(copy.table):
        if isinstance(each, View):
            found.whole_tables.add(each.trigger.binding.table)
        elif isinstance(each, Landing):
            found.keep_after_batch(each.stream, 0)


def _add_landing(registry: TableRegistry, landing: Landing, found: RetainedData) -> None:
    """After a crash the batches of the last step are read again for the quarantine: those after the last batch of the
    step before it. Each step records it; for steps of an earlier release, the snapshot of that step does."""
    now = registry.snapshots(landing.table)
    latest = now.progress.get(landing.id)
    if latest is not None and latest.before is not None:
        found.keep_after_batch(landing.stream, latest.before)
        return
    at = _landed_snapshots(now, landing.id)
    if not at:
        found.keep_after_batch(landing.stream, 0)
        return
    last = at[-1][1]
    before = next(((id, number) for id, number in reversed(at) if number < last), None)
    if before is not None:
        found.progress_snapshots[landing.table] = before[0]
    found.keep_after_batch(landing.stream, before[1] if before is not None else 0)


def _landed_snapshots(now: Snapshots, flow: str) -> list[tuple[int, int]]:
    """The snapshots that record the progress of a landing, each with its batch number."""
    return [
        (snapshot.id, at.cursor.number)
        for snapshot in now.line
        if (at := (snapshot.progress or {}).get(flow)) is not None and isinstance(at.cursor, BatchCursor)
    ]
