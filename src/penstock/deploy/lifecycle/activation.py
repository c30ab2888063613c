"""The moment from which a deployment's flows run: clones are made, histories begin and cuts are set,
all at one place in every stream.

In: a prepared deployment and its clones. Out: tables at that place, the manifest with its cuts. Called
by `executor`. Invariant: it is one move of state at the end; before it nothing of the deployment has
run, so after a crash all is done again from the start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from penstock.crash_points import reached
from penstock.deploy.lifecycle.promotion import SWITCH_SECONDS, told_late
from penstock.deploy.runtime.core import Core
from penstock.errors import Conflict
from penstock.flow.lag import FlowLag, find_lags
from penstock.lake.tables import physical_tables
from penstock.lake.tables.snapshot_tags import tag_snapshot
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor, Cursor, HistoryCursor, TailCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import Copy, Landing, Manifest, Meet, View, last_seq
from penstock.model.manifest_updates import set_cutover_offsets
from penstock.plan.steps import Activate, Clone


def start(core: Core, id: int, step: Activate) -> None:
    """Start the flows of a deployment. Where a table comes with the rows of another one, the place in
    the streams up to which it has them is where the new version's flows go on."""
    deployment = core.deployments.get(id)
    if deployment.state != "preparing":
        return  # a restart after the step ran, before the journal had it as done
    manifest, clones = deployment.manifest, step.clones
    shared = _newly_shared(core, deployment)
    taken = {*shared, *step.begins, *(each.of for each in clones), *(each.table.id for each in clones)}
    with _drained(core, manifest, step) as heads, core.exclusive(taken):
        for each in clones:
            _clone(core, manifest, each)
        for table in step.begins:
            _begin(core, manifest, table)
        meets = (_stopped(manifest, each, heads) if each.table in step.begins else each for each in manifest.meets)
        manifest = replace(manifest, meets=tuple(meets))
        core.deployments.activate(id, _cut(core, manifest, [*shared, *(each.table.id for each in clones)]))
        reached("activate.bound")
        core.assign()


@contextmanager
def _drained(core: Core, manifest: Manifest, step: Activate) -> Iterator[Mapping[str, int]]:
    """If flows will go on where those of live are: live's tables all at the same batch of each stream,
    where landing waits until the block ends. What is posted meanwhile is kept and acknowledged."""
    heads = core.arrivals.heads
    bridged = any(_opens(manifest, each.table.id) for each in step.clones)
    met = any(each.table in step.begins for each in manifest.meets)
    live = core.live()
    if live is None or not (bridged or met):
        yield heads
        return
    base = live.manifest
    needed = _above(base, {each.of for each in step.clones} | {copy.source.table for copy in manifest.copies})

    def late() -> list[FlowLag]:
        return [each for each in find_lags(core.registry, base, heads) if each.table in needed]

    with core.stepper.held(heads):
        if not core.scheduler.wait(lambda: not late(), SWITCH_SECONDS):
            raise Conflict(
                f"the deployment could not begin: {told_late(late())}",
                hint="its tables go on where live's are; see `penstock status` and deploy again when it caught up",
            )
        yield heads
    core.scheduler.wake()


def _above(manifest: Manifest, names: Collection[str]) -> set[str]:
    """The tables and all that they derive from."""
    found = sorted(names)
    for table in found:  # grows while it is walked
        found += sorted({v.trigger.binding.table for v in manifest.views if v.table == table} - set(found))
    return set(found)


def _clone(core: Core, manifest: Manifest, clone: Clone) -> None:
    """A clone as of now; one that a crash left behind is of an earlier moment. The cursors of flows
    that do not go on in it are left out."""
    physical_tables.drop_table(core.lake, clone.table.id)
    physical_tables.clone_table(core.lake, clone.of, clone.table.id)
    physical_tables.add_fields(core.lake, clone.table.id, clone.table.fields)
    for field in clone.widened:
        physical_tables.widen_field(core.lake, clone.table.id, field)
    physical_tables.set_sort_order(core.lake, clone.table.id, clone.table.sort)
    physical_tables.set_partition_key(core.lake, clone.table.id, clone.table.partition)
    core.recorded.made(clone.table.id)
    core.registry.forget(clone.table.id)
    own = {flow.id for flow in manifest.flows if flow.table == clone.table.id}
    known = core.registry.refresh(clone.table.id).progress
    core.registry.place(clone.table.id, {flow: at for flow, at in known.items() if flow in own})
    core.registry.forget(clone.of)


def _begin(core: Core, manifest: Manifest, table: str) -> None:
    """The histories of a new table begin with its sources as they are now. A source that is new itself
    begins with its own meeting, later."""
    meets = manifest.meet(table) is not None
    progress: dict[str, Progress] = {}
    for flow in manifest.flows:
        if flow.table != table:
            continue
        match flow:
            case Copy():
                at = core.registry.refresh(flow.source.table).current
                if at is not None:
                    progress[flow.id] = Progress(_held(core, flow, flow.source.table, at.id))
            case View() if meets and flow.starts == "beginning":
                progress[flow.id] = Progress(_beginning(core, flow))
            case View() | Landing():
                pass
    if progress:
        core.registry.place(table, progress)


def _beginning(core: Core, view: View) -> Cursor:
    source = view.trigger.binding.table
    at = core.registry.refresh(source).current
    return _held(core, view, source, at.id) if at is not None else TailCursor(-1)


def _held(core: Core, flow: Copy | View, source: str, snapshot: int) -> Cursor:
    """The beginning of a history that is read from a snapshot, which stays until then."""
    tag_snapshot(core.lake, source, snapshot, (flow.table, flow.id))
    return HistoryCursor(snapshot, -1)


def _stopped(manifest: Manifest, meet: Meet, heads: Mapping[str, int]) -> Meet:
    streams = (landing.stream for landing in manifest.landings if landing.table == meet.table)
    return replace(meet, stops=tuple((stream, heads.get(stream, 0)) for stream in streams))


def _cut(core: Core, manifest: Manifest, shared: Collection[str]) -> Manifest:
    """The cuts of tables that had rows before; quarantines are cut where the landing of their stream
    is."""
    cuts, rejected = {}, {}
    for landing in manifest.landings:
        if landing.table in shared:
            cut = last_seq(_landed(core, landing))
            cuts[landing.table] = _last(core, landing.table) if _opens(manifest, landing.table) else cut
            rejected[f"{landing.stream}__quarantine"] = cut
    return set_cutover_offsets(manifest, cuts | rejected)


def _opens(manifest: Manifest, table: str) -> bool:
    """Whether a column of the table is another expression for the rows there are."""
    columns = (column for bound in manifest.bindings if bound.table == table for column in bound.columns)
    return any(column.before is not None and column.before.cut is None for column in columns)


def _last(core: Core, table: str) -> int:
    """The last `_seq` there is: of what is landed in the table, or of what its views have read."""
    batches = [batch for at in core.registry.snapshots(table).progress.values() for batch in at.through.values()]
    return last_seq(max(batches, default=0))


def _landed(core: Core, landing: Landing) -> int:
    cursor = core.registry.cursor(landing.table, landing.id)
    return cursor.number if isinstance(cursor, BatchCursor) else 0


def _newly_shared(core: Core, deployment: Deployment) -> list[str]:
    """Tables that exist, have landed rows and that the deployment lands in by a version of its own."""
    known = {
        (landing.table, landing.version)
        for other in core.deployments.running()
        if other.id != deployment.id
        for landing in other.manifest.landings
    }
    landed = {table for table, _ in known}
    return [
        each.table
        for each in deployment.manifest.landings
        if each.table in landed and (each.table, each.version) not in known
    ]
