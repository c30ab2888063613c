"""How a capture is doing: its lag, its slot, each table, and what each consumer has acknowledged.

In: a connection to the source. Out: a `CaptureStatus`, with alarms in words. Invariant: only the source is asked, so
that it is known while the producer is down, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.postgres.application.consumer_records import ConsumerRecords
from penstock.postgres.application.delivery_records import DeliveryRecords
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.installation import OtherSetup, check_setup
from penstock.postgres.capture.kept_rows import KeptCount, KeptKey, count_kept_rows
from penstock.postgres.capture.lost_values import lost_alarms
from penstock.postgres.capture.records import CapturedTable, CaptureRecord, CaptureRecords
from penstock.postgres.capture.stream.slot_place import SlotPlace
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries
from penstock.postgres.delivery.consumer_progress import NotCaptured
from penstock.postgres.delivery.stopping_destination import WaitsForChange

LITTLE_WAL = 2**30
"""Bytes that a slot may still keep, below which it is said."""
MUCH_LAG = 10 * 2**30
TableState = Literal["streaming", "reading", "waiting", "gone"]


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """The replication slot."""

    name: str
    active: bool
    """Whether a producer reads it."""
    confirmed_lsn: str | None
    current_lsn: str
    lag_bytes: int
    """What was written since the place that is confirmed."""
    wal_status: str
    """reserved, extended, unreserved (about to be lost) or lost, as Postgres says."""
    safe_wal_size: int | None
    """Bytes that may be written before the slot is lost; None: no limit is set."""


@dataclass(frozen=True, slots=True)
class TableStatus:
    """A table of the capture."""

    table: str
    store: str
    state: TableState
    problem: str | None
    problem_lsn: str | None
    waiting_seconds: float | None
    """For how long it has been stopped."""
    rows_read: int
    rows_set_aside: int
    """Rows that the store took, and could not read."""
    rows_kept: int
    """Rows that a store has without a column that it lacks, and that are kept whole for a replay."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Up to which LSN all changes of a table are in a consumer's store."""

    consumer: str
    store: str
    lsn: str
    lag_bytes: int
    seconds: float
    """Since it was written; a producer that is up to date writes one every few seconds."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Up to which LSN all changes of a table are in a broker."""

    broker: str
    store: str
    lsn: str
    lag_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CaptureStatus:
    """A capture."""

    name: str
    slot: SlotStatus | None
    """None: there is no such slot any more."""
    lag_seconds: float | None
    """Since the one that is furthest behind, consumer or broker, acknowledged or was sent something; None: none ever
    did."""
    tables: tuple[TableStatus, ...]
    consumers: tuple[str, ...]
    """Those that migrations wait for; one that has only begun has acknowledged nothing."""
    acknowledged: tuple[Acknowledgement, ...]
    published: tuple[Publication, ...]
    unread: tuple[str, ...]
    """Tables of the publications that the capture does not have: somebody else published them."""
    alarms: tuple[str, ...]
    notes: tuple[str, ...]


def read_status(connection: SourceConnection, name: str) -> CaptureStatus:
    """The status of a capture. Raises NotFound, Failed, Unavailable."""
    records = CaptureRecords(connection, name)
    capture, captured = records.capture(), records.tables()
    slot = _read_slot(connection, capture.slot)
    waits = {row[0]: row[1:] for row in _rows(connection, _WAITS, name)}
    kept = count_kept_rows(connection, name)
    tables = tuple(_table_status(each, waits[each.oid], kept) for each in captured)
    consumers = ConsumerRecords(connection)
    names = tuple(consumers.of_capture(name))
    acknowledged = tuple(
        Acknowledgement(consumer, store, lsn, int(lag), float(seconds))
        for consumer, store, lsn, lag, seconds in _rows(connection, _ACKNOWLEDGED, name)
        if consumer in names
    )
    sent = _read_published(connection, name)
    known = {str(each.name_now) for each in captured}
    published = [row[0] for row in _rows(connection, _PUBLISHED, list(capture.publications))]
    unread = tuple(each for each in published if each not in known)
    lag = max((*(each.seconds for each in acknowledged), *(each.seconds for each in sent)), default=None)
    alarms = (
        *_setup_alarms(connection, capture),
        *_place_alarms(SlotPlace(connection, name)),
        *_alarms(slot, tables, unread),
        *_publication_alarms(connection, capture),
        *_stop_alarms(connection, name),
        *_consumer_alarms(DeliveryRecords(connection, name)),
        *_kept_alarms(kept),
        *lost_alarms(connection, name),
    )
    notes = _consumer_notes(consumers.broker_of(name), names)
    return CaptureStatus(name, slot, lag, tables, names, acknowledged, sent, unread, alarms, notes)


_WAITS = f"""SELECT oid, problem_lsn::text, extract(epoch FROM now() - problem_since)::float8
  FROM {OWN_SCHEMA}.captured_tables WHERE capture = %s"""
_ACKNOWLEDGED = f"""SELECT consumer, store, lsn::text, pg_catalog.pg_current_wal_lsn() - lsn,
  extract(epoch FROM clock_timestamp() - at)::float8 FROM {OWN_SCHEMA}.acknowledged WHERE capture = %s ORDER BY 1, 2"""
_PUBLICATIONS = f"""SELECT broker, store, lsn::text, pg_catalog.pg_current_wal_lsn() - lsn,
  extract(epoch FROM clock_timestamp() - at)::float8 FROM {OWN_SCHEMA}.published WHERE capture = %s ORDER BY 1, 2"""
_HAS_PUBLICATIONS = "SELECT 1 WHERE pg_catalog.to_regclass(%s) IS NOT NULL"
_UNPUBLISHED = f"""SELECT t.schema_name || '.' || t.table_name FROM {OWN_SCHEMA}.captured_tables t
  JOIN pg_catalog.pg_class c ON c.oid = t.oid::oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE t.capture = %s AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_publication_tables p JOIN pg_catalog.pg_publication b ON b.pubname = p.pubname
      LEFT JOIN pg_catalog.pg_publication_rel r ON r.prpubid = b.oid AND r.prrelid = c.oid
    WHERE p.pubname = ANY(%s) AND p.schemaname = n.nspname AND p.tablename = c.relname
      AND b.pubinsert AND b.pubtruncate AND (t.insert_only OR (b.pubupdate AND b.pubdelete))
      AND pg_catalog.to_jsonb(r) ->> 'prqual' IS NULL AND pg_catalog.to_jsonb(r) ->> 'prattrs' IS NULL)
  ORDER BY 1"""
"""The captured tables of which no publication of the capture sends every change whole: Postgres 14 has neither filters
of rows nor lists of columns."""
_PUBLISHED = """SELECT schemaname || '.' || tablename FROM pg_catalog.pg_publication_tables WHERE pubname = ANY(%s)
  ORDER BY 1"""
_SLOT = """SELECT active, confirmed_flush_lsn::text, pg_catalog.pg_current_wal_lsn()::text,
  coalesce(pg_catalog.pg_current_wal_lsn() - confirmed_flush_lsn, 0), wal_status, safe_wal_size
  FROM pg_catalog.pg_replication_slots WHERE slot_name = %s AND database = pg_catalog.current_database()"""


def _read_slot(connection: SourceConnection, name: str) -> SlotStatus | None:
    found = _rows(connection, _SLOT, name)
    if not found:
        return None
    active, confirmed, current, lag, wal_status, safe = found[0]
    return SlotStatus(name, active, confirmed, current, int(lag), str(wal_status), safe)


def _read_published(connection: SourceConnection, name: str) -> tuple[Publication, ...]:
    if not _rows(connection, _HAS_PUBLICATIONS, f"{OWN_SCHEMA}.published"):  # an earlier version has set it up
        return ()
    return tuple(
        Publication(broker, store, lsn, int(lag), float(seconds))
        for broker, store, lsn, lag, seconds in _rows(connection, _PUBLICATIONS, name)
    )


def _consumer_notes(broker: str | None, consumers: Collection[str]) -> tuple[str, ...]:
    """What is worth knowing where nobody is known who takes what is in a broker."""
    if broker is None or consumers:
        return ()
    return (
        f"no consumer behind {broker} is known here: `at_lsn` and `post` of migrations wait for one that is started "
        "with the source's DSN",
    )


def _table_status(table: CapturedTable, waits: tuple[Any, ...], kept: Mapping[KeptKey, KeptCount]) -> TableStatus:
    lsn, seconds = waits
    state: TableState = "streaming"
    if table.files_now is None:
        state = "gone"
    elif table.problem is not None:
        state = "waiting"
    elif not table.read.done:
        state = "reading"
    read, aside = table.read.rows, table.set_aside
    rows_kept = sum(each.rows for (_, store), each in kept.items() if store == table.store)
    return TableStatus(str(table.name), table.store, state, table.problem, lsn, seconds, read, aside, rows_kept)


def _alarms(slot: SlotStatus | None, tables: Sequence[TableStatus], unread: Sequence[str]) -> list[str]:
    """What somebody should look at."""
    found: list[str] = []
    if slot is None:
        found.append("the slot is gone: changes since are lost to the capture; `penstock cdc setup` makes it anew")
    elif slot.wal_status == "lost":
        found.append(
            "the slot is lost, since too much was written while it was not read: `penstock cdc setup` makes it anew"
        )
    else:
        found += _slot_alarms(slot)
    for each in tables:
        if each.state == "waiting":
            at = f" at {each.problem_lsn}" if each.problem_lsn else ""
            found.append(f"{each.table} waits{at}: {each.problem}")
        if each.state == "gone":
            found.append(f"{each.table} is gone from Postgres: `penstock cdc remove` forgets it")
        if each.rows_set_aside:
            found.append(f"{each.rows_set_aside} rows of {each.table} are in the quarantine of `{each.store}`")
    found += [f"{each} is published, and the capture does not have it: `penstock cdc add`" for each in unread]
    return found


def _publication_alarms(connection: SourceConnection, capture: CaptureRecord) -> Iterator[str]:
    """Postgres says nothing of a table that somebody took out of its publication: its changes are in no store."""
    for (name,) in _rows(connection, _UNPUBLISHED, capture.name, list(capture.publications)):
        yield (
            f"{name}: somebody took the table out of the publication, or lets it send a part of the changes only: the "
            "others are in no store. Take that back, empty the table in the stores, then `penstock cdc remove` and "
            "`cdc add` read it anew"
        )


def _setup_alarms(connection: SourceConnection, capture: CaptureRecord) -> list[str]:
    """Why no producer begins, if another version has set up the capture."""
    try:
        check_setup(connection, capture)
    except OtherSetup as error:
        return [f"{error.message}: {error.hint}"]
    return []


def _place_alarms(place: SlotPlace) -> list[str]:
    """Why no producer begins, if somebody has moved the slot."""
    moved = place.moved()
    return [f"{moved.message}: {moved.hint}"] if moved is not None else []


def _stop_alarms(connection: SourceConnection, name: str) -> list[str]:
    """The consumers that wait for a change of their store."""
    return [
        f"{consumer} waits until {stop.store} has {stop.migration}: `penstock migrations apply --phase at_lsn`"
        for stop in StopRecords(connection).reached()
        for consumer in sorted(stop.reached)
        if consumer.startswith(f"{name}/")
    ]


def _consumer_alarms(records: DeliveryRecords) -> list[str]:
    """The tables that consumers behind a broker do not take further; changes of their store are told by its stops, and
    a table that was removed is nobody's trouble."""
    return [
        f"the consumer {each.consumer} takes no rows of `{each.store}`: {each.problem}"
        for each in records.stops()
        if each.code not in (WaitsForChange.code, NotCaptured.code)
    ]


def _kept_alarms(kept: Mapping[KeptKey, KeptCount]) -> list[str]:
    return [
        f"{each.rows} rows of `{store}` are in {consumer} without {', '.join(each.columns)}, and are kept: once it has "
        f"these, `penstock cdc replay {store}`"
        for (consumer, store), each in kept.items()
    ]


def _slot_alarms(slot: SlotStatus) -> list[str]:
    found = [] if slot.active else ["no producer reads the slot: Postgres keeps all that is written since"]
    if slot.wal_status == "unreserved":
        found.append("the slot is about to be lost: its log may be removed at the next checkpoint")
    if slot.safe_wal_size is not None and slot.safe_wal_size < LITTLE_WAL:
        found.append(f"the slot is lost after {max(slot.safe_wal_size, 0):,} more bytes (max_slot_wal_keep_size)")
    if slot.safe_wal_size is None and slot.lag_bytes > MUCH_LAG:
        found.append(f"Postgres keeps {slot.lag_bytes:,} bytes for the slot, and no limit is set: watch its disk")
    return found


def _rows(connection: SourceConnection, statement: str, *values: object) -> list[tuple[Any, ...]]:
    return SourceQueries(connection, "asked for the status of the capture").rows(statement, *values)
