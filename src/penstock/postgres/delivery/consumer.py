"""The consumer: takes packages from a broker into a store, until it is told to end.

In: a broker and a destination. Out: packages there. Invariants: it is known where it acknowledges before it asks the
broker for anything; a message is confirmed only when its rows are stored, and rows that are stored are passed over, so
that it may be killed at any moment and started again, also beside another; a table whose rows the store cannot take
waits with its messages in the broker, and the others go on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.crash_points import crash_point
from penstock.errors import PenstockError, Unavailable
from penstock.postgres.delivery.broker import BrokerMessage, PackageBroker, PackageQueue
from penstock.postgres.delivery.consumer_progress import Acknowledgements, ConsumerProgress
from penstock.postgres.delivery.destination import Delivered, Destination, pending_part
from penstock.postgres.delivery.joined_packages import join_messages
from penstock.postgres.delivery.retry_wait import RetryWait
from penstock.postgres.packages.package import Package, RowPackage
from penstock.postgres.packages.package_builder import PackageLimits
from penstock.postgres.packages.package_codec import decode_package

log = logging.getLogger("penstock.cdc")


@dataclass(frozen=True, slots=True)
class ConsumerPace:
    """How often a consumer does what it does, in seconds."""

    wait: float = 0.2
    """For a message, before the next table is asked."""
    look: float = 5.0
    """New tables are looked for."""
    retry: float = 5.0
    """A table that waits is tried again."""
    acknowledge: float = 2.0


@dataclass(slots=True)
class _Table:
    """The queue of a table, with what is under way."""

    queue: PackageQueue
    held: BrokerMessage | None = None
    """A message that the store does not take."""
    again: float = 0.0
    """When it is tried again."""


class Consumer:
    """Runs a consumer. `stopping` is asked whether to end."""

    def __init__(self, broker: PackageBroker, destination: Destination, stopping: Callable[[], bool]):
        self._broker, self._destination, self._stopping = broker, destination, stopping
        self.acknowledgements: Acknowledgements | None = None
        """None: nobody waits for this consumer."""
        self.pace, self.limits = ConsumerPace(), PackageLimits()
        self._progress: ConsumerProgress | None = None
        self._tables: dict[str, _Table] = {}
        self._sources: set[tuple[str, str]] = set()
        """The sources of packages that were received, with their tables."""
        self._looked = self._acknowledged = float("-inf")

    def run(self) -> None:
        """Take messages until `stopping`; whatever is away is waited for. Raises PenstockError where that does not
        help: the driver is missing, there is no such capture."""
        pause = RetryWait()
        while not self._stopping():
            pause.begin()
            try:
                self._register()
                self._look()
                for store, table in self._tables.items():
                    self._take(store, table)
                self._acknowledge()
                pause.end()
            except Unavailable as error:
                log.warning("%s; trying again", error.message)
                self._forget()
                time.sleep(pause.fail())

    def _forget(self) -> None:
        """Ask anew where everything is: another process may have gone on from here."""
        self._tables, self._looked, self._progress = {}, float("-inf"), None
        for source, store in self._sources:
            self._destination.forget_position(source, store)

    def _register(self) -> None:
        """Be known before anything is read: whoever changes the store waits for this consumer from then on."""
        if self.acknowledgements is not None and self._progress is None:
            progress = ConsumerProgress(self.acknowledgements, self._destination, self._broker.name)
            progress.register()
            self._progress = progress

    def _look(self) -> None:
        """Take up the queues of new tables."""
        if time.monotonic() - self._looked >= self.pace.look or not self._tables:
            self._look_now()
            if not self._tables:
                time.sleep(self.pace.wait)

    def _look_now(self) -> None:
        self._looked = time.monotonic()
        for store, queue in self._broker.queues(self._destination.name).items():
            self._tables.setdefault(store, _Table(queue))

    def _take(self, store: str, table: _Table) -> None:
        """Store the next message of a table, and those behind it that can be stored with it. Raises Unavailable."""
        if table.held is not None and time.monotonic() < table.again:
            return
        wait = self.pace.wait / max(len(self._tables), 1)
        while (message := table.held or table.queue.receive(wait)) is not None:
            is_stored, waited = False, table.held is not None
            with self._holding(store, table, message):
                is_stored = self._store(store, table, message)
                table.queue.confirm(message)
                crash_point("cdc.confirmed")
                table.held = None
                if waited:
                    log.info("%s goes on behind message %d", store, message.place)
                    if self._progress is not None:
                        self._progress.go_on(store)
            if is_stored or table.held is not None or self._stopping():
                return  # one that was stored with the one before it is passed over at once

    def _store(self, store: str, table: _Table, message: BrokerMessage) -> bool:
        """Store what of a message is not stored yet; returns whether there was something."""
        whole = decode_package(message.content)
        self._sources.add((whole.source, whole.store))
        package = self._progress.wanted_part(whole) if self._progress is not None else whole
        pending = pending_part(self._destination, package) if package is not None else None
        if pending is None:
            return False
        done = self._deliver(pending, table, message)
        crash_point("cdc.consumed")
        if done.set_aside:
            log.warning("%s: %d rows do not fit and were set aside by the store", store, done.set_aside)
        return True

    def _deliver(self, package: Package, table: _Table, message: BrokerMessage) -> Delivered:
        unsure = self._destination.unsure(package.source, package.store)
        if isinstance(package, RowPackage) and (message.has_more or unsure is not None):
            whole = join_messages(package, table.queue.behind(message), unsure, self.limits)
            try:
                return self._destination.deliver(whole)
            except Unavailable:
                raise
            except PenstockError:
                # Where the store has refused it as a whole, it may take the rows that stand before what it refuses.
                tried = self._destination.unsure(package.source, package.store)
                if tried is not None or len(whole.rows) == len(package.rows):
                    raise
        return self._destination.deliver(package)

    @contextmanager
    def _holding(self, store: str, table: _Table, message: BrokerMessage) -> Iterator[None]:
        """A block after whose error the message is tried again later, and nothing behind it is taken."""
        try:
            yield
        except Unavailable:
            raise
        except PenstockError as error:
            if table.held is None:
                log.error("%s stops at message %d: %s", store, message.place, error.message)
                if self._progress is not None:
                    self._progress.stop(store, error)
            table.held, table.again = message, time.monotonic() + self.pace.retry

    def _acknowledge(self) -> None:
        """Acknowledge what is stored; a table of which nothing was received may be new."""
        if self._progress is None or time.monotonic() - self._acknowledged < self.pace.acknowledge:
            return
        self._acknowledged = time.monotonic()
        if self._progress.acknowledge(self._is_empty) - self._tables.keys():
            self._look_now()

    def _is_empty(self, store: str) -> bool:
        """Whether nothing of a table waits in the broker."""
        table = self._tables.get(store)
        return table is None or (table.held is None and table.queue.is_empty())
