"""Rows of a real Postgres over a real NATS JetStream into Penstock's ingestion, with kills of each part."""

from __future__ import annotations

import pytest

from nats_server import NatsServer
from penstock.crash_points import arm, disarm
from penstock.errors import Unavailable
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.consuming import RunningConsumer, consuming_over_nats
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import RunningProducer, producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
SMALL = PackageLimits(rows=3, seconds=0.02)


def test_rows_go_through_and_a_table_waits_alone(source: Source, nats: NatsServer, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY, name text); CREATE TABLE {s}.two (id int PRIMARY KEY)")
    source.run("INSERT INTO {s}.one SELECT n, 'x' FROM generate_series(1, 10) n")
    source.set_up("one", "two")
    landing[0].columns |= {"one": frozenset({"id", "name"}), "two": frozenset({"id"})}
    broker = NatsBroker(nats.url, source.name)
    with producing(source.dsn, source.name, broker, SMALL), consuming_over_nats(source, nats, landing):
        source.wait_until_stored("penstock")
        assert len(landing[0].final("one", ("id",))) == 10
        source.run("TRUNCATE {s}.one; INSERT INTO {s}.one VALUES (11, 'y')")
        source.run("ALTER TABLE {s}.one ADD COLUMN more text; INSERT INTO {s}.one VALUES (12, 'z', 'kept')")
        source.run("INSERT INTO {s}.two VALUES (1)")
        wait_until(lambda: len(landing[0].landed("two")) == 1, 30)
        wait_until(lambda: len(landing[0].final("one", ("id",))) == 1, 30)
        landing[0].columns["one"] = frozenset({"id", "name", "more"})
        source.wait_until_stored("penstock")
    found = landing[0].final("one", ("id",))
    assert {key[0]: row.get("more") for key, row in found.items()} == {11: None, 12: "kept"}
    broker.close()


@pytest.mark.parametrize("point", ["cdc.before-delivery", "cdc.delivered", "cdc.consumed", "cdc.confirmed", "broker"])
def test_kills_of_producer_broker_and_consumer(source: Source, nats: NatsServer, landing: Landing, point: str) -> None:
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY)")
    source.set_up("t")
    landing[0].columns["t"] = frozenset({"id"})
    producer = RunningProducer(source.dsn, source.name, NatsBroker(nats.url, source.name), SMALL)
    consumer = RunningConsumer(source, NatsBroker(nats.url, source.name), PenstockLanding(*landing[1:]))
    source.wait_until_stored("penstock")
    if point != "broker":
        arm(point, 1 if point == "cdc.consumed" else 2, lambda: None)  # messages may be stored as one
    for number in range(12):
        source.run(f"INSERT INTO {{s}}.t VALUES ({number})")
        if point == "broker" and number % 5 == 2:
            nats.kill()
            nats.start()
    if point != "broker":
        wait_until(lambda: producer.has_ended or consumer.has_ended, 30)
    disarm()
    producer.stop()
    consumer.stop()
    producer = RunningProducer(source.dsn, source.name, NatsBroker(nats.url, source.name), SMALL)
    consumer = RunningConsumer(source, NatsBroker(nats.url, source.name), PenstockLanding(*landing[1:]))
    source.wait_until_stored("penstock")
    producer.stop()
    consumer.stop()
    assert [row["id"] for row in landing[0].landed("t")] == list(range(12))


def test_a_backlog_is_stored_in_few_posts(source: Source, nats: NatsServer, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY)")
    source.set_up("t")
    landing[0].columns["t"] = frozenset({"id"})
    broker = NatsBroker(nats.url, source.name)
    with producing(source.dsn, source.name, broker, SMALL):
        for number in range(20):
            source.run(f"INSERT INTO {{s}}.t SELECT {number} * 6 + n FROM generate_series(1, 6) n")
        source.run("TRUNCATE {s}.t; INSERT INTO {s}.t SELECT 200 + n FROM generate_series(1, 30) n")
        source.wait_until_published()
        with consuming_over_nats(source, nats, landing):
            source.wait_until_stored("penstock")
    assert landing[0].posts <= 4, "one for the rows on each side of the TRUNCATE, and for those that were read"
    streamed = [row["id"] for row in landing[0].landed("t") if row["cdc_version"] != row["cdc_commit_lsn"]]
    assert streamed == list(range(201, 231))
    broker.close()


def test_large_packages_are_divided_and_a_large_row_waits(source: Source, nats: NatsServer, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY, name text)")
    source.set_up("t")
    landing[0].columns["t"] = frozenset({"id", "name"})
    broker = NatsBroker(nats.url, source.name)
    with producing(source.dsn, source.name, broker), consuming_over_nats(source, nats, landing):
        source.wait_until_stored("penstock")
        source.run("INSERT INTO {s}.t SELECT n, repeat('x', 200000) FROM generate_series(1, 9) n")
        source.wait_until_stored("penstock")
        source.run("INSERT INTO {s}.t VALUES (10, repeat('x', 1100000))")
        wait_until(lambda: "as a message" in str(source.records.tables()[0].problem), 30)
    assert [row["id"] for row in landing[0].landed("t")] == list(range(1, 10))
    broker.close()


def test_a_server_that_is_not_there(source: Source) -> None:
    broker = NatsBroker("nats://127.0.0.1:1", source.name)
    with pytest.raises(Unavailable, match="NATS does not answer"):
        broker.position("a", "b")
    broker.close()
