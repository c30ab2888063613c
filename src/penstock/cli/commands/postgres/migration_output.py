"""What the commands of migrations print for people.

In: observations, steps and edits. Out: text on standard output. Invariant: texts of users are never read as markup.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence

from penstock.cli.errors import print_note
from penstock.cli.output import console, print_table
from penstock.postgres.application.migration_work import PhaseState
from penstock.postgres.application.project_translation import PhaseEdits
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.migration_text import type_text
from penstock.postgres.migration.observed_command import ObservedCommand
from penstock.postgres.migration.operation import (
    NAMES,
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    OldRows,
    OldRowsRead,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
    SetNotNull,
    SwapColumns,
)
from penstock.postgres.stores.store_rehearsal import StoreRehearsal, TableParity
from penstock.postgres.translation.store_step import StoreStep


def print_observation(done: ObservedCommand, files: Sequence[str]) -> None:
    for each in done.observation.notes:
        print_note(each)
    if not files and not done.observation.unclear:
        console().print("no replicated table was changed", markup=False)
    for name, migration in zip(files, done.observation.migrations, strict=True):
        console().print(f"{name}: {migration.table}", markup=False, soft_wrap=True)
        print_table(("phase", "operation", "about"), migration_rows(migration))


def migration_rows(migration: Migration) -> list[tuple[str, str, str]]:
    return [(each.phase.value, NAMES[type(each)], _about(each)) for each in migration.operations]


def _about(operation: Operation) -> str:
    """What an operation says, in a line."""
    match operation:
        case SwapColumns(name, other):
            return f"{name} and {other}"
        case RenameTable(to):
            return f"to {to}"
        case ChangeKey(key, replica):
            return f"{', '.join(key) or 'no key'}, replica identity {replica}"
        case DropColumn(name) | DropNotNull(name) | SetNotNull(name) | DropDefault(name):
            return name
        case _:
            return f"{operation.name}{_details(operation)}"


def _details(
    operation: AddColumn | ChangeType | RenameColumn | SetDefault | AddEnumValue | RenameEnumValue,
) -> str:
    """What an operation on one column says besides its name."""
    match operation:
        case AddColumn(_, of, nullable):
            null = "" if nullable else " NOT NULL"
            return f" {type_text(of)}{null}, old rows: {_old_rows(operation.old_rows)}"
        case ChangeType(_, of, narrowing):
            return f" {type_text(of)}{', which lacks values that there may be' if narrowing else ''}"
        case RenameColumn(_, to):
            return f" to {to}"
        case SetDefault(_, default):
            return f": {default}"
        case AddEnumValue(_, value, after):
            return f": {value!r} {f'behind {after!r}' if after is not None else 'as the first one'}"
        case RenameEnumValue(_, value, to):
            return f": {value!r} to {to!r}"


def _old_rows(old: OldRows) -> str:
    match old:
        case OldRowsRead():
            return "read again"
        case OldRowsValue(value):
            return "NULL" if value is None else repr(value)


def print_steps(id: str, phases: Mapping[Phase, Sequence[StoreStep]]) -> None:
    """The steps of a migration, each with its reason."""
    console().print(id, markup=False)
    for phase, steps in phases.items():
        console().print(f"  {phase.value}: {'nothing to do' if not steps else ''}", markup=False)
        for step in steps:
            when = " (after the delay)" if step.deletes else ""
            console().print(f"    {shown_text(step)}\n      -- {step.about}{when}", markup=False, soft_wrap=True)


def shown_text(step: StoreStep) -> str:
    """A step as people read it; the texts of whole files are left out."""
    if not step.text.startswith('{"name"'):
        return step.text
    document = json.loads(step.text)
    return f"deployment {document['name']}: {', '.join(sorted(document['files']))}"


def print_edits(id: str, edits: Sequence[PhaseEdits]) -> None:
    """The edits of a migration as differences of the files."""
    console().print(id, markup=False)
    for each in edits:
        console().print(f"  {each.phase.value}: {'nothing to do' if not each.after else ''}", markup=False)
        for path, text in each.after.items():
            before, after = (whole.splitlines() for whole in (each.before[path], text))
            for line in difflib.unified_diff(before, after, path, path, lineterm="", n=1):
                console().print(f"    {line}", markup=False, soft_wrap=True)


def print_states(states: Sequence[PhaseState], stages: Mapping[str, str] | None = None) -> None:
    """The phases, one a line; `stages` says of each migration whether Postgres has it."""
    if not states:
        return
    rows = []
    for each in states:
        told = each.waits_for or (f"deleted after {each.delete_at:%Y-%m-%d %H:%M} UTC" if each.delete_at else "")
        steps = f"{each.done} of {each.steps}" if each.steps else ""
        row = (each.migration, each.store, each.phase.value, each.state, steps, told)
        rows.append(row if stages is None else (*row, stages[each.migration]))
    titles = ("migration", "store", "phase", "state", "steps", "waits for")
    print_table(titles if stages is None else (*titles, "Postgres"), rows)


def print_rehearsals(rehearsals: Sequence[StoreRehearsal]) -> None:
    """What was done on the copies, and how these compare."""
    if not rehearsals:
        console().print("nothing is pending", markup=False)
    for each in rehearsals:
        console().print(each.store, markup=False)
        steps = [(step.migration, step.phase.value, f"{step.seconds:.1f} s", step.text) for step in each.steps]
        print_table(("migration", "phase", "time", "step"), steps)
        tables = [
            (table.table, table.rows_before, table.rows_after, _outcome(table), ", ".join(table.not_compared))
            for table in each.tables
        ]
        print_table(("table", "rows before", "rows after", "values", "not compared"), tables)


def _outcome(table: TableParity) -> str:
    if table.differing:
        return f"differ: {', '.join(table.differing)}"
    return "same" if table.is_same else "other rows"
