"""A plan as text for people and as JSON for programs.

In: `Plan`. Out: text, or a dictionary in the shape of the HTTP contract of `POST /v1/deploy`. Invariant: both say the
same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from typing_extensions import assert_never

from penstock.model.manifest import Transform
from penstock.plan import steps as s
from penstock.plan.diff.changes import change_kind, change_text, changed_columns, join_words
from penstock.plan.diff.rollback import Rollback
from penstock.plan.plan import Plan, ResourcePlan, Size


def plan_to_json(plan: Plan) -> dict[str, object]:
    """The JSON of a plan, as `POST /v1/deploy` returns it."""
    return {
        "changes": [
            {
                "resource": change.resource,
                "kind": getattr(change, "kind", "datasource"),
                "change": change_kind(change),
                "columns": list(changed_columns(change)),
                "message": change_text(change),
            }
            for change in plan.changes
        ],
        "steps": [
            {"step": type(step).__name__, "table": step_table(step), "message": step_text(step)} for step in plan.steps
        ],
        "resources": [_resource_to_json(resource) for resource in plan.resources],
        "rows_moved": plan.rows_moved,
        "bytes_moved": plan.bytes_moved,
        "problems": [problem.as_json() for problem in plan.problems],
    }


def _resource_to_json(resource: ResourcePlan) -> dict[str, object]:
    return {
        "name": resource.name,
        "kind": resource.kind,
        "strategy": resource.strategy,
        "reason": resource.reason,
        **_moves_to_json(resource.moves),
        "unsettled": list(resource.unsettled),
        "rollback": _rollback_to_json(resource.rollback),
        "rejected": [
            {"strategy": each.strategy, **_moves_to_json(each.moves), "reason": each.reason}
            for each in resource.rejected
        ],
    }


def _rollback_to_json(kept: Rollback | None) -> dict[str, object] | None:
    return {"lossless": kept.lossless, "reason": kept.reason} if kept is not None else None


def _moves_to_json(moves: Size | None) -> dict[str, object]:
    if moves is None:
        return {"rows": None, "bytes": None, "files": None}
    return {"rows": moves.rows, "bytes": moves.bytes, "files": moves.files}


def explain(plan: Plan) -> str:
    """The plan as text: the changes, what happens to each resource and why, and the steps."""
    blocks = [
        _block("Changes", [f"{change.resource}: {change_text(change)}" for change in plan.changes] or ["none"]),
        _block("Resources", list(_resource_lines(plan.resources))),
        _block("Steps", [f"{number}. {step_text(step)}" for number, step in enumerate(plan.steps, 1)] or ["none"]),
        _block("Problems", [f"{problem.level}: {problem}" for problem in plan.problems]) if plan.problems else "",
        f"Moves {_rows_text(plan.moves)} rows, {_bytes_text(plan.moves)}.",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _block(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _resource_lines(resources: Sequence[ResourcePlan]) -> Iterator[str]:
    head = ("resource", "strategy", "rows", "size", "reason")
    body = (
        (each.name, each.strategy, _rows_text(each.moves), _bytes_text(each.moves), each.reason) for each in resources
    )
    table = [head, *body]
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    for row, resource in zip(table, [None, *resources], strict=True):
        name, strategy, rows, size, reason = row
        yield (
            f"{name:<{widths[0]}}  {strategy:<{widths[1]}}  {rows:>{widths[2]}}  {size:>{widths[3]}}  {reason}"
        ).rstrip()
        yield from _resource_notes(resource) if resource is not None else ()


def _resource_notes(resource: ResourcePlan) -> Iterator[str]:
    for each in resource.rejected:
        yield f"  not {each.strategy} ({_rows_text(each.moves)} rows): {each.reason}"
    if resource.unsettled:
        yield f"  unsettled: {join_words(f'`{column}`' for column in resource.unsettled)}"
    if resource.rollback is not None and not resource.rollback.lossless:
        yield f"  a rollback is not lossless: {resource.rollback.reason}"


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
        case s.Activate(clones):
            made = ", ".join(f"{each.table.id} of {each.of}" for each in clones)
            return f"clone {made}; start the flows" if made else "start the flows"
        case s.CheckRows(name, _, checks):
            columns = join_words(f"`{each.column}`" for each in checks)
            return f"check that {columns} can be computed for every row of {name}"
        case s.CatchUp():
            return "wait until every flow has caught up"
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


def _rows_text(moves: Size | None) -> str:
    return "?" if moves is None else f"{moves.rows:,}"


def _bytes_text(moves: Size | None) -> str:
    if moves is None:
        return "?"
    amount, unit = float(moves.bytes), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
