"""Messages that wait behind each other are stored as one package, as far as they are one run of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.cursor import Position
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.delivery.broker import BrokerMessage
from penstock.postgres.delivery.consumer import Consumer, ConsumerPace
from penstock.postgres.delivery.destination import Delivered, UnstorableRow
from penstock.postgres.delivery.joined_packages import join_messages
from penstock.postgres.packages.package import (
    Package,
    PackageColumn,
    PackageRow,
    PackageSchema,
    RowPackage,
    TruncatePackage,
)
from penstock.postgres.packages.package_builder import PackageLimits
from penstock.postgres.packages.package_codec import encode_package

SCHEMA = PackageSchema(QualifiedName("public", "t"), (PackageColumn("id", "integer", is_key=True),))
OTHER = PackageSchema(QualifiedName("public", "t"), (PackageColumn("key", "integer", is_key=True),))


def package(at: int, schema: PackageSchema = SCHEMA, source: str = "s") -> RowPackage:
    row = PackageRow((at, 0), at, "insert", (str(at),))
    return RowPackage(source, "t", schema, (at, 0), (row,), (at - 1, 0) if at > 1 else None)


def messages(packages: Sequence[Package]) -> list[BrokerMessage]:
    return [BrokerMessage(encode_package(each), at) for at, each in enumerate(packages)]


def ends_at(packages: Sequence[Package], unsure: Position | None = None, rows: int = 5_000) -> int:
    first = packages[0]
    assert isinstance(first, RowPackage)
    found = join_messages(first, messages(packages[1:]), unsure, PackageLimits(rows=rows))
    assert [each.position for each in found.rows] == [(at, 0) for at in range(1, found.upto[0] + 1)]
    assert found.after == first.after
    return found.upto[0]


def test_what_is_joined_is_one_run_of_rows() -> None:
    run = [package(at) for at in range(1, 6)]
    assert ends_at(run) == 5
    assert ends_at(run, rows=3) == 3
    assert ends_at(run, (4, 0), rows=3) == 4, "a package that was sent before comes whole"
    truncate = TruncatePackage("s", "t", SCHEMA.table, (3, 0), 3, (2, 0))
    others = (package(3, source="s/read"), replace(package(3), after=(1, 0)), replace(package(3), as_of=3))
    for third in (truncate, package(3, OTHER), *others):
        assert ends_at([*run[:2], third, *run[3:]]) == 2
    long = package(2)
    long = replace(long, rows=(replace(long.rows[0], values=("9" * 5 * 2**20,)),))
    assert ends_at([run[0], long]) == 1


class ListQueue:
    """Messages that are all there."""

    def __init__(self, packages: Sequence[Package]):
        self._messages = messages(packages)
        self.at = 0

    def receive(self, seconds: float) -> BrokerMessage | None:
        return self._messages[self.at] if self.at < len(self._messages) else None

    def behind(self, message: BrokerMessage) -> Iterator[BrokerMessage]:
        yield from self._messages[message.place + 1 :]

    def confirm(self, message: BrokerMessage) -> None:
        assert message.place == self.at
        self.at += 1

    def is_empty(self) -> bool:
        return self.at == len(self._messages)


class ListBroker:
    name = "broker"

    def __init__(self, queue: ListQueue):
        self._queue = queue

    def queues(self, reader: str) -> Mapping[str, ListQueue]:
        return {"t": self._queue}

    def close(self) -> None:
        """There is nothing to let go of."""


class PickyStore:
    """A store that takes some rows only once it is asked often enough."""

    name = "store"

    def __init__(self, refused: frozenset[int], patience: int):
        self._refused, self._patience = refused, patience
        self.at: Position | None = None
        self.rows: list[int] = []
        self.calls = 0

    def position(self, source: str, store: str) -> Position | None:
        return self.at

    def forget_position(self, source: str, store: str) -> None:
        """It is asked each time."""

    def unsure(self, source: str, store: str) -> Position | None:
        return None

    def deliver(self, package: Package) -> Delivered:
        self.calls += 1
        assert isinstance(package, RowPackage)
        found = [each.version for each in package.rows]
        if self._refused & {*found} and self.calls < self._patience:
            raise UnstorableRow("it is picky")
        self.rows += found
        self.at = package.upto
        return Delivered(package.upto)

    def close(self) -> None:
        """There is nothing to let go of."""


@given(
    schemas=st.lists(st.sampled_from([SCHEMA, OTHER]), min_size=1, max_size=30),
    refused=st.frozensets(st.integers(1, 30)),
)
def test_each_row_is_stored_once_and_all_before_one_that_waits(
    schemas: list[PackageSchema], refused: frozenset[int]
) -> None:
    packages = [package(at, schema) for at, schema in enumerate(schemas, 1)]
    queue, store = ListQueue(packages), PickyStore(refused, patience=100)
    waits_at = min((at for at in refused if at <= len(packages)), default=len(packages) + 1)

    def stopping() -> bool:
        assert store.calls < 100 or store.rows[: waits_at - 1] == list(range(1, waits_at))
        return queue.is_empty()

    consumer = Consumer(ListBroker(queue), store, stopping)
    consumer.pace, consumer.limits = ConsumerPace(0, 0, 0, 0), PackageLimits(rows=7)
    consumer.run()
    assert store.rows == list(range(1, len(packages) + 1))


def test_a_backlog_is_few_calls() -> None:
    queue, store = ListQueue([package(at) for at in range(1, 101)]), PickyStore(frozenset(), 0)
    consumer = Consumer(ListBroker(queue), store, queue.is_empty)
    consumer.pace = ConsumerPace(0, 0, 0, 0)
    consumer.run()
    assert store.rows == list(range(1, 101))
    assert store.calls == 1
