"""Take back what a deployment did that is given up, step by step, by its journal.

In: a failed or discarded deployment. Out: the lake as if it had not been, but for what other deployments
share by now. Called by `deployer`, also after a restart. Invariant: steps are undone last first, each
inverse can be run again, and a step is marked undone only after its inverse; nothing that a deployment
names which is not over is dropped or changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from typing_extensions import assert_never

from penstock.crash_points import reached
from penstock.deploy.lifecycle.states import OVER
from penstock.deploy.lifecycle.step_codec import PROMOTE, step_from_json
from penstock.deploy.runtime.core import Core
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
    PlaceCursors,
    SetPartition,
    SetSort,
    Step,
    WidenField,
)  # fmt: skip
from penstock.state.journal import JournalEntry

INVERSES: Mapping[type[Step], str] = {
    CreateTable: "drop the table, unless another deployment shares it by now",
    AddFields: "drop the columns that no other deployment names",
    WidenField: "nothing: every value of the narrower type is one of the wider type, and Iceberg does not narrow",
    SetSort: "set the order from before, unless another deployment has set one since",
    SetPartition: "set the partition key from before, unless another deployment has set one since",
    PlaceCursors: "nothing: the cursors go with the table",
    Activate: "stop the deployment's flows, let go the snapshots its histories read, drop its clones",
    CheckRows: "nothing: it only looked",
    CatchUp: "nothing: it only waited",
}
"""By kind of step, what undoes it."""


def undone(core: Core, deployment: Deployment) -> bool:
    """Whether nothing is left to take back."""
    return not _left(core, deployment)


def undo(core: Core, deployment: Deployment) -> None:
    """Run the inverses of all steps that ran or may have run. The deployment's flows have stopped."""
    for entry in reversed(_left(core, deployment)):
        if entry.step != PROMOTE:
            _inverse(core, deployment, step_from_json(entry.step))
        reached("step.undone")
        core.journal.mark(deployment.id, entry.ordinal, "undone")


def _left(core: Core, deployment: Deployment) -> list[JournalEntry]:
    return [entry for entry in core.journal.entries(deployment.id) if entry.mark in ("intended", "done")]


def _inverse(core: Core, deployment: Deployment, step: Step) -> None:
    match step:
        case CreateTable(table):
            _drop(core, deployment, [table.id])
        case AddFields(table, fields):
            _drop_fields(core, deployment, table, [field.name for field in fields])
        case SetSort(table, _, before):
            if not _set_since(core, deployment, step):
                with core.exclusive([table]):
                    physical_tables.set_sort_order(core.lake, table, before)
        case SetPartition(table, _, before):
            if not _set_since(core, deployment, step):
                with core.exclusive([table]):
                    physical_tables.set_partition_key(core.lake, table, before)
        case Activate(clones, _):
            _release(core, deployment)
            _drop(core, deployment, [each.table.id for each in clones])
        case WidenField() | PlaceCursors() | CheckRows() | CatchUp():
            pass
        case _:
            assert_never(step)


def _others(core: Core, deployment: Deployment) -> list[Deployment]:
    return [each for each in core.deployments.list() if each.id != deployment.id and each.state not in OVER]


def _drop(core: Core, deployment: Deployment, names: Collection[str]) -> None:
    shared = {table.id for each in _others(core, deployment) for table in each.manifest.tables}
    for name in sorted(set(names) - shared):
        with core.exclusive([name]):
            if core.recorded.is_own(name):
                physical_tables.drop_table(core.lake, name)
            core.recorded.dropped(name)
            core.registry.forget(name)


def _drop_fields(core: Core, deployment: Deployment, table: str, names: Collection[str]) -> None:
    named = {
        field.name
        for each in _others(core, deployment)
        for other in each.manifest.tables
        for field in other.fields
        if other.id == table
    }
    with core.exclusive([table]), core.recorded.changing(table, names):
        for name in sorted(set(names) - named):
            physical_tables.drop_field(core.lake, table, name)


def _set_since(core: Core, deployment: Deployment, step: SetSort | SetPartition) -> bool:
    """Whether a later deployment that is not over has a step of this kind on this table."""
    later = [each for each in _others(core, deployment) if each.id > deployment.id]
    entries = (entry for each in later for entry in core.journal.entries(each.id))
    made = (step_from_json(entry.step) for entry in entries if entry.done and entry.step != PROMOTE)
    return any(type(each) is type(step) and each.table == step.table for each in made)


def _release(core: Core, deployment: Deployment) -> None:
    """The snapshots that were held for the histories of its flows."""
    for flow in deployment.manifest.flows:
        if isinstance(flow, (Copy, View)):
            source = flow.source.table if isinstance(flow, Copy) else flow.trigger.binding.table
            release_tag(core.lake, source, (flow.table, flow.id))
