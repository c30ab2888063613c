"""`penstock migrations apply`, `gate`, `rollback`, `status`, `check`, `rehearse`: migrations on their way into stores.

In: the source, the folder of migrations, the stores. Out: states of phases. Invariant: exit code 0 means that what was
asked for is so; 1 that it waits, is refused or failed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Annotated

import typer

from penstock.cli.commands.postgres.migration_output import print_rehearsals, print_states
from penstock.cli.commands.postgres.source_settings import DsnOption, SourceSettings, source_settings
from penstock.cli.errors import FAILED, WrongUsage, print_note
from penstock.cli.output import console, format_number, print_json
from penstock.cli.session import Session, command
from penstock.errors import Conflict, InvalidRequest, Problem, Unavailable
from penstock.postgres.application.fed_tables import FedTables
from penstock.postgres.application.migration_work import MigrationWork, PhaseState
from penstock.postgres.application.schema_check import SchemaCheck
from penstock.postgres.application.source_journal import SourceJournal
from penstock.postgres.application.source_state import source_state
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import Catalog
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.migration.migration import MigrationHistory
from penstock.postgres.migration.migration_folder import read_folder
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.filtered_store import FilteredStore

POLL_SECONDS = 1.0
PASSING_SECONDS = 15.0
"""How long a rollback waits for consumers that lag; where they still do, the table is read again."""
StoreOption = Annotated[list[str] | None, typer.Option("--store", help="Only this store; repeatable.")]
WaitOption = Annotated[int, typer.Option("--wait", metavar="SECONDS", min=0, help="Wait for so long at most.")]


@dataclass(frozen=True, slots=True)
class _Opened:
    """What the commands work with."""

    source: SourceSettings
    connection: SourceConnection
    history: MigrationHistory
    stores: Sequence[FilteredStore]

    def work(self, *, without_consumers: bool = False) -> MigrationWork:
        """The work, with the source as it is now."""
        journal, stops = SourceJournal(self.connection), StopRecords(self.connection)
        state = source_state(self.catalog(), self.history, journal.memory())
        delay = timedelta(hours=self.source.settings.postgres.delete_after_hours)
        return MigrationWork(self.history.migrations, state, journal, stops, delay, _now, without_consumers)

    def catalog(self) -> Catalog:
        return read_catalog(self.connection, self.source.settings.postgres.schemas)


def _now() -> datetime:
    return datetime.now(timezone.utc)


@contextmanager
def _opened(session: Session, dsn: str | None, stores: Sequence[str] | None) -> Iterator[_Opened]:
    source = source_settings(session)
    history = read_folder(source.migrations)
    names = stores or [*source.settings.stores]
    if not names:
        hint = "[stores.NAME] in penstock.toml says what they are and where"
        raise WrongUsage("the settings have no stores", hint=hint)
    opener = source.opener()
    connection = open_source(source.dsn(dsn))
    try:
        schemas, journal = source.settings.postgres.schemas, SourceJournal(connection)
        state = source_state(read_catalog(connection, schemas), history, journal.memory())
        fed = FedTables(history.migrations, state, journal)
        yield _Opened(source, connection, history, [fed.of(opener.open(each)) for each in names])
    finally:
        connection.close()


@command
def apply(
    session: Session,
    phase: Annotated[Phase, typer.Option("--phase", help="pre, at_lsn or post.")],
    store: StoreOption = None,
    dsn: DsnOption = None,
    wait: WaitOption = 0,
    without_consumers: Annotated[
        bool, typer.Option("--without-consumers", help="Consumers that this Postgres does not know stopped or passed.")
    ] = False,
    by_hand: Annotated[
        bool, typer.Option("--by-hand", help="Record the phase as done; it was carried out so.")
    ] = False,
) -> None:
    """Carry a phase of all migrations into the stores, from where it stopped."""
    with _opened(session, dsn, store) as opened:
        _take_lock(opened, wait)
        if by_hand:
            states = opened.work().record_by_hand(opened.stores, phase)
        else:
            states = _applied(opened, phase, wait, without_consumers=without_consumers)
        missing = opened.work().missing(opened.stores) if phase is Phase.pre else []
    waiting = [each for each in states if each.waits_for is not None]
    if session.as_json:
        document = {"phase": phase.value, "states": [each.as_json() for each in states], "gate_open": not missing}
        print_json(document)
    else:
        print_states(states)
        if not states:
            console().print("nothing was left to do", markup=False)
        _note_untaken(opened)
    if waiting:
        raise typer.Exit(FAILED)


def _note_untaken(opened: _Opened) -> None:
    for store in opened.stores:
        names = ", ".join(sorted({str(each) for each in store.untaken.values()}))
        if names:
            print_note(f"{store.name} does not have, and no capture brings to it: {names}")


def _take_lock(opened: _Opened, wait: int) -> None:
    """Be the one who applies migrations; another process is waited for. Raises Conflict when the time is over."""
    journal, end = SourceJournal(opened.connection), time.monotonic() + wait
    while True:
        try:
            journal.take_lock()
            StopRecords(opened.connection).make()
            return
        except Conflict:
            if time.monotonic() >= end:
                raise
            time.sleep(POLL_SECONDS)


def _applied(opened: _Opened, phase: Phase, wait: int, *, without_consumers: bool) -> list[PhaseState]:
    """The states after a phase was applied; what waits is tried again until the time is over."""
    end = time.monotonic() + wait
    found: dict[tuple[str, str], PhaseState] = {}
    while True:
        try:
            for each in opened.work(without_consumers=without_consumers).apply(opened.stores, phase):
                found[each.store, each.migration] = each
        except Unavailable as error:
            # A store may come back. The source's connection does not, and with it went the lock.
            if opened.connection.closed or time.monotonic() >= end:
                raise
            print_note(f"{error.message}; trying again")
        else:
            if not any(each.waits_for for each in found.values()) or time.monotonic() >= end:
                return [*found.values()]
        time.sleep(POLL_SECONDS)


@command
def gate(
    session: Session,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND…]", help="What may begin then: Postgres's own migration.")
    ] = None,
    dsn: DsnOption = None,
    wait: WaitOption = 0,
) -> None:
    """Wait until every store has confirmed every `pre`, and then run a command."""
    end = time.monotonic() + wait
    with _opened(session, dsn, None) as opened:
        while (missing := opened.work().missing(opened.stores)) and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
    if session.as_json and not arguments:
        print_json({"open": not missing, "missing": [each.as_json() for each in missing]})
        if missing:
            raise typer.Exit(FAILED)
        return
    if missing:
        hint = "`penstock migrations apply --phase pre` carries them out"
        problems = [
            Problem("gate-closed", f"{each.store} has not confirmed {each.migration} ({each.state})", hint=hint)
            for each in missing
        ]
        raise Conflict("Postgres's migration may not begin: stores are not ready for its rows", problems)
    if arguments:
        raise typer.Exit(_run(arguments))
    console().print("open: every store is ready for the rows of every migration", markup=False)


def _run(arguments: Sequence[str]) -> int:
    try:
        return subprocess.run(arguments, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        raise InvalidRequest(f"`{arguments[0]}` cannot be run: {error.strerror or error}") from error


@command
def rollback(
    session: Session,
    id: Annotated[str, typer.Argument(help="The migration.")],
    store: StoreOption = None,
    dsn: DsnOption = None,
) -> None:
    """Take a migration back in the stores; Postgres does not have it, or not any more."""
    with _opened(session, dsn, store) as opened:
        journal = SourceJournal(opened.connection)
        journal.take_lock()
        lsn, work, end = journal.end(), opened.work(), time.monotonic() + PASSING_SECONDS
        while work.is_awaited(opened.stores, id, lsn) and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        records = opened.work().roll_back(opened.stores, id, lsn)
    if session.as_json:
        documents = [{"store": each.key.store, "phase": each.key.phase.value} for each in records]
        print_json({"migration": id, "taken_back": documents})
        return
    count = format_number(len(records), "phase", "phases")
    done = f"{count} taken back" if records else "no store had begun it; consumers do not stop at it"
    console().print(f"{id}: {done}", markup=False)


@command
def status(session: Session, store: StoreOption = None, dsn: DsnOption = None) -> None:
    """Show where each migration is: in Postgres, and in each store."""
    with _opened(session, dsn, store) as opened:
        work = opened.work()
        states = work.states(opened.stores)
        missing = work.missing(opened.stores)
    stages = {id: stage.value for id, stage in work.state.stages.items()}
    if session.as_json:
        print_json(
            {
                "migrations": stages,
                "states": [each.as_json() for each in states],
                "undeclared": [str(each) for each in work.state.undeclared],
                "gate_open": not missing,
            }
        )
        return
    print_states(states, stages)
    for table in work.state.undeclared:
        console().print(f"the table {table} of Postgres is in no state that the migrations know", markup=False)
    console().print(f"the gate is {'closed' if missing else 'open'}", markup=False)


@command
def check(session: Session, store: StoreOption = None, dsn: DsnOption = None) -> None:
    """Compare Postgres with each store and each pending migration; for CI."""
    with _opened(session, dsn, store) as opened:
        catalog = opened.catalog()
        state = source_state(catalog, opened.history, SourceJournal(opened.connection).memory())
        made = SchemaCheck(catalog, opened.history, state, opened.source.migrations.name)
        problems = made.problems(opened.stores)
    errors = [each for each in problems if each.level == "error"]
    if session.as_json:
        print_json({"ok": not errors, "problems": [each.as_json() for each in problems]})
        if errors:
            raise typer.Exit(FAILED)
        return
    if errors:
        raise Conflict("Postgres and its stores do not agree", problems)
    for each in problems:
        console().print(f"{each.level}: {each}", markup=False, soft_wrap=True)
    count = format_number(len(catalog.tables), "table", "tables")
    console().print(f"{count} of Postgres: no value would be lost", markup=False)


@command
def rehearse(session: Session, store: StoreOption = None, dsn: DsnOption = None) -> None:
    """Carry out all that is pending on throw-away copies, and compare these before and after."""
    with _opened(session, dsn, store) as opened:
        work = opened.work()
        found = [each.rehearse(phases) for each in opened.stores if (phases := work.pending(each))]
    if session.as_json:
        print_json({"stores": [each.as_json() for each in found], "same": all(each.is_same for each in found)})
    else:
        print_rehearsals(found)
    if not all(each.is_same for each in found):
        raise typer.Exit(FAILED)
