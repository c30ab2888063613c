"""`penstock migrations`: schema changes of an application's Postgres, on their way to the stores.

In: files of migrations, the source and the stores. Out: tables of text, or JSON. Invariant: what a command does is
decided in `penstock.postgres`; this module reads options and prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Annotated, TypeAlias

import typer

from penstock.api.source_edits.file_changes import finish_files, write_files
from penstock.api.source_edits.project_edits import edited_project
from penstock.cli.commands.postgres import applied_migrations
from penstock.cli.commands.postgres.migration_output import print_edits, print_observation, print_steps
from penstock.cli.commands.postgres.source_settings import DsnOption, SourceSettings, source_settings
from penstock.cli.errors import FAILED, WrongUsage, print_note
from penstock.cli.output import console, format_number, print_json
from penstock.cli.session import Session, command
from penstock.errors import Failed, NotFound, Problem, did_you_mean
from penstock.model.settings import StoreSettings
from penstock.postgres.application.project_translation import PhaseEdits, translate_phase
from penstock.postgres.application.view_choices import StoreViews
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.migration_folder import read_folder, write_migrations
from penstock.postgres.migration.migration_text import migration_json
from penstock.postgres.migration.observed_command import ObservedCommand, observe_command
from penstock.postgres.migration.observed_migrations import ObservationRules
from penstock.postgres.migration.operation import CLASSES, OperationName, Phase
from penstock.postgres.stores.migration_store import MigrationStore, PlannedStore
from penstock.postgres.stores.store_rehearsal import RehearsedPhase
from penstock.postgres.translation.refusal import CannotTranslate
from penstock.postgres.translation.store_step import StoreStep

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
    history = read_folder(source.migrations)
    rules = ObservationRules(_time_of_new_ids(history), _phases(phase or ()), history)
    schemas = schema or source.settings.postgres.schemas
    done = observe_command(source.dsn(dsn), schemas, arguments, rules)
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
        print_observation(done, names)
    if problem is not None and not session.as_json:
        raise problem
    if problem is not None:
        raise typer.Exit(FAILED)


def _time_of_new_ids(history: MigrationHistory) -> datetime:
    """Now, or the second after the last id: ids are in order, whatever clocks say."""
    now = datetime.now(timezone.utc)
    last = history.migrations[-1].id[:14] if history.migrations else ""
    if not (last.isascii() and last.isdigit() and len(last) == 14):
        return now
    try:
        return max(now, datetime.strptime(f"{last}+0000", "%Y%m%d%H%M%S%z") + timedelta(seconds=1))
    except ValueError:  # digits that are no time
        return now


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


PhaseSteps: TypeAlias = "tuple[RehearsedPhase, tuple[StoreStep, ...]]"


class TargetType(str, Enum):
    """The kinds of stores."""

    penstock = "penstock"
    clickhouse = "clickhouse"
    iceberg = "iceberg"


IdArgument = Annotated[list[str] | None, typer.Argument(metavar="[ID]…", help="Migrations; without one, the last one.")]
ViewOption = Annotated[
    list[str] | None, typer.Option("--view", help="A view that new and dropped columns follow into its target.")
]


@group.command("translate")
@command
def translate(
    session: Session,
    ids: IdArgument = None,
    to: Annotated[TargetType, typer.Option("--to", help="The kind of store.")] = TargetType.penstock,
    store: Annotated[str | None, typer.Option("--store", help="The store, if there are several of the kind.")] = None,
    phase: Annotated[Phase | None, typer.Option("--phase", help="Only this phase.")] = None,
    view: ViewOption = None,
    write: Annotated[bool, typer.Option("--write", help="penstock: write the edited datafiles and Python.")] = False,
) -> None:
    """Show what migrations are in a store: statements, steps, or edits of datafiles."""
    source = source_settings(session)
    name = _store_of_type(source, to, store)
    migrations = _chosen(read_folder(source.migrations).migrations, ids)
    if to is TargetType.penstock:
        _translate_project(session, source, migrations, ProjectTarget(name, phase, tuple(view or ()), write))
        return
    if write:
        raise WrongUsage("--write is for datafiles: `penstock migrations apply` changes other stores")
    opened = source.opener(tuple(view or ())).open(name)
    steps = _steps(opened, migrations, phase)
    found = {each.id: {of.phase: made for of, made in steps if of.migration is each} for each in migrations}
    if session.as_json:
        print_json(
            {
                "store": name,
                "type": to.value,
                "migrations": [
                    {
                        "id": id,
                        "phases": [
                            {"phase": phase.value, "steps": [each.as_json() for each in steps]}
                            for phase, steps in phases.items()
                        ],
                    }
                    for id, phases in found.items()
                ],
            }
        )
        return
    for id, phases in found.items():
        print_steps(id, phases)


@dataclass(frozen=True, slots=True)
class ProjectTarget:
    """What is asked of a translation to datafiles."""

    store: str
    phase: Phase | None
    views: tuple[str, ...]
    write: bool


def _translate_project(
    session: Session, source: SourceSettings, migrations: Sequence[Migration], target: ProjectTarget
) -> None:
    finished = finish_files(source.folder)
    if finished:
        print_note(f"edits that were not finished are now: {', '.join(finished)}")
    project = edited_project(source.folder)
    settings = source.settings.stores.get(target.store, StoreSettings("penstock"))
    views = StoreViews(source.migrations, target.store, target.views)
    found: dict[str, list[PhaseEdits]] = {}
    for migration in migrations:
        found[migration.id] = []
        for phase in migration.phases():
            if target.phase in (None, phase):
                made = translate_phase(project, migration, phase, settings, views)
                found[migration.id].append(made)
                project = made.project
    changed = project.contents
    if target.write:
        write_files(source.folder, changed)
    if session.as_json:
        phases = {
            id: [{"phase": each.phase.value, "files": each.after} for each in edits] for id, edits in found.items()
        }
        documents = [{"id": id, "phases": each} for id, each in phases.items()]
        print_json({"store": target.store, "type": "penstock", "migrations": documents, "written": target.write})
        return
    for id, edits in found.items():
        print_edits(id, edits)
    done = "written" if target.write else "would change (--write writes them)"
    console().print(f"{format_number(len(changed), 'file', 'files')} {done}", markup=False)


def _store_of_type(source: SourceSettings, to: TargetType, name: str | None) -> str:
    """The store that is meant. Raises WrongUsage if that is not clear."""
    known = [each for each, store in source.settings.stores.items() if store.type == to.value]
    if name is not None:
        if name not in known:
            raise WrongUsage(f"the settings have no store `{name}` of type {to.value}", hint=did_you_mean(name, known))
        return name
    if not known and to is TargetType.penstock:
        return to.value
    if len(known) != 1:
        hint = (
            "--store says which"
            if known
            else f'[stores.NAME] with type = "{to.value}" in penstock.toml says where it is'
        )
        raise WrongUsage(f"{len(known) or 'no'} stores are of type {to.value}", hint=hint)
    return known[0]


def _chosen(migrations: Sequence[Migration], ids: Sequence[str] | None) -> list[Migration]:
    """The migrations of these ids, in the order of the folder. Raises NotFound."""
    known = {each.id: each for each in migrations}
    if not known:
        raise NotFound("there are no migrations", hint="`penstock migrations observe -- COMMAND` writes them")
    for each in ids or ():
        if each not in known:
            raise NotFound(f"there is no migration `{each}`", hint=did_you_mean(each, known))
    return [each for each in migrations if each.id in ids] if ids else [migrations[-1]]


def _steps(store: MigrationStore, migrations: Sequence[Migration], phase: Phase | None) -> list[PhaseSteps]:
    """The steps of each phase behind those before it; of one phase as the store is now, if it has had those."""
    assert isinstance(store, PlannedStore), "datafiles are edited elsewhere"
    due = [RehearsedPhase(migration, each) for migration in migrations for each in store.phases(migration)]
    wanted = [each for each in due if phase in (None, each.phase)]
    try:
        return [each for each in zip(due, store.preview(due), strict=True) if each[0] in wanted]
    except CannotTranslate:
        if wanted == due:
            raise
    return [*zip(wanted, store.preview(wanted), strict=True)]


for _name, _function in (
    ("apply", applied_migrations.apply),
    ("gate", applied_migrations.gate),
    ("rollback", applied_migrations.rollback),
    ("status", applied_migrations.status),
    ("check", applied_migrations.check),
    ("rehearse", applied_migrations.rehearse),
):
    group.command(_name)(_function)
