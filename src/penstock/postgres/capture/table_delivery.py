"""Delivers the changes of one table, and stops it where its store cannot take them.

In: changes of the stream. Out: packages at their destination. Invariants: changes are delivered in the order of their
positions, each once, whatever the stream repeats; where one cannot be stored, nothing behind it is: the table waits at
its LSN, its rows in the slot, and goes on by itself once the store takes them. What was sent is known to the source, so
that a destination that has less is noticed, also after a restart.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.crash_points import crash_point
from penstock.errors import PenstockError, Unavailable
from penstock.model.cursor import Position, position_text
from penstock.postgres.application.delivery_records import DeliveryRecords, latest
from penstock.postgres.capture.records import CapturedTable, CaptureRecord, CaptureRecords
from penstock.postgres.capture.unchanged_values import Reason
from penstock.postgres.delivery.destination import Destination, LostRows, lacks
from penstock.postgres.packages.package import Package, PackageRow, PackageSchema, TruncatePackage
from penstock.postgres.packages.package_builder import PackageBuilder, PackageLimits

log = logging.getLogger("penstock.cdc")


@dataclass(frozen=True, slots=True)
class CapturePace:
    """How often a capture does what it does, in seconds."""

    retry: float = 5.0
    """A table that waits is tried again."""
    look: float = 1.0
    """Tables that were added, removed or written anew are looked for."""
    acknowledge: float = 5.0
    """An LSN is acknowledged at which no row was delivered: it keeps the slot moving while tables are quiet."""


@dataclass(frozen=True, slots=True)
class DeliveryContext:
    """What the tables of a capture share."""

    capture: CaptureRecord
    records: CaptureRecords
    deliveries: DeliveryRecords
    destination: Destination
    limits: PackageLimits
    pace: CapturePace


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """What a table waits for."""

    package: Package | None
    """What could not be delivered; None if the changes could not even be read."""
    confirmable: int
    """The LSN that may be confirmed meanwhile."""
    is_gap: bool = False
    """Whether the store lacks rows that were sent before."""


class TableDelivery:
    """The changes of one table. Unavailable goes to the caller, who begins the stream again."""

    def __init__(self, context: DeliveryContext, table: CapturedTable):
        self._context = context
        self.table = table
        self._builder = PackageBuilder(context.capture.source, table.store, context.limits)
        self._obstacle: _Obstacle | None = None
        self._tried = time.monotonic()
        self._stored: Position | None = None
        """What the next package follows: where the store says that its source is, or the last one that went into any
        broker."""
        self.sent: Position | None = None
        """Up to where everything is done, wherever it was sent."""
        self.is_begun = False
        """Whether it is known where the destination is."""
        self._was_sent = True
        """Whether rows were sent before; not known at first."""
        self._lost: Counter[tuple[str, Reason]] = Counter()
        """The rows that wait and are without a value, for each column."""
        self.delivered = 0
        """Packages that were delivered."""

    @property
    def waits(self) -> bool:
        """Whether something stops the table."""
        return self._obstacle is not None

    def confirmable(self) -> int | None:
        """The LSN up to which its changes are stored; None if all that were received are."""
        if self._obstacle is not None:
            return self._obstacle.confirmable
        return None if self._builder.is_empty else self._builder.confirmable

    def has_all(self) -> bool:
        """Whether the destination lacks nothing that was sent before. Raises Unavailable."""
        try:
            self._begin()
        except Unavailable:
            raise
        except PenstockError:
            return not self._was_sent  # its first row stops it
        return self.is_begun

    def has_stored(self, position: Position) -> bool:
        """Whether the change at a position is stored. Raises Unavailable."""
        try:
            self._begin()
        except Unavailable:
            raise
        except PenstockError as error:
            self.stop(error, position, None, 0)
        return self.sent is not None and position <= self.sent

    def _begin(self) -> None:
        """Ask where the destination is, once. Where it is behind what was sent, such as a store that was put back, or
        that does not have yet what is in a broker of before, the table waits. Raises what the destination raises."""
        if self.is_begun or self._obstacle is not None:
            return
        source, store, destination = self._context.capture.source, self.table.store, self._context.destination
        known = self._context.deliveries.sent(store)
        self._was_sent = any(each is not None for each in known.values())
        stored = destination.position(source, store)
        if destination.is_broker:
            self._note_reading(known)
        elif (gap := self._find_gap(known)) is not None:
            self.stop(gap, gap.sent, None, 0)
            return
        self.sent = latest(known.get(source), stored)
        self._stored = self.sent if destination.is_broker else stored
        self._builder.whole = destination.unsure(source, store)
        self.is_begun = True

    def _find_gap(self, sent: Mapping[str, Position | None]) -> LostRows | None:
        """What the store lacks of what was sent, by source."""
        store = self.table.store
        for source, upto in sent.items():
            stored = self._context.destination.position(source, store)
            if upto is not None and lacks(stored, upto):
                return LostRows(store, stored, upto)
        return None

    def _note_reading(self, sent: Mapping[str, Position | None]) -> None:
        """Write down how far the rows that are read are in a broker, if nobody has, as before there were such
        records."""
        source, store = self._context.capture.read_source, self.table.store
        if source not in sent and not self.table.insert_only:
            upto = self._context.destination.position(source, store)
            self._context.deliveries.note_sent([((store, source), upto)])

    def add(self, schema: PackageSchema, rows: Iterable[PackageRow], confirmable: int) -> None:
        """Take rows that are not stored yet. Raises Unavailable."""
        for row in rows:
            if not self._builder.fits(schema):
                self.flush()
            if self._obstacle is not None:
                return
            self._builder.add(schema, row, confirmable)
            if self._builder.is_full:
                self.flush()

    def note_lost(self, lost: Mapping[str, Reason], lsn: int) -> None:
        """The row that is added next is without these values. Where the table still has them it is read again. Raises
        Unavailable."""
        self._lost.update(lost.items())
        if "changed" in lost.values():
            self._context.records.read_later(self.table, lsn)

    def truncate(self, position: Position, version: int, confirmable: int) -> None:
        """Take a TRUNCATE. Raises Unavailable."""
        self.flush()
        if self._obstacle is None:
            source, table = self._context.capture.source, self.table
            self._deliver(TruncatePackage(source, table.store, table.name, position, version), confirmable)

    def flush_old(self) -> None:
        """Deliver rows that have waited long enough. Raises Unavailable."""
        if self._builder.is_old():
            self.flush()

    def flush_whole(self) -> None:
        """Deliver what waits at the end of a run, unless it is a part of a package that was sent before: sent under
        another name it could be there twice. Raises Unavailable."""
        if not self._builder.is_partial:
            self.flush()

    def flush(self) -> None:
        """Deliver what waits. Raises Unavailable."""
        if not self._builder.is_empty and self._obstacle is None:
            confirmable = self._builder.confirmable
            self._deliver(self._builder.take(), confirmable)

    def stop(self, error: PenstockError, position: Position, package: Package | None, confirmable: int) -> None:
        """The table waits at a position until the error is gone."""
        if not self._builder.is_empty:
            confirmable = self._builder.confirmable
        self._obstacle = _Obstacle(package, confirmable, isinstance(error, LostRows))
        self._builder = PackageBuilder(self._context.capture.source, self.table.store, self._context.limits)
        self._lost.clear()  # its rows come again
        self._tried = time.monotonic()
        self._context.records.note_problem(self.table, error.code, error.message, position[0])
        log.error("%s stops at %s: %s", self.table.name, position_text(position), error.message)

    def may_go_on(self) -> bool:
        """Try a table that waits again, now and then. Returns whether what stopped it is gone: then the stream is to
        begin again, since it has passed over what follows. Raises Unavailable."""
        obstacle = self._obstacle
        if obstacle is None or time.monotonic() - self._tried < self._context.pace.retry:
            return False
        self._tried = time.monotonic()
        if obstacle.is_gap:
            return self._is_closed()
        if obstacle.package is not None:
            try:
                self._context.destination.deliver(obstacle.package)
            except Unavailable:
                raise
            except PenstockError as error:
                self._context.records.note_problem(self.table, error.code, error.message, obstacle.package.upto[0])
                return False
            self._context.records.note_problem(self.table, None, None)
            log.info("%s goes on", self.table.name)
        return True

    def _is_closed(self) -> bool:
        """Whether the store has what it lacked, or the table was captured anew. Raises what the store raises."""
        sent = self._context.deliveries.sent(self.table.store)
        for source in sent:
            self._context.destination.forget_position(source, self.table.store)
        if self._find_gap(sent) is not None:
            return False
        self._context.records.note_problem(self.table, None, None)
        log.info("%s goes on", self.table.name)
        return True

    def _deliver(self, package: Package, confirmable: int) -> None:
        following = package.following(self._stored)
        if self._lost:
            self._context.records.note_lost(self.table, package.upto, self._lost)
            named = ", ".join(sorted({column for column, _ in self._lost}))
            log.error("%s: rows are without a value of %s, which Postgres has no more", self.table.name, named)
            self._lost.clear()
        crash_point("cdc.before-delivery")
        try:
            done = self._context.destination.deliver(following)
        except Unavailable:
            raise
        except PenstockError as error:
            self.stop(error, package.upto, following, confirmable)
            return
        crash_point("cdc.delivered")
        self._stored = done.position
        self.sent = package.upto
        self.delivered += 1
        if self.table.problem is not None:
            self._context.records.note_problem(self.table, None, None)
        if done.set_aside:
            log.warning("%s: %d rows do not fit and were set aside by the store", self.table.name, done.set_aside)
            self._context.records.note_set_aside(self.table, done.set_aside)
