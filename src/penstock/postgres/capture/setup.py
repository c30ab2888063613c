"""Makes a capture in the source: records, publications, the slot, and the event trigger.

In: a DSN of an owner of the tables, and their names. Out: what was made, and what is worth knowing. Invariants: a
publication is there before the slot (a slot that decodes a change of before fails for good); a table is published only
if the application can still update it; each step may be repeated. What each privilege is for: `docs/postgres-cdc.md`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.errors import Conflict, Failed, InvalidProject, InvalidRequest, NotFound, Problem, did_you_mean
from penstock.postgres.application.consumer_records import ConsumerRecords
from penstock.postgres.application.delivery_records import DeliveryRecords
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.installation import (
    SETUP_VERSION,
    check_not_later,
    check_setup,
    install_tables,
    install_triggers,
)
from penstock.postgres.capture.kept_rows import count_kept_rows, forget_kept_rows
from penstock.postgres.capture.known_columns import accept_columns
from penstock.postgres.capture.records import CapturedTable, CaptureRecords
from penstock.postgres.capture.schemas.schema_tracker import identity_key
from penstock.postgres.capture.schemas.table_descriptions import TableDescriptions
from penstock.postgres.capture.stream.slot_place import SlotPlace
from penstock.postgres.capture.table_rows import sql_name, table_sql
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries, source_errors
from penstock.postgres.catalog.store_types import LANDING_COLUMNS

LEAST_VERSION = 140_000
"""Of Postgres: the first that sends messages of pg_logical_emit_message to pgoutput."""
MOST_NAME_BYTES = 96
"""Of the name of a table in the stores: it is a part of the names of topics and subjects, whatever its letters."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HEIRS = """WITH RECURSIVE heirs AS (
  SELECT i.inhrelid AS oid FROM pg_catalog.pg_inherits i WHERE i.inhparent::int8 = ANY(%s)
  UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN heirs h ON i.inhparent = h.oid)
SELECT p.pubname, n.nspname, c.relname
FROM heirs h JOIN pg_catalog.pg_class c ON c.oid = h.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_publication_rel r ON r.prrelid = c.oid JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid
WHERE p.pubname = ANY(%s) AND NOT c.relispartition AND c.oid::int8 <> ALL(%s)"""
_LARGE = frozenset({"text", "bytea", "json", "jsonb", "xml", "character varying", "numeric", "tsvector"})


@dataclass(frozen=True, slots=True)
class TableChoice:
    """A table that is to be captured."""

    name: QualifiedName
    store: str
    insert_only: bool = False
    """Whether only its inserted rows are taken: it has no key, and its updates and deletions are not wanted."""


@dataclass(frozen=True, slots=True)
class SetupReport:
    """What was made."""

    capture: str
    slot: str
    publication: str
    tables: tuple[TableChoice, ...]
    notes: tuple[str, ...]


def table_choice(text: str, insert_only: Sequence[str]) -> TableChoice:
    """The choice of `schema.table`, or of a table of `public`; `=NAME` says what it is called in the stores. Raises
    InvalidRequest."""
    full, _, store = text.partition("=")
    schema, dot, table = full.rpartition(".")
    if not table or (dot and not schema):
        raise InvalidRequest(f"`{text}` is no table", hint="schema.table, or table=NAME_IN_THE_STORES")
    name = QualifiedName(schema or "public", table)
    chosen = store or store_name(name)
    if len(chosen.encode()) > MOST_NAME_BYTES or not chosen.isprintable():
        raise InvalidRequest(
            f"`{chosen}` is no name of a table in the stores: it has letters that cannot be printed, or more than "
            f"{MOST_NAME_BYTES} bytes",
            hint=f"{full}=NAME gives it another one",
        )
    return TableChoice(name, chosen, full in insert_only or str(name) in insert_only)


def store_name(name: QualifiedName) -> str:
    """What a table is called in the stores, unless somebody says otherwise."""
    return name.name


def set_up(connection: SourceConnection, capture: str, choices: Sequence[TableChoice]) -> SetupReport:
    """Make a capture, or what of it is not there. Raises InvalidRequest, InvalidProject with all that is wrong with the
    tables, Failed."""
    if not _NAME.fullmatch(capture):
        raise InvalidRequest(
            f"`{capture}` is no name of a capture", hint="lower case letters, digits and _, such as shop"
        )
    _check_server(connection)
    records, name = CaptureRecords(connection, capture), f"penstock_{capture}"
    if has_capture(connection, capture):
        check_not_later(connection, records.capture())
    install_tables(connection)
    known = frozenset(each.name for each in records.tables())
    fresh = [each for each in choices if each.name not in known]
    notes = _check_tables(connection, fresh)
    _make_publications(connection, name)
    notes += _make_slot(connection, records, capture)
    notes += install_triggers(connection)
    for each in fresh:
        _add(connection, records, each)
    _withdraw_heirs(connection, records)
    TableDescriptions(connection, capture).look([each.oid for each in records.tables()])
    records.note_setup(SETUP_VERSION)
    return SetupReport(capture, name, name, tuple(choices), tuple(notes))


def add_table(connection: SourceConnection, capture: str, choice: TableChoice) -> tuple[str, ...]:
    """Add a table to a capture, which may be running: it takes it up within seconds, and reads what is there. Returns
    what is worth knowing. Raises NotFound, InvalidProject, Conflict, Failed."""
    records = CaptureRecords(connection, capture)
    check_setup(connection, records.capture())
    notes = tuple(_check_tables(connection, [choice]))
    _add(connection, records, choice)
    return notes


def _add(connection: SourceConnection, records: CaptureRecords, choice: TableChoice) -> None:
    made = records.capture()
    publication = made.publications[1 if choice.insert_only else 0]
    with _transaction(connection):
        oid = records.add_table(choice.name, choice.store, choice.insert_only)
        TableDescriptions(connection, made.name).look([oid])  # before its first change
        _run(connection, f"ALTER PUBLICATION {sql_name(publication)} ADD TABLE ONLY {table_sql(choice.name)}")
        forget_kept_rows(connection, made.name, choice.store)


def remove_table(connection: SourceConnection, capture: str, name: QualifiedName) -> None:
    """Capture a table no more; its rows in the stores stay. Raises NotFound, OtherSetup, Failed."""
    records = CaptureRecords(connection, capture)
    check_setup(connection, made := records.capture())
    found = _captured(records, capture, name)
    publication = made.publications[1 if found.insert_only else 0]
    with _transaction(connection):
        if found.files_now is not None:
            _run(connection, f"ALTER PUBLICATION {sql_name(publication)} DROP TABLE ONLY {table_sql(found.name_now)}")
        records.remove_table(found.oid)


def accept_table(connection: SourceConnection, capture: str, name: QualifiedName) -> bool:
    """Somebody has put the rows of a table right, whose names passed to other columns: it goes on. Returns whether it
    was one. Raises NotFound, Failed."""
    records = CaptureRecords(connection, capture)
    check_setup(connection, records.capture())
    return accept_columns(connection, capture, _captured(records, capture, name))


def _captured(records: CaptureRecords, capture: str, name: QualifiedName) -> CapturedTable:
    """The table of a capture with a name. Raises NotFound."""
    tables = records.tables()
    found = next((each for each in tables if name in (each.name, each.name_now)), None)
    if found is None:
        known = [str(each.name) for each in tables]
        raise NotFound(f"the capture `{capture}` has no table {name}", hint=did_you_mean(str(name), known))
    return found


def remove_capture(connection: SourceConnection, capture: str) -> None:
    """Remove a capture with its slot, which makes Postgres forget what was not read. Raises NotFound, Failed."""
    records = CaptureRecords(connection, capture)
    made = records.capture()
    here = "slot_name = %s AND database = pg_catalog.current_database()"  # a copy has the records, and not the slot
    found = f"SELECT slot_name FROM pg_catalog.pg_replication_slots WHERE {here}"
    _run(connection, f"SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM ({found}) AS there", made.slot)
    for each in made.publications:
        _run(connection, f"DROP PUBLICATION IF EXISTS {sql_name(each)}")
    records.end()


def remove_consumer(connection: SourceConnection, capture: str, name: str) -> None:
    """Wait for a consumer no more, which is gone for good. Raises NotFound, OtherSetup, Failed, and Conflict where rows
    are kept for it: nobody else has their values."""
    check_setup(connection, CaptureRecords(connection, capture).capture())
    records = ConsumerRecords(connection)
    names = [*records.of_capture(capture)]
    if name not in names:
        raise NotFound(f"the capture `{capture}` has no consumer `{name}`", hint=did_you_mean(name, names))
    kept = sum(each.rows for (consumer, _), each in count_kept_rows(connection, capture).items() if consumer == name)
    if kept:
        hint = f"`penstock cdc replay --to {name}` sends them; of a store that is gone, delete them there"
        raise Conflict(f"{kept:,} rows are kept for `{name}` in penstock.kept_rows", hint=hint)
    with _transaction(connection):
        records.forget(capture, name)
        DeliveryRecords(connection, capture).forget_consumer(name)
        StopRecords(connection).leave(f"{capture}/{name}")


def _check_server(connection: SourceConnection) -> None:
    version, level = _rows(
        connection, "SELECT current_setting('server_version_num')::int, current_setting('wal_level')"
    )[0]
    if int(str(version)) < LEAST_VERSION:
        raise Failed("this Postgres is too old: logical messages reach pgoutput from version 14 on")
    if level != "logical":
        raise Failed(
            f"wal_level is {level}: what changes cannot be read from the log",
            hint="ALTER SYSTEM SET wal_level = logical; then restart Postgres",
        )


def has_capture(connection: SourceConnection, capture: str) -> bool:
    """Whether a capture was made. Raises Failed, Unavailable."""
    try:
        CaptureRecords(connection, capture).capture()
    except NotFound:
        return False
    return True


def _check_tables(connection: SourceConnection, choices: Sequence[TableChoice]) -> list[str]:
    """Notes about the tables. Raises InvalidProject with every problem of each."""
    catalog = read_catalog(connection, sorted({each.name.schema for each in choices}))
    problems: list[Problem] = []
    notes: list[str] = []
    for choice in choices:
        table = catalog.table(choice.name)
        if table is None:
            problems.append(_missing(choice, catalog))
            continue
        problems += _table_problems(choice, table)
        if table.replica_identity != "full" and not choice.insert_only and any(_is_large(table)):
            notes.append(
                f"{choice.name}: large values that an UPDATE leaves as they are are not in the log; they are fetched "
                f"from the table. ALTER TABLE {choice.name} REPLICA IDENTITY FULL puts them into the log"
            )
    if problems:
        raise InvalidProject("these tables cannot be captured as they are; nothing was published", problems)
    return notes


def _is_large(table: ReplicatedTable) -> list[str]:
    return [each.name for each in table.columns if each.type.stored.name in _LARGE or each.type.name.endswith("[]")]


def _missing(choice: TableChoice, catalog: Catalog) -> Problem:
    known = [str(each.name) for each in catalog.tables]
    hint = did_you_mean(str(choice.name), known) or "partitions, views, temporary and unlogged tables are not captured"
    return Problem("unknown-table", f"there is no table {choice.name} that can be captured", hint=hint)


def _table_problems(choice: TableChoice, table: ReplicatedTable) -> list[Problem]:
    found: list[Problem] = []
    if not choice.insert_only and (not table.identity or not identity_key(table)):
        message = f"{choice.name} has no key: once published, the application could not update or delete its rows"
        hint = "add a primary key; or --insert-only, for a table whose rows are never changed"
        found.append(Problem("missing-key", message, hint=hint))
    taken = sorted({each.name for each in table.columns} & LANDING_COLUMNS)
    if taken:
        message = f"{choice.name} has a column `{taken[0]}`, which is a name of the landing's own columns"
        found.append(Problem("reserved-column", message, hint="rename it"))
    return found


def _make_publications(connection: SourceConnection, name: str) -> None:
    """Tables with a key, and tables whose inserted rows are taken: of the latter no update needs an identity."""
    for each, publish in ((name, "insert, update, delete, truncate"), (f"{name}_inserts", "insert, truncate")):
        if not _rows(connection, "SELECT 1 FROM pg_catalog.pg_publication WHERE pubname = %s", each):
            options = f"publish = '{publish}', publish_via_partition_root = true"
            _run(connection, f"CREATE PUBLICATION {sql_name(each)} WITH ({options})")


def _make_slot(connection: SourceConnection, records: CaptureRecords, capture: str) -> list[str]:
    """Make the slot where there is none that has all changes. Returns what is worth knowing."""
    name, place = f"penstock_{capture}", SlotPlace(connection, capture)
    found = "SELECT wal_status, database FROM pg_catalog.pg_replication_slots WHERE slot_name = %s"
    slots = _rows(connection, f"{found} AND database = pg_catalog.current_database()", name)
    if not slots and (others := _rows(connection, found, name)):
        raise Conflict(
            f"the slot `{name}` belongs to the database `{others[0][1]}` of the same server: slots have one name each",
            hint="--name gives the capture of this database another name",
        )
    is_known = has_capture(connection, capture)  # else the slot was left by one whose records are gone
    is_whole = is_known and bool(slots) and slots[0][0] != "lost" and place.moved() is None
    notes: list[str] = []
    if not is_whole:
        if records.tables():
            notes.append(
                "the slot was lost and is made anew: all tables are read again. Rows that were deleted meanwhile stay "
                "in the stores: empty the tables there first. Of tables that are captured with --insert-only, rows "
                "that were inserted meanwhile are in no store: bring them there by hand"
            )
        if slots:
            _run(connection, "SELECT pg_catalog.pg_drop_replication_slot(%s)", name)
        records.begin(name, name, secrets.token_hex(6))
        forget_kept_rows(connection, capture)
        place.forget()
        _run(connection, "SELECT pg_catalog.pg_create_logical_replication_slot(%s, 'pgoutput')", name)
        place.begin()
    return notes


def _withdraw_heirs(connection: SourceConnection, records: CaptureRecords) -> None:
    """Publish no table any more that a captured one only has as an heir, as setup of before did: its rows are its own,
    and without a key the application could not update them."""
    known = [each.oid for each in records.tables()]
    for publication, schema, name in _rows(connection, _HEIRS, known, [*records.capture().publications], known):
        heir = table_sql(QualifiedName(str(schema), str(name)))
        _run(connection, f"ALTER PUBLICATION {sql_name(str(publication))} DROP TABLE ONLY {heir}")


@contextmanager
def _transaction(connection: SourceConnection) -> Iterator[None]:
    """A block whose statements are one transaction."""
    connection.autocommit = False
    try:
        yield
        with source_errors("changed the publication"):
            connection.commit()
    except BaseException:
        connection.rollback()
        raise
    finally:
        connection.autocommit = True


def _run(connection: SourceConnection, statement: str, *values: object) -> None:
    with source_errors("set up the capture"):
        if values:
            connection.cursor().execute(statement, values)
        else:
            connection.cursor().execute(statement.replace("%%", "%"))  # as `sql_name` writes it


def _rows(connection: SourceConnection, statement: str, *values: object) -> list[tuple[object, ...]]:
    return SourceQueries(connection, "looked at the server").rows(statement, *values)
