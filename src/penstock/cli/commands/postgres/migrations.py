"""`penstock migrations`: schema changes of an application's Postgres, on their way to the stores.

In: files of migrations, the source and the stores. Out: tables of text, or JSON. Invariant: what a command does is
decided in `penstock.postgres`; this module reads options and prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Annotated, cast

import typer

from penstock.cli.commands.postgres.source_settings import DsnOption, source_settings
from penstock.cli.errors import FAILED, WrongUsage, print_note
from penstock.cli.output import console, print_json, print_table
from penstock.cli.session import Session, command
from penstock.errors import Failed, Problem, did_you_mean
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.migration_folder import read_folder, write_migrations
from penstock.postgres.migration.migration_text import migration_json
from penstock.postgres.migration.observed_command import ObservedCommand, observe_command
from penstock.postgres.migration.operation import CLASSES, OperationName, Phase

group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
SchemaOption = Annotated[list[str] | None, typer.Option("--schema", help="A schema whose tables are watched.")]


@group.command("observe")
@command
def observe(
    session: Session,
    arguments: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="What changes the schema.")],
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    phase: Annotated[
        list[str] | None, typer.Option("--phase", metavar="OPERATION=PHASE", help="Another phase than the rule's.")
    ] = None,
) -> None:
    """Run a command that changes a development database, and write what it changed as files."""
    source = source_settings(session)
    phases = _phases(phase or ())
    read_folder(source.migrations)
    schemas = schema or source.settings.postgres.schemas
    done = observe_command(source.dsn(dsn), schemas, arguments, phases, datetime.now(timezone.utc))
    files = write_migrations(source.migrations, done.observation.migrations)
    names = [each.relative_to(source.folder).as_posix() for each in files]
    problem = _problem_of(done)
    if session.as_json:
        print_json(
            {
                "files": names,
                "migrations": [migration_json(each) for each in done.observation.migrations],
                "notes": list(done.observation.notes),
                "unclear": list(done.observation.unclear),
                "exit_code": done.exit_code,
            }
        )
    else:
        _print_observation(done, names)
    if problem is not None and not session.as_json:
        raise problem
    if problem is not None:
        raise typer.Exit(FAILED)


def _phases(given: Sequence[str]) -> Mapping[OperationName, Phase]:
    found: dict[OperationName, Phase] = {}
    for each in given:
        name, _, phase = each.partition("=")
        if name not in CLASSES:
            raise WrongUsage(f"there is no operation `{name}`", hint=did_you_mean(name, CLASSES))
        if phase not in [known.value for known in Phase]:
            raise WrongUsage(f"--phase takes OPERATION=pre, at_lsn or post, not `{each}`")
        found[name] = Phase(phase)
    return found


def _problem_of(done: ObservedCommand) -> Failed | None:
    """Why the command ends with 1, if it does."""
    unclear = done.observation.unclear
    if unclear:
        why = "" if done.has_steps else "; a superuser would see the steps within the command"
        hint = f"run the steps one at a time, each under `penstock migrations observe`{why}"
        problems = [Problem("unclear-migration", each, hint=hint) for each in unclear]
        return Failed("the catalog does not say what was changed", problems)
    if done.exit_code:
        hint = "what it had changed by then is in the files"
        return Failed(f"the command ended with exit code {done.exit_code}", hint=hint)
    return None


def _print_observation(done: ObservedCommand, files: Sequence[str]) -> None:
    for each in done.observation.notes:
        print_note(each)
    if not files and not done.observation.unclear:
        console().print("no replicated table was changed", markup=False)
    for name, migration in zip(files, done.observation.migrations, strict=True):
        console().print(f"{name}: {migration.table}", markup=False, soft_wrap=True)
        print_table(("phase", "operation", "about"), _rows(migration))


def _rows(migration: Migration) -> list[tuple[str, str, str]]:
    operations = cast("list[dict[str, object]]", migration_json(migration)["operations"])
    return [(str(each.pop("phase")), str(each.pop("op")), _about(each)) for each in operations]


def _about(values: Mapping[str, object]) -> str:
    """The values of an operation in a line."""
    inner = values.get("column")
    if isinstance(inner, dict):
        null = "" if inner["nullable"] else " NOT NULL"
        return f"{inner['name']} {inner['type']}{null}, old rows: {_old_rows(inner['old_rows'])}"
    return ", ".join(f"{value}" if name == "column" else f"{name} {value}" for name, value in values.items())


def _old_rows(value: Mapping[str, object]) -> str:
    if "read" in value:
        return "read again"
    return "NULL" if value["value"] is None else repr(value["value"])
