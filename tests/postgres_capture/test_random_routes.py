"""Rows take any routes: over two brokers and straight into the store, while consumers come and go, and brokers are
emptied. What is acknowledged is in the store; what is not comes, or is told to be lost and comes when the table is read
anew. A real Postgres and NATS.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from nats_server import NatsServer, nats_or_skip
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.lsn import parse_lsn
from penstock.postgres.catalog.source_connection import SourceConnection
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.consuming import RunningConsumer
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import RunningProducer
from postgres_capture.test_routes import in_nats
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
SMALL = PackageLimits(rows=2, seconds=0.01)
numbers = itertools.count(1)
PLACE = st.sampled_from(["one", "other", "store"])
PLAIN = ["write", "write", "delete", "truncate", "settle", "anew", "rewrite", "open"]
STEP = st.one_of(
    st.tuples(st.sampled_from(PLAIN), st.none()),
    st.tuples(st.just("deliver"), PLACE),
    st.tuples(st.sampled_from(["consume", "purge"]), st.sampled_from(["one", "other"])),
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, NatsServer]]:
    with ExitStack() as stack:
        made = {name: nats_or_skip(tmp_path_factory.mktemp(name)) for name in ("one", "other")}
        for each in made.values():
            stack.callback(each.kill)
        yield made


class Routes:
    """A capture whose producer and consumer are moved."""

    def __init__(self, source: Source, servers: dict[str, NatsServer], landing: Landing):
        self.source, self.servers, self.landing = source, servers, landing
        self.name = f"t_{next(numbers)}"
        source.run(f"CREATE TABLE {{s}}.{self.name} (id int PRIMARY KEY); INSERT INTO {{s}}.{self.name} VALUES (0)")
        source.set_up(self.name)
        landing[0].columns[self.name] = frozenset({"id"})
        self.producer: RunningProducer | None = None
        self.brokers: list[NatsBroker] = []
        self.consumer: RunningConsumer | None = None
        self.open: SourceConnection | None = None
        """A transaction that is under way."""
        self.deliver("one")

    def step(self, kind: str, place: str | None) -> None:
        match kind:
            case "write":
                self.source.run(f"INSERT INTO {{s}}.{self.name} VALUES ({next(numbers)}), ({next(numbers)})")
            case "delete":
                self.source.run(f"DELETE FROM {{s}}.{self.name} WHERE id = (SELECT max(id) FROM {{s}}.{self.name})")
            case "truncate":
                self.commit()
                self.source.run(f"TRUNCATE {{s}}.{self.name}")
            case "rewrite":
                self.commit()
                self.source.run(f"VACUUM FULL {{s}}.{self.name}")
            case "open":
                self.commit()
                self.open = self.source.postgres.connect()
                self.open.autocommit = False
                self.open.cursor().execute(f"INSERT INTO {self.source.schema}.{self.name} VALUES ({next(numbers)})")
            case "settle":
                self.is_told()
            case "anew":
                self.anew()
            case "deliver" if place is not None:
                self.deliver(place)
            case "consume" if place is not None:
                self.consume(place)
            case "purge" if place is not None and self.brokers:
                wait_until(lambda: self.has_stream(place), 30)
                in_nats(self.servers[place], self.source, "purge_stream")

    def commit(self) -> None:
        """End the transaction that is under way: others wait for its locks."""
        if self.open is not None:
            self.open.commit()
            self.open.close()
            self.open = None

    def has_stream(self, place: str) -> bool:
        broker = NatsBroker(self.servers[place].url, self.source.name)
        broker.queues("nobody")  # makes it
        broker.close()
        return True

    def deliver(self, place: str) -> None:
        if self.producer is not None:
            self.producer.stop()
        if place == "store":
            destination: NatsBroker | PenstockLanding = PenstockLanding(*self.landing[1:])
        else:
            destination = NatsBroker(self.servers[place].url, self.source.name)
            self.brokers.append(destination)
        self.place = place
        self.producer = RunningProducer(self.source.dsn, self.source.name, destination, SMALL)

    def consume(self, place: str) -> None:
        if self.consumer is not None:
            self.consumer.stop()
        broker = NatsBroker(self.servers[place].url, self.source.name)
        self.consumer = RunningConsumer(self.source, broker, PenstockLanding(*self.landing[1:]))

    def is_told(self) -> bool:
        """Wait until all that is written is acknowledged, or rows are said to be lost. Returns which."""
        self.commit()
        if self.place != "store":
            self.consume(self.place)
        ends, found = list[int](), list[bool]()

        def is_known() -> bool:
            assert self.producer is not None
            self.producer.check()
            status = read_status(self.source.connection, self.source.name)
            (table,) = (each for each in self.source.records.tables() if each.store == self.name)
            if not table.read.done or table.files != table.files_now:
                ends.clear()
            elif not ends:
                ends.append(self.source.written())  # the rows that were read are on their way
            acknowledged = [parse_lsn(each.lsn) for each in status.acknowledged if each.store == self.name]
            if ends and acknowledged and max(acknowledged) >= ends[0]:
                found.append(True)
            elif any("were sent before those that come next" in each for each in status.alarms):
                found.append(False)
            return bool(found)

        wait_until(is_known, 60, lambda: f"{ends} {read_status(self.source.connection, self.source.name)}")
        event("stored" if found[0] else "lost")
        if found[0]:
            self.check()
        return found[0]

    def anew(self) -> None:
        self.source.remove(self.name)
        if self.consumer is not None:
            self.consumer.wait_for_rounds()  # what it was about to store is stored
        if self.place == "store":
            self.deliver("store")  # so is what the producer had received
        self.landing[0].truncate(self.name, f"anew {next(numbers)}")
        self.source.set_up(self.name)

    def check(self) -> None:
        expected = {id for (id,) in self.source.rows(f"SELECT id FROM {{s}}.{self.name}")}
        assert {id for (id,) in self.landing[0].final(self.name, ("id",))} == expected

    def end(self) -> None:
        self.commit()
        if self.consumer is not None:
            self.consumer.stop()
        assert self.producer is not None
        self.producer.stop()
        for each in self.brokers:
            each.close()
        self.source.remove(self.name)


def run(routes: Routes, steps: list[tuple[str, str | None]]) -> None:
    try:
        for kind, place in steps:
            note(f"{kind} {place}")
            routes.step(kind, place)
        if not routes.is_told():
            note("anew")
            routes.anew()
            assert routes.is_told(), "what was lost was read anew"
    finally:
        routes.end()


RELAXED = settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@RELAXED
@given(steps=st.lists(STEP, min_size=4, max_size=12))
def test_rows_are_stored_or_told(
    source: Source, servers: dict[str, NatsServer], landing: Landing, steps: list[tuple[str, str | None]]
) -> None:
    run(Routes(source, servers, landing), steps)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(RELAXED, max_examples=40)
@given(steps=st.lists(STEP, min_size=4, max_size=20))
def test_rows_are_stored_or_told_after_many_steps(
    source: Source, servers: dict[str, NatsServer], landing: Landing, steps: list[tuple[str, str | None]]
) -> None:
    run(Routes(source, servers, landing), steps)
