"""Two processes that are one consumer. A real Postgres and NATS."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from nats_server import NatsServer
from penstock.postgres.delivery.consumer import Consumer, ConsumerPace
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.consuming import RunningConsumer
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
SMALL = PackageLimits(rows=3, seconds=0.02)


@contextmanager
def unknown_consumer(broker: NatsBroker, store: PenstockLanding) -> Iterator[None]:
    """A consumer without the source's DSN."""
    stop = threading.Event()
    consumer = Consumer(broker, store, stop.is_set)
    consumer.pace = ConsumerPace(0.05, 0.1, 0.1, 0.1)
    thread = threading.Thread(target=consumer.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
        broker.close()


def test_a_second_process_waits_for_the_first(
    source: Source, nats: NatsServer, landing: Landing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "penstock.cdc")
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY)")
    source.set_up("t")
    landing[0].columns["t"] = frozenset({"id"})

    def start() -> RunningConsumer:
        return RunningConsumer(source, NatsBroker(nats.url, source.name), PenstockLanding(*landing[1:]))

    with closing(NatsBroker(nats.url, source.name)) as broker, producing(source.dsn, source.name, broker, SMALL):
        first = start()
        source.wait_until_stored()
        source.run("INSERT INTO {s}.t VALUES (1)")
        source.wait_until_stored()
        second = start()
        waits = f"another process is the consumer {source.name}/penstock: this one waits until it ends"
        wait_until(lambda: waits in caplog.text, 30)
        source.run("INSERT INTO {s}.t VALUES (2)")
        source.wait_until_stored()
        first.stop()
        source.run("INSERT INTO {s}.t VALUES (3)")
        source.wait_until_stored()
        second.stop()
    assert [row["id"] for row in landing[0].landed("t")] == [1, 2, 3]


def test_two_that_nobody_knows_share_the_messages(
    source: Source, nats: NatsServer, landing: Landing, caplog: pytest.LogCaptureFixture
) -> None:
    """One may have stored what is before the message of the other."""
    caplog.set_level(logging.WARNING, "penstock.cdc")
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY)")
    source.set_up("t")
    landing[0].columns["t"] = frozenset({"id"})
    with ExitStack() as stack:
        broker = stack.enter_context(closing(NatsBroker(nats.url, source.name)))
        stack.enter_context(producing(source.dsn, source.name, broker, SMALL))
        for _ in range(2):
            stack.enter_context(unknown_consumer(NatsBroker(nats.url, source.name), PenstockLanding(*landing[1:])))
        wait_until(lambda: source.records.tables()[0].read.done, 30)
        for number in range(30):
            source.run(f"INSERT INTO {{s}}.t VALUES ({number})")
            wait_until(lambda wanted=number + 1: len(landing[0].landed("t")) == wanted, 30)  # type: ignore[misc]
    assert [row["id"] for row in landing[0].landed("t")] == list(range(30))
    assert "stops at" not in caplog.text
