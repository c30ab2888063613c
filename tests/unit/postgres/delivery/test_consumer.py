"""What a consumer acknowledges while messages keep coming."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping

import pytest

from penstock.errors import Unavailable
from penstock.model.cursor import Position
from penstock.postgres.application.delivery_records import (
    CaptureBeginning,
    ConsumerStop,
    PublishedTable,
    SourceKey,
)
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.delivery.broker import BrokerMessage
from penstock.postgres.delivery.consumer import Consumer, ConsumerPace
from penstock.postgres.delivery.destination import Delivered, StoreLacksColumns
from penstock.postgres.packages.package import Package, PackageColumn, PackageRow, PackageSchema, RowPackage
from penstock.postgres.packages.package_codec import encode_package

SCHEMA = PackageSchema(QualifiedName("public", "t"), (PackageColumn("id", "integer", is_key=True),))


class BusyQueue:
    """A queue into which two messages come for each that is taken, one at an LSN."""

    def __init__(self) -> None:
        self.written = self.taken = 0

    def receive(self, seconds: float) -> BrokerMessage | None:
        self.written += 2
        self.taken += 1
        lsn = self.taken
        row = PackageRow((lsn, 0), lsn, "insert", ("1",))
        package = RowPackage("s", "t", SCHEMA, (lsn, 0), (row,), (lsn - 1, 0) if lsn > 1 else None)
        return BrokerMessage(encode_package(package), lsn)

    def behind(self, message: BrokerMessage) -> Iterator[BrokerMessage]:
        return iter(())

    def confirm(self, message: BrokerMessage) -> None:
        """The queue has no memory of it."""

    def is_empty(self) -> bool:
        return False


class BusyBroker:
    name = "broker"

    def __init__(self) -> None:
        self.queue = BusyQueue()
        self.asked: Callable[[], None] = lambda: None

    def queues(self, reader: str) -> Mapping[str, BusyQueue]:
        self.asked()
        return {"t": self.queue}

    def close(self) -> None:
        """There is nothing to let go of."""


class MemoryStore:
    name, is_broker = "store", False

    def __init__(self) -> None:
        self.at: Position | None = None

    def position(self, source: str, store: str) -> Position | None:
        return self.at

    def forget_position(self, source: str, store: str) -> None:
        """It is asked each time."""

    def unsure(self, source: str, store: str) -> Position | None:
        return None

    def deliver(self, package: Package) -> Delivered:
        self.at = package.upto
        return Delivered(package.upto)

    def close(self) -> None:
        """There is nothing to let go of."""


class Notes:
    """What is published is what is written; what is acknowledged must be stored."""

    def __init__(self, queue: BusyQueue, store: MemoryStore):
        self._queue, self._store = queue, store
        self.acknowledged: list[int] = []
        self.registered: list[tuple[str, str]] = []

    def register(self, consumer: str, broker: str) -> None:
        self.registered.append((consumer, broker))

    def published(self, broker: str) -> Mapping[str, PublishedTable]:
        return {"t": PublishedTable(at := self._queue.written, {"s": (at, 0)})}

    def beginning(self, store: str) -> CaptureBeginning | None:
        return CaptureBeginning(None, is_read=True)

    def passed(self, consumer: str) -> Mapping[SourceKey, Position]:
        return {}

    def note_passed(self, consumer: str, key: SourceKey, upto: Position) -> None:
        raise AssertionError("nothing is passed over here")

    def note_stop(self, stop: ConsumerStop) -> None:
        raise AssertionError("nothing stops here")

    def note_going_on(self, consumer: str, store: str) -> None:
        raise AssertionError("nothing had stopped")

    def acknowledge(self, consumer: str, store: str, lsn: int) -> None:
        assert self._store.at is not None
        assert self._store.at >= (lsn, 0)
        self.acknowledged.append(lsn)


def test_a_queue_that_is_never_empty_is_acknowledged_up_to_where_it_was() -> None:
    broker, store = BusyBroker(), MemoryStore()
    notes = Notes(broker.queue, store)
    consumer = Consumer(broker, store, lambda: len(notes.acknowledged) == 4)
    consumer.acknowledgements, consumer.pace = notes, ConsumerPace(0, 0, 0, 0)
    consumer.run()
    assert notes.acknowledged == sorted(notes.acknowledged)
    assert notes.acknowledged[0] > 0


class AwayNotes(Notes):
    """Somebody who does not answer at first."""

    def register(self, consumer: str, broker: str) -> None:
        super().register(consumer, broker)
        if len(self.registered) < 3:
            raise Unavailable("away")


def test_nothing_is_read_before_the_consumer_is_known() -> None:
    """Whoever changes the store waits for it from then on."""
    broker, store = BusyBroker(), MemoryStore()
    notes, at = AwayNotes(broker.queue, store), list[int]()
    broker.asked = lambda: at.append(len(notes.registered))
    consumer = Consumer(broker, store, lambda: len(notes.acknowledged) == 4)
    consumer.acknowledgements, consumer.pace = notes, ConsumerPace(0, 0, 0, 0)
    consumer.run()
    assert notes.registered == [("store", "broker")] * 3
    assert min(at) == 3


class PickyStore(MemoryStore):
    """A store that refuses what it is asked at first."""

    def __init__(self, patience: int) -> None:
        super().__init__()
        self._patience = patience

    def deliver(self, package: Package) -> Delivered:
        self._patience -= 1
        if self._patience >= 0:
            raise StoreLacksColumns(package.store, ["a"])
        return super().deliver(package)


def test_a_table_that_stops_and_goes_on_says_both(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "penstock.cdc")
    broker, store = BusyBroker(), PickyStore(3)
    consumer = Consumer(broker, store, lambda: store.at is not None)
    consumer.pace = ConsumerPace(0, 0, 0, 0)
    consumer.run()
    told = [each.getMessage() for each in caplog.records]
    assert [each.partition(":")[0] for each in told] == ["t stops at message 1", "t goes on behind message 1"]
