"""What the commands of migrations print for people.

In: observations, steps and edits. Out: text on standard output. Invariant: texts of users are never read as markup.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import cast

from penstock.cli.errors import print_note
from penstock.cli.output import console, print_table
from penstock.postgres.application.migration_work import PhaseState
from penstock.postgres.application.project_translation import PhaseEdits
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.migration_text import migration_json
from penstock.postgres.migration.observed_command import ObservedCommand
from penstock.postgres.migration.operation import Phase
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
    operations = cast("list[dict[str, object]]", migration_json(migration)["operations"])
    return [(str(each.pop("phase")), str(each.pop("op")), _about(each)) for each in operations]


def _about(values: Mapping[str, object]) -> str:
    """The values of an operation in a line."""
    inner = values.get("column")
    if isinstance(inner, dict):
        null = "" if inner["nullable"] else " NOT NULL"
        return f"{inner['name']} {inner['type']}{null}, old rows: {_oldmigration_rows(inner['old_rows'])}"
    return ", ".join(f"{value}" if name == "column" else f"{name} {value}" for name, value in values.items())


def _oldmigration_rows(value: Mapping[str, object]) -> str:
    if "read" in value:
        return "read again"
    return "NULL" if value["value"] is None else repr(value["value"])


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
