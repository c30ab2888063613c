"""Undo what a failed or discarded deployment did, step by step, by its journal.

In: the deployment. Out: the lake as it was before the deployment, except what other deployments use by now. Invariant:
steps are undone in reverse order; each inverse can be run again, and a step is marked undone only after its inverse;
nothing is dropped or changed that a deployment names which has not ended.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from typing_extensions import assert_never

from penstock.crash_points import crash_point
from penstock.deploy.lifecycle.journal_steps import JournalStep, Promote, step_from_json
from penstock.deploy.lifecycle.states import NOT_OVER
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.lake.tables import physical_tables
from penstock.lake.tables.snapshot_tags import release_tag
from penstock.model.deployment import Deployment
from penstock.model.manifest import Copy, View
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
from penstock.state.journal import JournalEntry

log = logging.getLogger("penstock.deploy")
INVERSES: Mapping[type[Step], str] = {
    CreateTable: "drop the table, unless another deployment shares it by now",
    AddFields: "drop the columns that no other deployment names",
    WidenField: "nothing: every value of the narrower type is one of the wider type, and Iceberg does not narrow",
    SetSort: "set the previous sort order, unless another deployment has set one since",
    SetPartition: "set the previous partition key, unless another deployment has set one since",
    PlaceCursors: "nothing: the cursors go with the table",
    Activate: "stop the deployment's flows, release the snapshots that its histories read, drop its clones",
    CheckRows: "nothing: it only read",
    CatchUp: "nothing: it only waited",
    MaterializeColumns: "nothing: the columns go with the step that added them, or with their clone",
}
"""What undoes each kind of step."""


def is_undone(store: StateStore, deployment: Deployment) -> bool:
    """Whether no step of the deployment is left to undo."""
    return not _entries_to_undo(store, deployment)


def undo_steps(core: Core, deployment: Deployment) -> None:
    """Run the inverses of all steps that ran or may have run, last one first. The deployment's flows have stopped."""
    for entry in reversed(_entries_to_undo(core.store, deployment)):
        _run_inverse(core, deployment, step_from_json(entry.step))
        crash_point("step.undone")
        core.store.journal.mark(deployment.id, entry.ordinal, "undone")


def _entries_to_undo(store: StateStore, deployment: Deployment) -> list[JournalEntry]:
    return [entry for entry in store.journal.entries(deployment.id) if entry.mark in ("intended", "done")]


def _run_inverse(core: Core, deployment: Deployment, step: JournalStep) -> None:
    match step:
        case CreateTable(table):
            _drop_tables(core, deployment, [table.id])
        case AddFields(table, fields):
            _drop_fields(core, deployment, table, [field.name for field in fields])
        case SetSort(table, _, before):
            if not _was_set_later(core.store, deployment, step):
                with core.flows.exclusive([table]):
                    physical_tables.set_sort_order(core.warehouse.lake, table, before)
        case SetPartition(table, _, before):
            if not _was_set_later(core.store, deployment, step):
                with core.flows.exclusive([table]):
                    physical_tables.set_partition_key(core.warehouse.lake, table, before)
        case Activate(clones, _):
            _release_snapshots(core.warehouse, deployment)
            _drop_tables(core, deployment, [each.table.id for each in clones])
        case WidenField() | PlaceCursors() | CheckRows() | CatchUp() | MaterializeColumns() | Promote():
            pass
        case _:
            assert_never(step)


def _other_deployments(store: StateStore, deployment: Deployment) -> list[Deployment]:
    return [each for each in store.deployments.in_state(*NOT_OVER) if each.id != deployment.id]


def _drop_tables(core: Core, deployment: Deployment, names: Collection[str]) -> None:
    newest = core.store.deployments.newest()
    shared = {table.id for each in _other_deployments(core.store, deployment) for table in each.manifest.tables}
    # Those that other readers may use are dropped later, as those of retired deployments are.
    for name in sorted(each for each in set(names) - shared if not core.board.readers.may_lease(each)):
        drop_table(core, name, newest)


def drop_table(core: Core, table: str, newest: int) -> None:
    """Drop a table that no deployment up to `newest` needs, unless a later one names it: a data source that is
    deployed again has the quarantine of before. That one creates what is gone once this is over."""
    with core.flows.exclusive([table]):
        if core.store.deployments.newest() > newest and table in _tables_named_since(core.store, newest):
            return
        log.info("dropping table %s", table)
        if core.warehouse.recorded.is_own(table):
            physical_tables.drop_table(core.warehouse.lake, table)
        core.warehouse.recorded.record_dropped(table)
        core.warehouse.registry.forget(table)


def _tables_named_since(store: StateStore, newest: int) -> set[str]:
    later = (each for each in store.deployments.in_state(*NOT_OVER) if each.id > newest)
    return {table.id for each in later for table in each.manifest.tables}


def _drop_fields(core: Core, deployment: Deployment, table: str, names: Collection[str]) -> None:
    named = {
        field.name
        for each in _other_deployments(core.store, deployment)
        for other in each.manifest.tables
        for field in other.fields
        if other.id == table
    }
    with core.flows.exclusive([table]), core.warehouse.recorded.changing(table, names):
        for name in sorted(set(names) - named):
            physical_tables.drop_field(core.warehouse.lake, table, name)


def _was_set_later(store: StateStore, deployment: Deployment, step: SetSort | SetPartition) -> bool:
    """Whether a later deployment that has not ended has done a step of this kind on this table."""
    later = [each for each in _other_deployments(store, deployment) if each.id > deployment.id]
    entries = (entry for each in later for entry in store.journal.entries(each.id))
    made = (step_from_json(entry.step) for entry in entries if entry.done)
    return any(isinstance(each, type(step)) and each.table == step.table for each in made)


def _release_snapshots(warehouse: Warehouse, deployment: Deployment) -> None:
    """Release the snapshots that were tagged for the histories of its flows."""
    for flow in deployment.manifest.flows:
        if isinstance(flow, (Copy, View)):
            source = flow.source.table if isinstance(flow, Copy) else flow.trigger.binding.table
            release_tag(warehouse.lake, source, (flow.table, flow.id))
