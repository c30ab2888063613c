"""The producer: reads one slot, and delivers what it has to one destination, until it is told to end.

In: a DSN, the name of a capture and a destination. Out: packages there. Invariants: the slot is confirmed only up to
where the changes of every table are stored, so whatever kills this process, the slot has what is not; all that is known
here is either in the slot, in the stores (positions) or in the source (records), so that it may be killed at any
moment.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack

from penstock.crash_points import crash_point
from penstock.errors import PenstockError, Unavailable
from penstock.model.cursor import Position
from penstock.postgres.application.consumer_records import ConsumerRecords
from penstock.postgres.application.delivery_records import DeliveryRecords
from penstock.postgres.capture.installation import check_setup
from penstock.postgres.capture.known_columns import KnownColumns
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.row_changes import row_changes
from penstock.postgres.capture.schemas.schema_tracker import SchemaTracker
from penstock.postgres.capture.schemas.table_descriptions import TableDescriptions
from penstock.postgres.capture.stream.pgoutput import (
    Begin,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Origin,
    Relation,
    Truncate,
    TypeName,
    Update,
)
from penstock.postgres.capture.stream.replication import Received, ReplicationStream
from penstock.postgres.capture.stream.slot_place import SlotPlace
from penstock.postgres.capture.table_delivery import CapturePace, DeliveryContext, TableDelivery
from penstock.postgres.capture.table_reads import TableReads
from penstock.postgres.capture.table_rows import open_reader
from penstock.postgres.capture.unchanged_values import UnchangedValues
from penstock.postgres.catalog.lsn import lsn_text
from penstock.postgres.catalog.source_connection import SourceConnection
from penstock.postgres.delivery.destination import Destination
from penstock.postgres.delivery.retry_wait import RetryWait
from penstock.postgres.packages.package import PackageRow
from penstock.postgres.packages.package_builder import PackageLimits

WAIT_SECONDS = 0.1
READ_SECONDS = 0.2
"""How often a part of a table is read while the stream does not pause."""
log = logging.getLogger("penstock.cdc")


class Producer:
    """Runs a capture. `stopping` is asked whether to end."""

    def __init__(self, dsn: str, name: str, destination: Destination, stopping: Callable[[], bool]):
        self._dsn, self._name = dsn, name
        self._destination = destination
        self._stopping = stopping
        self.limits, self.pace = PackageLimits(), CapturePace()
        self.stores: Collection[str] | None = None
        """By the names of the settings, those that the rows go to; None: not known, such as behind a broker."""

    def run(self) -> None:
        """Read and deliver until `stopping`; whatever is away is waited for. Raises PenstockError where waiting does
        not help: there is no such capture, another version has set it up, its slot is lost."""
        pause = RetryWait()
        while not self._stopping():
            pause.begin()
            try:
                self._run_stream()
                pause.end()
            except Unavailable as error:
                log.warning("%s; trying again", error.message)
                time.sleep(pause.fail())

    def _run_stream(self) -> None:
        """Read the stream from where it is confirmed until it is to begin again, or the end."""
        with ExitStack() as opened:
            connection = open_reader(self._dsn)
            opened.callback(connection.close)
            records = CaptureRecords(connection, self._name)
            capture = records.capture()
            check_setup(connection, capture)
            deliveries = DeliveryRecords(connection, self._name)
            context = DeliveryContext(capture, records, deliveries, self._destination, self.limits, self.pace)
            reads = TableReads(self._dsn, context)
            opened.callback(reads.close)
            stream = ReplicationStream(self._dsn, capture.slot, capture.publications)
            opened.callback(stream.close)
            place = SlotPlace(connection, self._name)
            if (moved := place.moved()) is not None:
                raise moved
            place.begin()
            self._begin_route(ConsumerRecords(connection))  # the slot is ours: no other producer delivers elsewhere
            run = _StreamRun(context, stream, reads, self._columns(connection))
            log.info("capture %s reads slot %s", capture.name, capture.slot)
            while not self._stopping():
                if run.step():
                    return
            run.finish()

    def _begin_route(self, consumers: ConsumerRecords) -> None:
        """Say where rows go, before the first one does. A store that is fed from here has its consumer in here."""
        place = self._destination
        consumers.begin_route(self._name, place.name if place.is_broker else None)
        if not place.is_broker:
            consumers.register(self._name, place.name, None, self.stores or ())

    def _columns(self, connection: SourceConnection) -> KnownColumns:
        descriptions = TableDescriptions(connection, self._name)
        descriptions.load()
        return KnownColumns(connection, self._name, descriptions, self.stores)


class _StreamRun:
    """One pass over the stream."""

    def __init__(self, context: DeliveryContext, stream: ReplicationStream, reads: TableReads, columns: KnownColumns):
        self._context, self._stream, self._reads = context, stream, reads
        self._columns = columns
        connection, self._descriptions = columns.connection, columns.descriptions
        self._consumers = ConsumerRecords(connection)
        self._place = SlotPlace(connection, context.capture.name)
        self._tracker = SchemaTracker(connection, self._descriptions)
        self._values = UnchangedValues(connection, self._descriptions, self._tracker.type_name)
        self._tables: dict[int, TableDelivery] = {}
        self._begin: Begin | None = None
        self._changes = 0
        """Of the transaction that is being received."""
        self._end = 0
        """Of the last transaction that was received."""
        self._looked = self._acknowledged = self._read = self._noted = float("-inf")
        self._in_source: dict[int, Position | None] = {}
        """How far each table was sent, as the source knows it."""
        self._is_outdated = False
        self._sent: dict[int, tuple[int, int]] = {}
        self._read_again: dict[int, float] = {}
        """When a table is read again whose rows the store did not take."""
        self._may_read = True
        self._look()

    def step(self) -> bool:
        """Receive a message, and do what is due. Returns whether the stream is to begin again. Raises Unavailable."""
        received = self._stream.receive(0 if self._may_read else WAIT_SECONDS)
        if received is not None:
            self._take(received)
        now = time.monotonic()
        for each in self._tables.values():
            each.flush_old()
            if each.may_go_on():
                return True
        if now - self._looked >= self._context.pace.look:
            self._look()
        if received is None or (self._may_read and now - self._read >= READ_SECONDS):
            self._read = now
            self._may_read = self._read_tables()
        self._confirm()
        return self._columns.is_outdated or self._is_outdated

    def finish(self) -> None:
        """Deliver what was received, and confirm it."""
        for each in self._tables.values():
            each.flush_whole()
        self._noted = float("-inf")
        self._place.write_next_at_once()
        self._confirm()
        self._acknowledge(float("inf"))

    def _look(self) -> None:
        """Take up the tables that were added, let go of those that were removed, and read those anew that were written
        anew."""
        self._looked = time.monotonic()
        known = {each.oid: each for each in self._context.records.tables()}
        for oid in self._tables.keys() - known.keys():
            del self._tables[oid]
        for oid, table in known.items():
            if oid in self._tables:
                # One that was removed and added meanwhile begins anew.
                self._is_outdated = self._is_outdated or self._tables[oid].table.since != table.since
                self._tables[oid].table = table
            else:
                self._tables[oid] = TableDelivery(self._context, table)
            if table.files_now not in (None, table.files) and not table.insert_only:
                log.info("%s was written anew, or a composite type of it changed: it is read again", table.name)
                self._context.records.note_files(table)
        self._descriptions.look(self._tables)
        self._columns.look([each.table for each in self._tables.values()])
        self._acknowledge(self._looked)

    def _read_tables(self) -> bool:
        """Read a part of the tables that are to be read. Returns whether there was one."""
        moved = False
        for each in list(self._tables.values()):
            table = each.table
            if each.waits or table.read.done or self._read_again.get(table.oid, 0.0) > time.monotonic():
                continue
            each.flush_whole()
            if each.confirmable() is not None:
                continue  # what is read goes behind what was received
            try:
                self._columns.check_reading(table)
                done = self._reads.step(table, self._all_received(), each.sent)
            except Unavailable:
                raise
            except PenstockError as error:
                self._read_again[table.oid] = time.monotonic() + self._context.pace.retry
                log.error("reading %s waits: %s", table.name, error.message)
                self._context.records.note_problem(table, error.code, error.message)
            else:
                moved = moved or done
                if self._read_again.pop(table.oid, None) is not None or (done and table.problem is not None):
                    self._context.records.note_problem(table, None, None)
        if moved:
            self._look()
        return moved

    def _take(self, received: Received) -> None:
        match received.message:
            case Begin() as begin:
                self._begin, self._changes = begin, 0
            case Commit(end_lsn=end):
                self._begin, self._end = None, end
                crash_point("cdc.received")
            case Relation() as relation:
                self._tracker.track(relation)
            case TypeName() as name:
                self._tracker.note_type(name)
            case LogicalMessage() as message:
                self._tracker.note_message(message)
            case Insert() | Update() | Delete() as change:
                self._change(change, received.lsn)
            case Truncate(relations=relations):
                self._truncate(relations, received.lsn)
            case Origin():
                pass

    def _next_ordinal(self) -> int:
        """Each message may be two rows, the end of one and the beginning of another."""
        self._changes += 1
        return 2 * (self._changes - 1)

    def _change(self, change: Insert | Update | Delete, lsn: int) -> None:
        ordinal = self._next_ordinal()
        delivery = self._tables.get(change.relation)
        table = self._tracker.table(change.relation, lsn) if delivery is not None else None
        if table is None or delivery is None or delivery.waits or self._begin is None:
            return
        if delivery.table.is_before(lsn):
            return
        commit = self._begin.commit_lsn
        if delivery.has_stored((commit, ordinal + 1)) or delivery.waits:
            return
        try:
            self._columns.check_rows(delivery.table, table, lsn)
            found = list(row_changes(change, table, lsn, self._values.fetch))
        except Unavailable:
            raise
        except PenstockError as error:
            delivery.flush()
            if not delivery.waits:
                delivery.stop(error, (commit, ordinal), None, self._end)
            return
        rows = [
            PackageRow((commit, ordinal + at), lsn, each.operation, each.values, each.key_only)
            for at, each in enumerate(found)
        ]
        fresh = [each for each in rows if not delivery.has_stored(each.position)]
        for each, row in zip(found, rows, strict=True):
            if each.lost and row in fresh:
                delivery.note_lost(each.lost, lsn)
        delivery.add(table.schema, fresh, self._end)

    def _truncate(self, relations: tuple[int, ...], lsn: int) -> None:
        assert self._begin is not None, "changes are inside of transactions"
        for relation in relations:
            position = (self._begin.commit_lsn, self._next_ordinal())
            delivery = self._tables.get(relation)
            if delivery is None or delivery.waits or delivery.table.is_before(lsn):
                continue
            if not delivery.has_stored(position) and not delivery.waits:
                delivery.truncate(position, lsn, self._end)

    def _confirm(self) -> None:
        """Confirm what is stored of every table, and known to be."""
        waiting = [at for each in self._tables.values() if (at := each.confirmable()) is not None]
        at = min(waiting, default=self._all_received())
        if self._note_sent():
            self._stream.confirm(self._place.confirmable(at, self._context.pace.acknowledge))
        self._stream.beat()

    def _note_sent(self) -> bool:
        """Write down how far each table was sent, now and then. Returns whether the source knows it of all."""
        begun = {oid: each for oid, each in self._tables.items() if each.is_begun}
        fresh = {oid: each for oid, each in begun.items() if self._in_source.get(oid, ()) != each.sent}
        if not fresh:
            return True
        if time.monotonic() - self._noted < self._context.pace.look:
            return False
        source = self._context.capture.source
        self._context.deliveries.note_sent(((each.table.store, source), each.sent) for each in fresh.values())
        self._in_source |= {oid: each.sent for oid, each in fresh.items()}
        self._noted = time.monotonic()
        return True

    def _all_received(self) -> int:
        """The LSN up to which all that was committed has been received."""
        return self._end if self._begin is not None else max(self._end, self._stream.received_lsn)

    def _acknowledge(self, now: float) -> None:
        """Write down up to where each table is stored: at once where rows were delivered, else now and then."""
        is_due = now - self._acknowledged >= self._context.pace.acknowledge
        if is_due:
            self._acknowledged = time.monotonic()
        due = {oid: each for oid, each in self._tables.items() if is_due or each.delivered > self._told(oid)[1]}
        complete = self._complete(due)
        if due:
            self._noted = float("-inf")
        if not self._note_sent():
            return
        for oid, each in complete.items():
            waiting = each.confirmable()
            at = waiting if waiting is not None else self._all_received()
            if at > self._told(oid)[0]:
                self._note_delivered(each.table.store, at)
                self._sent[oid] = (at, each.delivered)

    def _told(self, oid: int) -> tuple[int, int]:
        """The LSN that was acknowledged of a table, and how many packages were delivered then."""
        return self._sent.get(oid, (0, 0))

    def _complete(self, tables: Mapping[int, TableDelivery]) -> dict[int, TableDelivery]:
        """Those of which the destination lacks nothing, as far as it answers."""
        found: dict[int, TableDelivery] = {}
        for oid, each in tables.items():
            try:
                if each.waits or each.has_all():
                    found[oid] = each
            except Unavailable:
                break  # it is said once rows come
        return found

    def _note_delivered(self, store: str, lsn: int) -> None:
        """All changes of a table up to an LSN are at the destination: in a broker no store has them yet."""
        place = self._context.destination
        if place.is_broker:
            self._consumers.publish(self._context.capture.name, place.name, store, lsn_text(lsn))
        else:
            self._context.records.acknowledge(place.name, store, lsn)
