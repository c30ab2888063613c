"""A plan as JSON.

In: `Plan`. Out: a dictionary in the shape of the HTTP contract of `POST /v1/deploy`. Invariant: it has all that is
shown of a plan: the text that people read is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import assert_never

from penstock.errors import Location
from penstock.model.manifest import Transform
from penstock.plan import steps as s
from penstock.plan.diff.changes import Change, change_kind, change_text, changed_columns, join_words
from penstock.plan.diff.rollback import Rollback
from penstock.plan.plan import Materialization, Plan, ResourcePlan, Size


def plan_to_json(plan: Plan) -> dict[str, object]:
    """The JSON of a plan, as `POST /v1/deploy` returns it."""
    return {
        "changes": [_change_to_json(change, plan.places.get(change)) for change in plan.changes],
        "steps": [
            {"step": type(step).__name__, "table": step_table(step), "message": step_text(step)} for step in plan.steps
        ],
        "resources": [_resource_to_json(resource) for resource in plan.resources],
        "rows_moved": plan.rows_moved,
        "bytes_moved": plan.bytes_moved,
        "rows_lost": plan.rows_lost,
        "estimate": {"seconds": None, "basis": "without a server there are no rates to measure it by"},
        "problems": [problem.as_json() for problem in plan.problems],
    }


def _change_to_json(change: Change, place: Location | None) -> dict[str, object]:
    return {
        "resource": change.resource,
        "kind": getattr(change, "kind", "datasource"),
        "change": change_kind(change),
        "columns": list(changed_columns(change)),
        "message": change_text(change),
        "file": place.file if place is not None else None,
        "line": place.line if place is not None else None,
    }


def _resource_to_json(resource: ResourcePlan) -> dict[str, object]:
    return {
        "name": resource.name,
        "kind": resource.kind,
        "strategy": resource.strategy,
        "reason": resource.reason,
        **_moves_to_json(resource.moves),
        "rows_lost": resource.lost.rows if resource.lost is not None else None,
        "unsettled": list(resource.unsettled),
        **_materialization_to_json(resource.materialization),
        "rollback": _rollback_to_json(resource.rollback),
        "rejected": [
            {"strategy": each.strategy, **_moves_to_json(each.moves), "reason": each.reason}
            for each in resource.rejected
        ],
        "rules": [
            {"strategy": each.strategy, "rule": each.rule, "applies": each.applies, "says": each.says}
            for each in resource.rules
        ],
    }


def _materialization_to_json(planned: Materialization | None) -> dict[str, object]:
    """Only of data sources that have such columns."""
    if planned is None:
        return {}
    sizes = _moves_to_json(planned.rewrites)
    when = {"before_promotion": planned.before_promotion, "reason": planned.reason}
    return {"materialization": {"columns": list(planned.columns), **sizes, **when}}


def _rollback_to_json(kept: Rollback | None) -> dict[str, object] | None:
    return {"lossless": kept.lossless, "reason": kept.reason} if kept is not None else None


def _moves_to_json(moves: Size | None) -> dict[str, object]:
    if moves is None:
        return {"rows": None, "bytes": None, "files": None}
    return {"rows": moves.rows, "bytes": moves.bytes, "files": moves.files}


def step_table(step: s.Step) -> str | None:
    """The physical table that a step changes; None for a step that changes none."""
    match step:
        case s.CreateTable(table):
            return table.id
        case s.Activate() | s.CatchUp() | s.CheckRows():
            return None
        case _:
            return step.table


def step_text(step: s.Step) -> str:
    """What a step does, as text."""
    match step:
        case s.CreateTable(table):
            return f"create table {table.id} ({len(table.fields)} columns)"
        case s.AddFields() | s.WidenField() | s.SetSort() | s.SetPartition():
            return _metadata_step_text(step)
        case s.PlaceCursors(table):
            return f"start the views into {table} with rows that arrive from now on"
        case s.Activate(clones, _, claims):
            made = ", ".join(f"{each.table.id} of {each.of}" for each in clones)
            proved = join_words(f"`{each.name}` of {each.source}" for each in claims)
            looked = f"look again at what is stored in {proved}; " if proved else ""
            return f"{looked}clone {made}; start the flows" if made else f"{looked}start the flows"
        case s.CheckRows(name, _, checks):
            columns = join_words(f"`{each.column}`" for each in checks)
            return f"check that {columns} can be computed for every row of {name}"
        case s.CatchUp():
            return "wait until every flow has caught up"
        case s.MaterializeColumns(table, name, columns):
            written = join_words(f"`{each}`" for each in columns)
            return f"write the values of {written} of {name} into the files of {table}"
        case _:
            assert_never(step)


def _metadata_step_text(step: s.AddFields | s.WidenField | s.SetSort | s.SetPartition) -> str:
    match step:
        case s.AddFields(table, fields):
            return f"add to {table}: {', '.join(f'{field.name} {field.type}' for field in fields)}"
        case s.WidenField(table, field, to):
            return f"widen {table}.{field} to {to}"
        case s.SetSort(table, sort, _):
            return f"sort {table} by {_transforms_text(sort)}"
        case s.SetPartition(table, partition, _):
            return f"partition {table} by {_transforms_text(partition)}"
        case _:
            assert_never(step)


def _transforms_text(transforms: Sequence[Transform]) -> str:
    parts = (each.column if each.kind == "identity" else f"{each.kind}({each.column})" for each in transforms)
    return ", ".join(parts) or "nothing"
