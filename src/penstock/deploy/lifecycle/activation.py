"""Start the flows of a new deployment: clone tables, begin histories and set cutover offsets, all at the same
batch of every stream.

In: a prepared deployment and its `Activate` step. Out: tables at that batch, and the manifest with its cutover offsets.
Invariant: the change of the deployment's state is the last action; before it no flow of the deployment has run, so
after a crash everything is repeated from the start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from penstock.crash_points import crash_point
from penstock.deploy.lifecycle.promotion import SWITCH_SECONDS, describe_worst_lag
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.errors import Conflict
from penstock.flow.lag import FlowLag, find_lags
from penstock.flow.landing.quarantine_commits import is_view_flow
from penstock.flow.materialized_view import resume_view
from penstock.lake.read.bindings import rejected_rows
from penstock.lake.tables import physical_tables
from penstock.lake.tables.snapshot_tags import tag_snapshot
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor, Cursor, HistoryCursor, TailCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import Copy, Landing, Manifest, Meet, View, last_seq
from penstock.model.manifest_updates import set_cutover_offsets
from penstock.model.stored_values import StoredClaim
from penstock.plan.steps import Activate, Clone


def activate_deployment(core: Core, id: int, step: Activate) -> None:
    """Start the flows of a deployment. A cloned or shared table already has rows: its flows continue at the batch of
    each stream up to which it has them. Raises Conflict if live's tables cannot be brought to one place."""
    deployment = core.store.deployments.get(id)
    if deployment.state != "preparing":
        return  # a restart after the step ran, before the journal had it marked done
    manifest, clones = deployment.manifest, step.clones
    shared = _find_newly_shared(core.store, deployment)
    taken = {*shared, *step.begins, *(each.of for each in clones), *(each.table.id for each in clones)}
    taken |= {claim.table for claim in step.claims}
    continuing = _continuing_views(core.board, manifest, clones)
    continued = {view.trigger.binding.table for view in continuing}
    with _hold_landing(core, manifest, step, continued) as heads, core.flows.exclusive(taken | continued):
        for claim in step.claims:
            _refuse_unproved(core.warehouse, claim)
        for each in clones:
            _make_clone(core.warehouse, manifest, each)
            _refuse_posted_rows(core.warehouse, manifest, each)
            _refuse_rows_of_others(core, each)
            _refuse_hidden_rows(core, each)
        for view in continuing:
            _continue_view(core.warehouse, view)
        for table in step.begins:
            _begin_histories(core.warehouse, manifest, table)
            _refuse_posted_among_filtered(core, manifest, table)
        meets = (_set_barrier(manifest, each, heads) if each.table in step.begins else each for each in manifest.meets)
        manifest = replace(manifest, meets=tuple(meets))
        core.store.deployments.activate(
            id, _set_cutover_offsets(core.warehouse, manifest, [*shared, *(each.table.id for each in clones)])
        )
        crash_point("activate.bound")
        core.board.refresh()


@contextmanager
def _hold_landing(
    core: Core, manifest: Manifest, step: Activate, continued: Collection[str]
) -> Iterator[Mapping[str, int]]:
    """Bring the tables of live that the new flows continue from to the same batch of each stream, and hold landing
    there until the block ends; rows that are posted meanwhile are kept and acknowledged. `continued` are tables from
    whose present end views go on. Raises Conflict after SWITCH_SECONDS."""
    heads = core.flows.arrivals.heads
    bridged = any(_has_bridged_column(manifest, each.table.id) for each in step.clones)
    met = any(each.table in step.begins for each in manifest.meets)
    live = core.board.live()
    if live is None or not (bridged or met or continued):
        yield heads
        return
    base = live.manifest
    copied = {copy.source.table for copy in manifest.copies}
    needed = _upstream_tables(base, {*(each.of for each in step.clones), *continued, *copied})

    def late() -> list[FlowLag]:
        return [each for each in find_lags(core.warehouse.registry, base, heads) if each.table in needed]

    with core.flows.stepper.limit_batches(heads):
        if not core.flows.scheduler.wait(lambda: not late(), SWITCH_SECONDS):
            raise Conflict(
                f"the flows of the deployment could not start: {describe_worst_lag(late())}",
                hint="its tables start from live's position, and live lags (see `penstock status`); deploy again once"
                " live has caught up",
            )
        yield heads
    core.flows.scheduler.wake()


def _upstream_tables(manifest: Manifest, names: Collection[str]) -> set[str]:
    """The tables `names` and all tables that they derive from."""
    return {*names, *manifest.table_graph.upstream(*names)}


def _make_clone(warehouse: Warehouse, manifest: Manifest, clone: Clone) -> None:
    """Clone the table as it is now, replacing a clone that a crash may have left behind. The cursors of flows that the
    new version does not continue are removed."""
    physical_tables.drop_table(warehouse.lake, clone.table.id)
    physical_tables.clone_table(warehouse.lake, clone.of, clone.table.id)
    physical_tables.add_fields(warehouse.lake, clone.table.id, clone.table.fields)
    for field in clone.widened:
        physical_tables.widen_field(warehouse.lake, clone.table.id, field)
    physical_tables.set_sort_order(warehouse.lake, clone.table.id, clone.table.sort)
    physical_tables.set_partition_key(warehouse.lake, clone.table.id, clone.table.partition)
    warehouse.recorded.record_created(clone.table.id)
    warehouse.registry.forget(clone.table.id)
    own = {flow.id for flow in manifest.flows if flow.table == clone.table.id}
    renamed = dict(clone.cursors)
    known = {renamed.get(flow, flow): at for flow, at in warehouse.registry.refresh(clone.table.id).progress.items()}
    warehouse.registry.replace_progress(clone.table.id, {flow: at for flow, at in known.items() if flow in own})
    warehouse.registry.forget(clone.of)


def _refuse_unproved(warehouse: Warehouse, claim: StoredClaim) -> None:
    """Raises Conflict if Iceberg's statistics do not prove any more, of the rows that are stored now, what the plan
    relies on. Later rows are stored by the rules of the next version."""
    if not claim.is_proved_by(warehouse.stored_values(claim.table)):
        raise Conflict(
            f"rows of `{claim.source}` came or went after the deployment was planned: what was proved of the values of"
            f" `{claim.name}` is not known of every row any more",
            hint="deploy again: the plan is made anew",
        )


def _refuse_posted_rows(warehouse: Warehouse, manifest: Manifest, clone: Clone) -> None:
    """Raises Conflict if rows were posted to a table that, by the plan, only views had written to."""
    landings = (each for each in manifest.landings if clone.unposted and each.table == clone.table.id)
    if any(_last_landed_batch(warehouse, each) > 0 for each in landings):
        raise Conflict(
            f"rows were posted to the table `{clone.of}` after the deployment was planned: a new column has another"
            " value in them than in the rows of views",
            hint="deploy again: the plan is made anew",
        )


def _refuse_posted_among_filtered(core: Core, manifest: Manifest, table: str) -> None:
    """Raises Conflict if rows were posted to a table of which a part is copied that a condition of its view tells, at
    the snapshot that is copied: the view does not leave out posted rows. Later ones land in the new table too."""
    live = core.board.live()
    for copy in (flow for flow in manifest.flows_into(table) if isinstance(flow, Copy) and flow.where is not None):
        cursor, source = core.warehouse.registry.cursor(table, copy.id), copy.source.table
        if live is None or not isinstance(cursor, HistoryCursor):
            continue
        progress = core.warehouse.registry.snapshots(source).at(cursor.snapshot)
        known = [progress.get(flow.id) for flow in live.manifest.flows_into(source) if isinstance(flow, Landing)]
        if any(each is not None and _landed_batch(each.cursor) > 0 for each in known):
            raise Conflict(
                f"rows were posted to the table `{source}` after the deployment was planned: the new condition of its"
                " view does not leave them out",
                hint="deploy again: the plan is made anew",
            )


def _refuse_rows_of_others(core: Core, clone: Clone) -> None:
    """Raises Conflict if a table through which the plan has seen a view, or the cloned one, got a row otherwise than by
    its own views, or if these left one out."""
    live = core.board.live()
    if live is None:
        return
    for table in clone.views_only:
        for landing in (flow for flow in live.manifest.flows_into(table) if isinstance(flow, Landing)):
            left_out = core.warehouse.registry.refresh(f"{landing.stream}__quarantine").progress
            if _last_landed_batch(core.warehouse, landing) > 0 or any(map(is_view_flow, left_out)):
                raise Conflict(
                    f"the table `{table}` has other rows than its views give, so `{clone.table.id}` cannot begin as a"
                    f" clone of `{clone.of}`",
                    hint="with `recompute` for it in `[deploy.strategy]` it is made anew",
                )


def _refuse_hidden_rows(core: Core, clone: Clone) -> None:
    """Raises Conflict if the cloned table has a row that live does not see, and that would be seen in the clone."""
    live = core.board.live()
    bindings = live.manifest.bindings_of(clone.of) if live is not None and clone.unrejected else ()
    hidden = [rows for each in bindings if (rows := rejected_rows(each)) is not None]
    if any(not core.warehouse.lake.spark.sql(f"{rows} LIMIT 1").isEmpty() for rows in hidden):
        raise Conflict(
            f"the table `{clone.of}` has rows that its data source does not accept, which another version did:"
            f" `{clone.table.id}` cannot begin as a clone of it",
            hint="with `recompute` for it in `[deploy.strategy]` it is made anew",
        )


def _continuing_views(board: DeploymentBoard, manifest: Manifest, clones: Collection[Clone]) -> tuple[View, ...]:
    """The views into clones that go on from the present end of a table that live has, or of a clone of one. Those that
    go on from a new table do so from its barrier."""
    live, made = board.live(), {each.table.id for each in clones}
    if live is None:
        return ()
    known = {table.id for table in live.manifest.tables} | made
    views = (each for each in manifest.views if each.starts == "resumed" and each.table in made)
    return tuple(
        each
        for each in views
        if each.trigger.binding.table in known and manifest.meet(each.trigger.binding.table) is None
    )


def _continue_view(warehouse: Warehouse, view: View) -> None:
    """Let a view go on with the rows that its source gets from now on."""
    at = warehouse.registry.refresh(view.trigger.binding.table).current
    if at is not None:
        resume_view(warehouse.registry, view, at.id)
    else:
        warehouse.registry.add_progress(view.table, {view.id: Progress(TailCursor(-1))})


def _begin_histories(warehouse: Warehouse, manifest: Manifest, table: str) -> None:
    """Begin the histories of a new table with its sources as they are now. A source that is new itself begins at its
    own barrier, later."""
    meets = manifest.meet(table) is not None
    progress: dict[str, Progress] = {}
    for flow in manifest.flows_into(table):
        match flow:
            case Copy():
                at = warehouse.registry.refresh(flow.source.table).current
                if at is not None:
                    progress[flow.id] = Progress(_tag_snapshot(warehouse, flow, flow.source.table, at.id))
            case View() if meets and flow.starts == "beginning":
                progress[flow.id] = Progress(_first_cursor(warehouse, flow))
            case View() | Landing():
                pass
    if progress:
        warehouse.registry.replace_progress(table, progress)


def _first_cursor(warehouse: Warehouse, view: View) -> Cursor:
    source = view.trigger.binding.table
    at = warehouse.registry.refresh(source).current
    return _tag_snapshot(warehouse, view, source, at.id) if at is not None else TailCursor(-1)


def _tag_snapshot(warehouse: Warehouse, flow: Copy | View, source: str, snapshot: int) -> Cursor:
    """The cursor at the beginning of a history. A tag protects its snapshot until the history is complete."""
    tag_snapshot(warehouse.lake, source, snapshot, (flow.table, flow.id))
    return HistoryCursor(snapshot, -1)


def _set_barrier(manifest: Manifest, meet: Meet, heads: Mapping[str, int]) -> Meet:
    streams = (landing.stream for landing in manifest.landings if landing.table == meet.table)
    return replace(meet, stops=tuple((stream, heads.get(stream, 0)) for stream in streams))


def _set_cutover_offsets(warehouse: Warehouse, manifest: Manifest, shared: Collection[str]) -> Manifest:
    """The manifest with the cutover offsets of the tables that already had rows, and of their streams' quarantines."""
    cuts, rejected = {}, {}
    for landing in manifest.landings:
        if landing.table in shared:
            cut = last_seq(_last_landed_batch(warehouse, landing))
            cuts[landing.table] = (
                _last_seq_in_table(warehouse, landing.table) if _has_bridged_column(manifest, landing.table) else cut
            )
            rejected[f"{landing.stream}__quarantine"] = cut
    return set_cutover_offsets(manifest, cuts | rejected)


def _has_bridged_column(manifest: Manifest, table: str) -> bool:
    """Whether a column of the table is computed by another expression for the rows that exist already."""
    columns = (column for bound in manifest.bindings if bound.table == table for column in bound.columns)
    return any(column.before is not None and column.before.cut is None for column in columns)


def _last_seq_in_table(warehouse: Warehouse, table: str) -> int:
    """The highest `_seq` of the rows in a table, from the batches that its flows have read."""
    batches = [
        batch for at in warehouse.registry.snapshots(table).progress.values() for batch in at.watermarks.values()
    ]
    return last_seq(max(batches, default=0))


def _last_landed_batch(warehouse: Warehouse, landing: Landing) -> int:
    return _landed_batch(warehouse.registry.cursor(landing.table, landing.id))


def _landed_batch(cursor: Cursor | None) -> int:
    return cursor.number if isinstance(cursor, BatchCursor) else 0


def _find_newly_shared(store: StateStore, deployment: Deployment) -> list[str]:
    """Tables that other running deployments land rows in, and this one too, but with a landing version of its own."""
    known = {
        (landing.table, landing.version)
        for other in store.deployments.running()
        if other.id != deployment.id
        for landing in other.manifest.landings
    }
    landed = {table for table, _ in known}
    return [
        each.table
        for each in deployment.manifest.landings
        if each.table in landed and (each.table, each.version) not in known
    ]
