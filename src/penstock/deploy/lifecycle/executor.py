"""Carry a planned deployment out, step by step, up to `ready`; after a restart, continue where the journal says.

In: a saved deployment and its journal. Out: tables, running flows, changes of state. Invariant: every step can be run
again; it is marked intended before it runs and done after it, so the journal alone says where to continue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from typing_extensions import assert_never

from penstock.crash_points import crash_point
from penstock.deploy.lifecycle.activation import activate_deployment
from penstock.deploy.lifecycle.backfill import move_large_backfill
from penstock.deploy.lifecycle.forward_row_checks import check_rows, checked_expressions
from penstock.deploy.lifecycle.journal_steps import Promote, step_from_json
from penstock.deploy.lifecycle.states import UNFINISHED, only_state
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.early_materialization import materialize_table
from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.errors import Failed, PenstockError, Problem, Unavailable
from penstock.flow.history_copy import is_copy_complete
from penstock.flow.lag import FlowLag, blocked_tables, find_lags
from penstock.flow.telemetry.spans import span
from penstock.flow.work_items import PRIORITY
from penstock.lake.spark.errors import explain_error, is_catalog_away
from penstock.lake.tables import physical_tables
from penstock.lake.tables.new_tables import create_table
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor, TailCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import Field, Manifest, Table, last_seq
from penstock.model.manifest_updates import mark_checked, set_cutover_offsets
from penstock.plan.steps import (
    Activate,
    AddFields,
    CatchUp,
    CheckRows,
    CreateTable,
    MaterializeColumns,
    PlaceCursors,
    SetPartition,
    SetSort,
    Step,
    WidenField,
)

PATIENCE = 600.0
"""Seconds that a promotion requested with the deployment waits for the deployment to catch up."""
ATTEMPTS = 3
"""A deployment that is not ready yet has failed once a flow of its own failed this many times in a row."""
CREATED_AT_ONCE = 64
"""The most tables that are created, recorded and marked in the journal together."""
CREATING_THREADS = 4
log = logging.getLogger("penstock.deploy")


class ExecutionStopped(Exception):
    """The deployment was discarded, or the server is stopping, while its steps ran."""


def is_unfinished(store: StateStore, deployment: Deployment) -> bool:
    """Whether the journal of the deployment has a step left to run."""
    if deployment.state in UNFINISHED:
        return True
    return deployment.state == "ready" and not all(entry.done for entry in store.journal.entries(deployment.id))


def execute_steps(core: Core, id: int, promote: Callable[[int], object]) -> None:
    """Run what the journal does not mark as done: the steps up to `ready`, then the promotion if one was requested. A
    failing step makes the deployment `failed`. Raises ExecutionStopped, and Unavailable if the state store or the
    database of the catalog does not answer; then it can be called again."""
    try:
        _wait_while_paused(core.store, core.flows, id)
        if core.store.deployments.get(id).state == "planned":
            core.store.deployments.move(id, "preparing", of=only_state("planned"))
        left = [(each.ordinal, step_from_json(each.step)) for each in core.store.journal.entries(id) if not each.done]
        for group in group_steps((ordinal, step) for ordinal, step in left if not isinstance(step, Promote)):
            _run_journalled(core, id, group)
        if core.store.deployments.get(id).state == "backfilling":
            core.flows.worker.end(id)
            core.store.deployments.move(id, "ready", of=only_state("backfilling"))
            core.board.refresh()
        for ordinal, step in left:
            if isinstance(step, Promote):
                _promote(core, id, ordinal, promote)
    except (ExecutionStopped, Unavailable):
        raise
    except Exception as error:
        if core.flows.scheduler.stopping or core.store.deployments.get(id).state not in UNFINISHED:
            raise ExecutionStopped from error
        if is_catalog_away(error):
            raise Unavailable(f"the catalog does not answer: {explain_error(error)}") from error
        log.exception("deployment %d failed", id)
        _mark_failed(core.store, core.board, id, error)


def group_steps(steps: Iterable[tuple[int, Step]]) -> Iterator[Mapping[int, Step]]:
    """The steps in order, by ordinal: each by itself, but those that create tables and follow each other together, up
    to CREATED_AT_ONCE of them."""
    group: dict[int, Step] = {}
    for ordinal, step in steps:
        together = isinstance(step, CreateTable) and all(isinstance(each, CreateTable) for each in group.values())
        if group and (not together or len(group) >= CREATED_AT_ONCE):
            yield group
            group = {}
        group[ordinal] = step
    if group:
        yield group


def _run_journalled(core: Core, id: int, steps: Mapping[int, Step]) -> None:
    """Run steps that are marked together."""
    _wait_while_paused(core.store, core.flows, id)
    core.store.journal.mark_all(id, steps.keys(), "intended")
    crash_point("step.intended")
    first = next(iter(steps.items()))
    with span(f"deployment step {type(first[1]).__name__}", {"penstock.deployment": id, "penstock.step": first[0]}):
        _create_tables(core, [each.table for each in steps.values() if isinstance(each, CreateTable)])
        for step in steps.values():
            _run_step(core, id, step)
    crash_point("step.ran")
    core.store.journal.mark_all(id, steps.keys(), "done")
    crash_point("step.journalled")


def _create_tables(core: Core, tables: Sequence[Table]) -> None:
    """Create tables, several at a time: most of it is waiting for the disk and for the catalog. One of before that is
    being dropped just now is gone first."""
    if not tables:
        return
    ids, lake = [table.id for table in tables], core.warehouse.lake
    with core.flows.exclusive(ids), ThreadPoolExecutor(CREATING_THREADS, "creating tables") as pool:
        for made in [pool.submit(create_table, lake, table) for table in tables]:
            made.result()
        core.warehouse.recorded.record_created(*ids)


def _wait_while_paused(store: StateStore, flows: RunningFlows, id: int) -> None:
    """Raises ExecutionStopped if the deployment is discarded, or the server stops, meanwhile."""
    while (now := store.deployments.get(id)).paused:
        if now.state not in UNFINISHED or flows.scheduler.stopping:
            raise ExecutionStopped
        flows.scheduler.wait(lambda: not store.deployments.get(id).paused, timeout=1.0)


def _go_on(core: Core, id: int) -> Deployment:
    """The deployment as it is now, for a step that works in pieces. Raises ExecutionStopped if it has no next piece to
    do, because the deployment was discarded or has failed, or the server is stopping."""
    _wait_while_paused(core.store, core.flows, id)
    deployment = core.store.deployments.get(id)
    if deployment.state not in UNFINISHED or core.flows.scheduler.stopping:
        raise ExecutionStopped
    return deployment


def _promote(core: Core, id: int, ordinal: int, promote: Callable[[int], object]) -> None:
    """Try the promotion once; if it is refused, the deployment stays `ready` with the error, for the user to decide."""
    core.store.journal.mark(id, ordinal, "intended")
    # Rows arrived while histories were filled: let the flows catch up, else the promotion is refused for their lag.
    core.flows.scheduler.wait(partial(_is_worth_trying, core, core.store.deployments.get(id).manifest), PATIENCE)
    if core.store.deployments.get(id).state == "ready":
        try:
            promote(id)
        except PenstockError as error:
            if core.flows.scheduler.stopping:
                raise ExecutionStopped from error
            core.store.deployments.move(id, "ready", of=only_state("ready"), error=error.as_json())
    else:
        core.board.refresh()  # the try before made the switch, and was cut off before queries followed it
    core.store.journal.mark(id, ordinal, "done")


def _is_worth_trying(core: Core, manifest: Manifest) -> bool:
    """Whether the flows of a deployment lag so little that it may be promoted, and none of its own has failed so seldom
    that its next attempt will probably succeed: a promotion is refused while one fails."""
    own = {(flow.table, flow.id) for flow in manifest.flows} - _flows_of_live(core.board)
    attempted_again = own & (core.flows.failing(1) - core.flows.failing(ATTEMPTS))
    return not attempted_again and core.flows.lag(manifest) <= core.settings.deploy.max_lag_seconds


def _flows_of_live(board: DeploymentBoard) -> frozenset[tuple[str, str]]:
    """The flows, as (table, flow), that live runs: those that a deployment has in common with it are not its own."""
    live = board.live()
    return frozenset((flow.table, flow.id) for flow in live.manifest.flows) if live is not None else frozenset()


def _mark_failed(store: StateStore, board: DeploymentBoard, id: int, error: Exception) -> None:
    shown = error if isinstance(error, PenstockError) else Failed(explain_error(error))
    store.deployments.move(id, "failed", of=UNFINISHED, error=shown.as_json())
    board.refresh()


def _run_step(core: Core, id: int, step: Step) -> None:  # noqa: C901, PLR0915 - one case a kind of step
    lake = core.warehouse.lake
    match step:
        case CreateTable():
            pass  # `_create_tables` has made it, with the others of its group
        case AddFields(table, fields):
            with core.flows.exclusive([table]):
                with core.warehouse.recorded.changing(table, [field.name for field in fields]):
                    physical_tables.add_fields(lake, table, fields)
                _commit_empty_snapshot(core.warehouse, table)
        case WidenField(table, field, to):
            with core.flows.exclusive([table]):
                with core.warehouse.recorded.changing(table, [field]):
                    physical_tables.widen_field(lake, table, Field(field, to))
                _commit_empty_snapshot(core.warehouse, table)
        case SetSort(table, sort, _):
            with core.flows.exclusive([table]):
                physical_tables.set_sort_order(lake, table, sort)
        case SetPartition(table, partition, _):
            with core.flows.exclusive([table]):
                physical_tables.set_partition_key(lake, table, partition)
        case PlaceCursors(table):
            _place_cursors(core.store, core.warehouse, id, table)
        case Activate():
            activate_deployment(core, id, step)
        case CheckRows():
            check_rows(core.warehouse, core.store.deployments.get(id), step)
            _record_checked(core, id, step)
        case CatchUp():
            _catch_up(core, id)
        case MaterializeColumns():
            materialize_table(core, step, partial(_go_on, core, id))
        case _:
            assert_never(step)


def _commit_empty_snapshot(warehouse: Warehouse, table: str) -> None:
    """Commit no row: time travel shows a snapshot's own columns, so new ones need a new snapshot."""
    warehouse.registry.replace_progress(table, warehouse.registry.refresh(table).progress)


def _place_cursors(store: StateStore, warehouse: Warehouse, id: int, table: str) -> None:
    """For `BACKFILL skip`: the views into a new table begin with the rows that arrive from now on."""
    progress: dict[str, Progress] = {}
    for view in store.deployments.get(id).manifest.views:
        source = warehouse.registry.snapshots(view.trigger.binding.table)
        if view.table == table:
            through = {stream: batch for at in source.progress.values() for stream, batch in at.watermarks.items()}
            progress[view.id] = Progress(TailCursor(source.current.id if source.current else -1), through)
    if warehouse.registry.refresh(table).current is None:
        warehouse.registry.replace_progress(table, progress)


def _catch_up(core: Core, id: int) -> None:
    """Wait until every flow has processed what had arrived when the wait began; fail if one of the deployment's own
    flows keeps failing."""
    heads = core.flows.arrivals.heads
    while True:
        deployment = core.store.deployments.get(id)
        if deployment.state != "backfilling":
            raise ExecutionStopped
        _raise_failure(core.flows, deployment)
        move_large_backfill(core.warehouse, core.flows, deployment, core.settings.backfill.own_process_bytes)
        if core.flows.scheduler.wait(partial(_is_caught_up, core, deployment.manifest, heads), timeout=1.0):
            return _cut_quarantines(core, deployment)
        if core.flows.scheduler.stopping:
            raise ExecutionStopped


def _record_checked(core: Core, id: int, step: CheckRows) -> None:
    def revise(manifest: Manifest) -> Manifest:
        return mark_checked(manifest, step.name, checked_expressions(manifest, step))

    core.store.deployments.revise(id, revise)
    core.board.refresh()


def _cut_quarantines(core: Core, deployment: Deployment) -> None:
    """Set the cutover offset of the quarantines of copied tables: the batch at which the copy ended. Rows up to there
    were rejected by the base version, later ones by this version."""
    cuts = {}
    for copy in deployment.manifest.copies:
        line = core.warehouse.registry.snapshots(copy.table).line
        recorded = (each.progress for each in line if each.progress is not None)
        ended = next((progress for progress in recorded if _is_copied(progress.get(copy.id))), {})
        for landing in deployment.manifest.landings:
            at = ended.get(landing.id)
            if landing.table == copy.table and at is not None and isinstance(at.cursor, BatchCursor):
                cuts[f"{landing.stream}__quarantine"] = last_seq(at.cursor.number)
    if cuts:
        core.store.deployments.revise(deployment.id, lambda manifest: set_cutover_offsets(manifest, cuts))
        core.board.refresh()


def _is_copied(at: Progress | None) -> bool:
    return at is not None and is_copy_complete(at.cursor)


def _is_caught_up(core: Core, manifest: Manifest, heads: Mapping[str, int]) -> bool:
    """Whether every flow is done with its history and with the batches `heads`. Where a flow that live runs too keeps
    failing, nothing is waited for but the histories: the new version may be the one that corrects it."""
    late = find_lags(core.warehouse.registry, manifest, heads)
    if not late:
        return True
    shared = _flows_of_live(core.board)
    blocked = blocked_tables(manifest, core.flows.failing(ATTEMPTS) & shared)
    return all(
        each.table in blocked and ((each.table, each.flow) in shared or _has_history(core.warehouse, each))
        for each in late
    )


def _has_history(warehouse: Warehouse, late: FlowLag) -> bool:
    return isinstance(warehouse.registry.cursor(late.table, late.flow), TailCursor)


def _raise_failure(flows: RunningFlows, deployment: Deployment) -> None:
    own = {work.key for work in flows.scheduler.work if work.priority == PRIORITY["backfilling"]}
    for key, failure in flows.scheduler.failures.items():
        if key in own and failure.attempts >= ATTEMPTS:
            table, flow = key
            name = deployment.manifest.name_of(table)
            raise Failed(
                f"filling `{name}` failed: {failure.message}",
                [Problem("flow-failed", f"{flow} into `{name}`: {failure.message}", hint=_advice(failure.message))],
            )


def _advice(message: str) -> str | None:
    if "cast" in message.lower() or "malformed" in message.lower():
        return "values of the live table do not fit the new type; accurateCastOrDefault or toTypeOrZero keep such rows"
    return None
