"""`penstock cdc`: capture what changes in a Postgres, and bring it into stores.

In: the source, tables and a destination. Out: tables of text, or JSON. Invariant: what a command does is decided in
`penstock.postgres`; this module reads options and prints. `cdc run` goes on until SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from penstock.cli.commands.postgres.destinations import (
    BrokerOption,
    DestinationOption,
    StoreOption,
    clickhouse_store,
    named_stores,
    notes_on_store,
    open_broker,
    open_destination,
    open_stopping_store,
    open_store,
    open_whole_store,
)
from penstock.cli.commands.postgres.source_settings import DsnOption, source_settings
from penstock.cli.errors import WrongUsage, print_note
from penstock.cli.output import console, format_bytes, format_number, print_json, print_table
from penstock.cli.session import Session, command
from penstock.model.settings import StoreSettings
from penstock.postgres.capture.acknowledgements import SourceAcknowledgements
from penstock.postgres.capture.kept_replay import replay_rows
from penstock.postgres.capture.kept_rows import KeptRows
from penstock.postgres.capture.producer import Producer
from penstock.postgres.capture.schemas.schema_tracker import identity_key
from penstock.postgres.capture.setup import (
    TableChoice,
    accept_table,
    add_table,
    has_capture,
    remove_capture,
    remove_consumer,
    remove_table,
    set_up,
    table_choice,
)
from penstock.postgres.capture.status import CaptureStatus, read_status
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.delivery.clickhouse_landing import clickhouse_table
from penstock.postgres.delivery.consumer import Consumer
from penstock.postgres.delivery.landing_datafile import landing_datafile
from penstock.postgres.stores.clickhouse_server import ClickHouseServer
from penstock.redaction import redact

group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
NameOption = Annotated[str, typer.Option("--name", help="The name of the capture.")]
InsertOnlyOption = Annotated[
    list[str] | None, typer.Option("--insert-only", help="A table whose rows are never changed; it needs no key.")
]
DatafilesOption = Annotated[
    bool, typer.Option("--datafiles/--no-datafiles", help="Write the data sources that the project lacks.")
]


@group.command("setup")
@command
def setup(
    session: Session,
    dsn: DsnOption = None,
    name: NameOption = "main",
    table: Annotated[list[str] | None, typer.Option("--table", help="schema.table, or table=NAME here.")] = None,
    insert_only: InsertOnlyOption = None,
    datafiles: DatafilesOption = True,
    store: Annotated[str | None, typer.Option("--store", help="Make the tables of a ClickHouse.")] = None,
) -> None:
    """Make the publication and the slot of a capture, and the data sources that its tables land in; or add what a later
    version of penstock needs, without a table."""
    source = source_settings(session)
    chosen = [*(table or ()), *(each for each in insert_only or () if each not in (table or ()))]
    choices = [table_choice(each, insert_only or ()) for each in chosen]
    with closing(open_source(source.dsn(dsn))) as connection:
        if not choices and not has_capture(connection, name):
            raise WrongUsage("no table is named", hint="--table NAME, once for each")
        report = set_up(connection, name, choices)
        written = _write_datafiles(connection, choices, source.folder) if datafiles and store is None else []
        if store is not None:
            _make_tables(connection, choices, clickhouse_store(source.settings, store))
    if session.as_json:
        print_json(
            {
                "capture": report.capture,
                "slot": report.slot,
                "publication": report.publication,
                "tables": [_choice_json(each) for each in report.tables],
                "files": written,
                "notes": list(report.notes),
            }
        )
        return
    _print_notes([*report.notes, *(notes_on_store(source.settings, store) if store is not None else ())])
    rows = [(str(each.name), each.store, "inserts" if each.insert_only else "all changes") for each in report.tables]
    print_table(("table", "data source", "taken"), rows)
    for each in written:
        console().print(f"wrote {each}", markup=False)
    first = "deploy the data sources, then " if store is None else ""
    console().print(f"{first}start `penstock cdc run`", markup=False)


@group.command("run")
@command
def run(
    session: Session,
    dsn: DsnOption = None,
    name: NameOption = "main",
    to: DestinationOption = "penstock",
) -> None:
    """Deliver what changes, until this process is ended. A second one waits for the first."""
    source, stopping = source_settings(session), _stop_at_signals()
    _log_lines()
    found = source.dsn(dsn)
    _print_notes(notes_on_store(source.settings, to))
    with closing(open_destination(session, source.settings, to, name, found)) as destination:
        producer = Producer(found, name, destination, stopping.is_set)
        producer.stores = named_stores(source.settings, to)
        producer.run()


@group.command("consume")
@command
def consume(
    session: Session,
    broker: BrokerOption,
    dsn: DsnOption = None,
    name: NameOption = "main",
    to: StoreOption = "penstock",
) -> None:
    """Take what `cdc run` put into a broker into a store, until this process is ended."""
    source, stopping = source_settings(session), _stop_at_signals()
    _log_lines()
    found = dsn or source.settings.postgres.dsn
    _print_notes(notes_on_store(source.settings, to))
    with closing(open_broker(broker, name)) as opened, ExitStack() as stack:
        if found:
            store = open_stopping_store(session, source.settings, to, name, found)
        else:
            store = open_store(session, source.settings, to)
            print_note("without --dsn nobody knows how far this is, and it does not stop at renames and swaps")
            if source.settings.postgres.keep_aside:
                print_note("without --dsn no rows are kept aside: a table waits where its store lacks a column")
        stack.callback(store.close)
        consumer = Consumer(opened, store, stopping.is_set)
        if found:
            stores = named_stores(source.settings, to) or ()
            acknowledgements = SourceAcknowledgements(found, name, stores)
            stack.callback(acknowledgements.close)
            consumer.acknowledgements = acknowledgements
        consumer.run()


@group.command("replay")
@command
def replay(
    session: Session,
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="Its name in the store; all if none.")] = None,
    dsn: DsnOption = None,
    name: NameOption = "main",
    to: StoreOption = "penstock",
) -> None:
    """Send rows again that were kept because the store lacked a column."""
    source = source_settings(session)
    found = source.dsn(dsn)
    kept = KeptRows(found, name)
    with closing(open_whole_store(session, source.settings, to, name, found)) as store:
        counts = {each: replay_rows(kept, store, each) for each in ([table] if table else kept.stores(store.name))}
    if session.as_json:
        print_json({"capture": name, "replayed": counts})
        return
    for each, count in counts.items():
        console().print(f"{each}: {format_number(count, 'row', 'rows')} sent again", markup=False)
    if not any(counts.values()):
        console().print("no rows were kept", markup=False)


@group.command("status")
@command
def status(session: Session, dsn: DsnOption = None, name: NameOption = "main") -> None:
    """Show lag, slot, tables and consumers of a capture, and what somebody should look at."""
    source = source_settings(session)
    with closing(open_source(source.dsn(dsn))) as connection:
        found = read_status(connection, name)
    notes = [*found.notes, *(note for each in found.consumers for note in notes_on_store(source.settings, each))]
    if session.as_json:
        print_json({**asdict(found), "notes": notes})
    else:
        _print_status(found)
        _print_notes(notes)


@group.command("add")
@command
def add(
    session: Session,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="schema.table, or table=NAME here.")],
    dsn: DsnOption = None,
    name: NameOption = "main",
    insert_only: Annotated[bool, typer.Option("--insert-only", help="Its rows are never changed.")] = False,
    datafiles: DatafilesOption = True,
) -> None:
    """Add a table to a capture while it runs: its rows are read in parts between the changes."""
    source = source_settings(session)
    choice = table_choice(table, [table.partition("=")[0]] if insert_only else ())
    with closing(open_source(source.dsn(dsn))) as connection:
        notes = add_table(connection, name, choice)
        written = _write_datafiles(connection, [choice], source.folder) if datafiles else []
    if session.as_json:
        print_json({"table": _choice_json(choice), "files": written, "notes": list(notes)})
        return
    _print_notes(notes)
    for each in written:
        console().print(f"wrote {each}: deploy it, since its rows wait until then", markup=False)
    console().print(f"{choice.name} is captured; `penstock cdc status` shows how far it is read", markup=False)


@group.command("accept")
@command
def accept(
    session: Session,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="schema.table.")],
    dsn: DsnOption = None,
    name: NameOption = "main",
) -> None:
    """Go on with a table of inserted rows only that waits because its columns have other names: its rows in the stores
    are right."""
    with closing(open_source(source_settings(session).dsn(dsn))) as connection:
        accepted = accept_table(connection, name, table_choice(table, ()).name)
    if session.as_json:
        print_json({"capture": name, "table": table, "accepted": accepted})
    else:
        console().print(f"{table} goes on" if accepted else f"{table} does not wait for this", markup=False)


@group.command("remove")
@command
def remove(
    session: Session,
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="schema.table.")] = None,
    dsn: DsnOption = None,
    name: NameOption = "main",
    consumer: Annotated[
        str | None, typer.Option("--consumer", help="A consumer that is gone for good: nobody waits for it any more.")
    ] = None,
    capture: Annotated[bool, typer.Option("--capture", help="The whole capture, with its slot.")] = False,
) -> None:
    """Capture a table no more, or remove a consumer or a capture; rows in the stores stay."""
    if sum((table is not None, consumer is not None, capture)) != 1:
        raise WrongUsage("either a table is named, or a --consumer, or --capture")
    with closing(open_source(source_settings(session).dsn(dsn))) as connection:
        if table is not None:
            remove_table(connection, name, table_choice(table, ()).name)
        elif consumer is not None:
            remove_consumer(connection, name, consumer)
        else:
            remove_capture(connection, name)
    if session.as_json:
        print_json({"capture": name, "table": table, "consumer": consumer, "removed": True})
    else:
        removed = table or (f"the consumer {consumer}" if consumer is not None else f"the capture {name}")
        console().print(f"removed {removed}", markup=False)


def _write_datafiles(connection: SourceConnection, choices: Sequence[TableChoice], folder: Path) -> list[str]:
    """Write the data sources that the project does not have; those that are there stay. Returns their paths."""
    catalog = read_catalog(connection, sorted({each.name.schema for each in choices}))
    written: list[str] = []
    for each in choices:
        table = catalog.table(each.name)
        path = folder / "datasources" / f"{each.store}.datasource"
        if table is not None and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(landing_datafile(table, () if each.insert_only else identity_key(table)), encoding="utf-8")
            written.append(path.relative_to(folder).as_posix())
    return written


def _make_tables(connection: SourceConnection, choices: Sequence[TableChoice], store: StoreSettings) -> None:
    """Make the tables that a ClickHouse lacks."""
    catalog, server = read_catalog(connection, sorted({each.name.schema for each in choices})), ClickHouseServer(store)
    for each in choices:
        table = catalog.table(each.name)
        if table is not None:
            key = () if each.insert_only else identity_key(table)
            server.run(clickhouse_table(table, key, each.store, store.database))


def _print_notes(notes: Sequence[str]) -> None:
    for each in notes:
        print_note(each)


def _choice_json(choice: TableChoice) -> dict[str, object]:
    return {"table": str(choice.name), "datasource": choice.store, "insert_only": choice.insert_only}


def _print_status(found: CaptureStatus) -> None:
    slot = found.slot
    if slot is not None:
        seconds = f", {found.lag_seconds:.0f} s" if found.lag_seconds is not None else ""
        safe = format_bytes(slot.safe_wal_size) if slot.safe_wal_size is not None else "no limit"
        state = "read" if slot.active else "not read"
        text = f"slot {slot.name} is {state}: {format_bytes(slot.lag_bytes)} behind{seconds}; it may grow by: {safe}"
        console().print(text, markup=False)
    rows = [
        (each.table, each.store, each.state, each.rows_read, each.rows_set_aside, each.rows_kept, each.problem or "")
        for each in found.tables
    ]
    print_table(("table", "store", "state", "rows read", "set aside", "kept", "waits for"), rows)
    published = [(each.broker, each.store, each.lsn, each.lag_bytes) for each in found.published]
    if published:
        print_table(("broker", "store", "published", "bytes behind"), published)
    silent = [each for each in found.consumers if each not in {of.consumer for of in found.acknowledged}]
    acknowledged = [(each.consumer, each.store, each.lsn, str(each.lag_bytes)) for each in found.acknowledged]
    if acknowledged or silent:
        begun = [(each, "", "nothing yet", "") for each in silent]
        print_table(("consumer", "store", "acknowledged", "bytes behind"), [*acknowledged, *begun])
    for alarm in found.alarms:
        print_note(alarm)


def _stop_at_signals() -> threading.Event:
    """An event that SIGTERM and SIGINT set: what was received is delivered, then the process ends."""
    stopping = threading.Event()

    def stop(signum: int, frame: FrameType | None) -> None:
        stopping.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    return stopping


class _Lines(logging.Formatter):
    """One line a record, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record)).replace("\n", " ")


def _log_lines() -> None:
    """Log to standard error, one line a record."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("penstock.cdc")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
