"""Carry a planned deployment out, step by step, up to `ready`; go on after a restart.

In: a saved deployment and its journal. Out: tables, running flows, state moves. Called by
`deployer`. Invariant: every step can be run again, a step is journalled as intended before and as
done after it, so the journal alone tells where to go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from typing_extensions import assert_never

from penstock.crash_points import reached
from penstock.deploy.lifecycle.activation import start
from penstock.deploy.lifecycle.backfill import fill
from penstock.deploy.lifecycle.row_checks import check_rows
from penstock.deploy.lifecycle.states import UNFINISHED, only
from penstock.deploy.lifecycle.step_codec import PROMOTE, step_from_json
from penstock.deploy.runtime.core import Core
from penstock.errors import Failed, PenstockError, Problem, Unavailable
from penstock.flow.history_copy import is_copy_complete
from penstock.flow.lag import find_lags
from penstock.flow.work_items import PRIORITY
from penstock.lake.spark.errors import explain_error
from penstock.lake.tables import physical_tables
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor, TailCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import Field, Manifest, last_seq
from penstock.model.manifest_updates import set_cutover_offsets
from penstock.plan.steps import (
    Activate,
    AddFields,
    CatchUp,
    CheckRows,
    CreateTable,
    PlaceCursors,
    SetPartition,
    SetSort,
    Step,
    WidenField,
)  # fmt: skip
from penstock.state.journal import JournalEntry

PATIENCE = 600.0
"""Seconds that a promotion which was asked for with the deployment waits for it to catch up."""
ATTEMPTS = 3
"""A flow of its own that fails so often in a row fails a deployment that is not ready yet."""
log = logging.getLogger("penstock.deploy")


class ExecutionStopped(Exception):
    """The deployment was discarded, or the server stops, while it was carried out."""


def unfinished(core: Core, deployment: Deployment) -> bool:
    """Whether the journal has something left to do."""
    if deployment.state in UNFINISHED:
        return True
    return deployment.state == "ready" and not all(entry.done for entry in core.journal.entries(deployment.id))


def execute(core: Core, id: int, promote: Callable[[int], object]) -> None:
    """Run what the journal does not have as done: the steps up to `ready`, then the promotion, if
    one was asked for. A failing step makes the deployment `failed`. Raises Stopped, and Unavailable where
    the state store does not answer: then it can be called again."""
    try:
        _wait_while_paused(core, id)
        if core.deployments.get(id).state == "planned":
            core.deployments.move(id, "preparing", of=only("planned"))
        left = [entry for entry in core.journal.entries(id) if not entry.done]
        for entry in left:
            if entry.step != PROMOTE:
                _journalled(core, id, entry)
        if core.deployments.get(id).state == "backfilling":
            core.apart.end(id)
            core.deployments.move(id, "ready", of=only("backfilling"))
            core.assign()
        for entry in left:
            if entry.step == PROMOTE:
                _promote(core, id, entry, promote)
    except (ExecutionStopped, Unavailable):
        raise
    except Exception as error:
        if core.scheduler.stopping or core.deployments.get(id).state not in UNFINISHED:
            raise ExecutionStopped from error
        log.exception("deployment %d failed", id)
        _fail(core, id, error)


def _journalled(core: Core, id: int, entry: JournalEntry) -> None:
    _wait_while_paused(core, id)
    core.journal.mark(id, entry.ordinal, "intended")
    reached("step.intended")
    _run(core, id, step_from_json(entry.step))
    reached("step.ran")
    core.journal.mark(id, entry.ordinal, "done")
    reached("step.journalled")


def _wait_while_paused(core: Core, id: int) -> None:
    """Raises Stopped where the deployment is given up, or the server stops, meanwhile."""
    while (now := core.deployments.get(id)).paused:
        if now.state not in UNFINISHED or core.scheduler.stopping:
            raise ExecutionStopped
        core.scheduler.wait(lambda: not core.deployments.get(id).paused, timeout=1.0)


def _promote(core: Core, id: int, entry: JournalEntry, promote: Callable[[int], object]) -> None:
    """Once, whatever comes of it: a refused promotion is told and left to the user."""
    core.journal.mark(id, entry.ordinal, "intended")
    manifest, most = core.deployments.get(id).manifest, core.settings.deploy.max_lag_seconds
    # Rows came while histories were filled: let the flows catch up before it is refused for that.
    core.scheduler.wait(lambda: core.lag(manifest) <= most, PATIENCE)
    if core.deployments.get(id).state == "ready":
        try:
            promote(id)
        except PenstockError as error:
            if core.scheduler.stopping:
                raise ExecutionStopped from error
            core.deployments.move(id, "ready", of=only("ready"), error=error.as_json())
    core.journal.mark(id, entry.ordinal, "done")


def _fail(core: Core, id: int, error: Exception) -> None:
    shown = error if isinstance(error, PenstockError) else Failed(explain_error(error))
    core.deployments.move(id, "failed", of=UNFINISHED, error=shown.as_json())
    core.assign()


def _run(core: Core, id: int, step: Step) -> None:  # noqa: PLR0915 - one case a kind of step
    lake = core.lake
    match step:
        case CreateTable(table):
            physical_tables.create_table(lake, table)
            core.recorded.made(table.id)
        case AddFields(table, fields):
            with core.exclusive([table]):
                with core.recorded.changing(table, [field.name for field in fields]):
                    physical_tables.add_fields(lake, table, fields)
                _touch(core, table)
        case WidenField(table, field, to):
            with core.exclusive([table]):
                with core.recorded.changing(table, [field]):
                    physical_tables.widen_field(lake, table, Field(field, to))
                _touch(core, table)
        case SetSort(table, sort, _):
            with core.exclusive([table]):
                physical_tables.set_sort_order(lake, table, sort)
        case SetPartition(table, partition, _):
            with core.exclusive([table]):
                physical_tables.set_partition_key(lake, table, partition)
        case PlaceCursors(table):
            _place_cursors(core, id, table)
        case Activate():
            start(core, id, step)
        case CheckRows():
            check_rows(core, core.deployments.get(id), step)
        case CatchUp():
            _catch_up(core, id)
        case _:
            assert_never(step)


def _touch(core: Core, table: str) -> None:
    """Commit no row: time travel shows a snapshot's own columns, so new ones need a new snapshot."""
    core.registry.place(table, core.registry.refresh(table).progress)


def _place_cursors(core: Core, id: int, table: str) -> None:
    """`BACKFILL skip`: the views into a new table begin with what arrives from now on."""
    progress: dict[str, Progress] = {}
    for view in core.deployments.get(id).manifest.views:
        source = core.registry.snapshots(view.trigger.binding.table)
        if view.table == table:
            through = {stream: batch for at in source.progress.values() for stream, batch in at.through.items()}
            progress[view.id] = Progress(TailCursor(source.current.id if source.current else -1), through)
    if core.registry.refresh(table).current is None:
        core.registry.place(table, progress)


def _catch_up(core: Core, id: int) -> None:
    """Wait until every flow has what had arrived when the wait began; fail if one of the
    deployment's own flows keeps failing."""
    heads = core.arrivals.heads
    while True:
        deployment = core.deployments.get(id)
        if deployment.state != "backfilling":
            raise ExecutionStopped
        _raise_failure(core, deployment)
        fill(core, deployment, core.settings.backfill.own_process_bytes)
        if core.scheduler.wait(partial(_caught_up, core, deployment.manifest, heads), timeout=1.0):
            return _cut_quarantines(core, deployment)
        if core.scheduler.stopping:
            raise ExecutionStopped


def _cut_quarantines(core: Core, deployment: Deployment) -> None:
    """A copied table takes over at the batch that its copy ended with: what was rejected up to there
    was rejected by the version before."""
    cuts = {}
    for copy in deployment.manifest.copies:
        line = core.registry.snapshots(copy.table).line
        said = (each.progress for each in line if each.progress is not None)
        ended = next((progress for progress in said if _copied(progress.get(copy.id))), {})
        for landing in deployment.manifest.landings:
            at = ended.get(landing.id)
            if landing.table == copy.table and at is not None and isinstance(at.cursor, BatchCursor):
                cuts[f"{landing.stream}__quarantine"] = last_seq(at.cursor.number)
    if cuts:
        core.deployments.revise(deployment.id, lambda manifest: set_cutover_offsets(manifest, cuts))
        core.assign()


def _copied(at: Progress | None) -> bool:
    return at is not None and is_copy_complete(at.cursor)


def _caught_up(core: Core, manifest: Manifest, heads: Mapping[str, int]) -> bool:
    return not find_lags(core.registry, manifest, heads)


def _raise_failure(core: Core, deployment: Deployment) -> None:
    own = {work.key for work in core.scheduler.work if work.priority == PRIORITY["backfilling"]}
    for key, failure in core.scheduler.failures.items():
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
