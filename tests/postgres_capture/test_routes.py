"""Rows that were sent and are in no store: they are in a broker of before, were removed from one, or the consumer asks
another one. Nothing is passed over, and nothing is acknowledged. A real Postgres, NATS and Kafka.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import nats as nats_driver
import pytest

from kafka_broker import kafka_or_skip
from nats_server import NatsServer, nats_or_skip
from penstock.postgres.capture.setup import remove_consumer
from penstock.postgres.capture.status import CaptureStatus, read_status
from penstock.postgres.delivery.kafka_broker import KafkaBroker
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.consuming import RunningConsumer, consuming_over_nats
from postgres_capture.landing_server import InboxPipeline, landing_server
from postgres_capture.producing import RunningProducer, producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
SMALL = PackageLimits(rows=3, seconds=0.02)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[NatsServer, NatsServer]]:
    with ExitStack() as stack:
        made = [nats_or_skip(tmp_path_factory.mktemp(name)) for name in ("one", "other")]
        for each in made:
            stack.callback(each.kill)
        yield made[0], made[1]


@pytest.fixture
def table(source: Source, landing: Landing) -> Source:
    """A source with a table `t`, of which nothing is captured yet."""
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY); INSERT INTO {s}.t VALUES (1)")
    source.set_up("t")
    landing[0].columns["t"] = frozenset({"id"})
    return source


def status(source: Source) -> CaptureStatus:
    return read_status(source.connection, source.name)


def lost(source: Source) -> list[str]:
    """The alarms of a table that lacks rows."""
    return [each for each in status(source).alarms if "were sent before those that come next" in each]


def ids(landing: Landing) -> set[int]:
    return {id for (id,) in landing[0].final("t", ("id",))}


@contextmanager
def publishing(source: Source, server: NatsServer) -> Iterator[RunningProducer]:
    broker = NatsBroker(server.url, source.name)
    with producing(source.dsn, source.name, broker, SMALL) as running:
        yield running
    broker.close()


def in_nats(server: NatsServer, source: Source, name: str) -> None:
    """Call what an administrator does to the stream."""

    async def call() -> None:
        client = await nats_driver.connect(server.url)
        await getattr(client.jetstream(), name)(f"penstock_cdc_{source.name}")
        await client.close()

    asyncio.run(call())


@pytest.mark.parametrize("left", [{1}, {1, 2}])
def test_rows_that_are_left_in_a_former_broker(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing, left: set[int]
) -> None:
    """The new one goes on once a consumer has brought them; until then it says so, and behind changes it stops."""
    former, new = servers
    with publishing(table, former):
        table.wait_until_published()
        if 2 in left:
            table.run("INSERT INTO {s}.t VALUES (2)")
            table.wait_until_published()
    table.run("INSERT INTO {s}.t VALUES (3)")
    with publishing(table, new):
        table.wait_until_published()
        with consuming_over_nats(table, new, landing):
            wait_until(lambda: lost(table), 30)
            assert "penstock takes no rows of `t`: `t` has nothing" in lost(table)[0]
            assert (status(table).acknowledged, ids(landing)) == ((), {3} - {each + 1 for each in left})
        with consuming_over_nats(table, former, landing):
            wait_until(lambda: left <= ids(landing), 30)
        with consuming_over_nats(table, new, landing):
            table.wait_until_stored()
            assert lost(table) == []
    assert ids(landing) == {*left, 3}


def test_rows_of_a_stream_that_were_read_are_no_gap_in_a_new_one(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing
) -> None:
    former, new = servers
    with publishing(table, former), consuming_over_nats(table, former, landing):
        table.run("INSERT INTO {s}.t VALUES (2)")
        table.wait_until_stored()
    with publishing(table, new), consuming_over_nats(table, new, landing):
        table.run("INSERT INTO {s}.t VALUES (3)")
        table.wait_until_stored()
    with publishing(table, former), consuming_over_nats(table, former, landing):
        table.run("INSERT INTO {s}.t VALUES (4); TRUNCATE {s}.t; INSERT INTO {s}.t VALUES (5)")
        table.wait_until_stored()
        table.run("TRUNCATE {s}.t")
        table.wait_until_stored()
        assert lost(table) == []
    assert ids(landing) == set()


@pytest.mark.parametrize("way", ["another broker", "a store", "the same broker, emptied"])
def test_a_truncate_that_is_left_behind(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing, way: str
) -> None:
    """The rows of before it stay in the store until it comes: until then no row behind it is stored, and it is said."""
    former, new = servers
    with publishing(table, former):
        with consuming_over_nats(table, former, landing):
            table.wait_until_stored()
        table.run("TRUNCATE {s}.t")
        table.wait_until_published()
    table.run("INSERT INTO {s}.t VALUES (2)")
    if way == "the same broker, emptied":
        in_nats(former, table, "purge_stream")
    with ExitStack() as stack:
        if way == "a store":
            stack.enter_context(producing(table.dsn, table.name, PenstockLanding(*landing[1:]), SMALL))
        else:
            place = new if way == "another broker" else former
            stack.enter_context(publishing(table, place))
            stack.enter_context(consuming_over_nats(table, place, landing))
        wait_until(lambda: lost(table), 30)
        assert ids(landing) == {1}
        if way == "a store":
            with consuming_over_nats(table, former, landing):
                wait_until(lambda: ids(landing) == set(), 30)
        else:
            table.remove("t")
            landing[0].truncate("t", "anew")
            table.set_up("t")
        table.wait_until_stored()
        assert lost(table) == []
    assert ids(landing) == {2}


def test_rows_that_were_read_behind_a_truncate_that_is_left_behind(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing
) -> None:
    """They are not stored before it: it would remove them when it comes."""
    former, new = servers
    with publishing(table, former):
        with consuming_over_nats(table, former, landing):
            table.wait_until_stored()
        table.run("TRUNCATE {s}.t; INSERT INTO {s}.t VALUES (2)")
        table.wait_until_published()
    table.run("VACUUM FULL {s}.t")
    with publishing(table, new):
        table.wait_until_published()
        with consuming_over_nats(table, new, landing):
            wait_until(lambda: lost(table), 30)
            assert ids(landing) == {1}
        with consuming_over_nats(table, former, landing):
            wait_until(lambda: ids(landing) == {2}, 30)
        with consuming_over_nats(table, new, landing):
            table.wait_until_stored()
            assert lost(table) == []
    assert ids(landing) == {2}


@pytest.mark.parametrize("forgets", ["the consumer", "what was sent"])
def test_a_truncate_that_nobody_knows_of_any_more(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing, forgets: str
) -> None:
    """The store tells that it was carried out."""
    with publishing(table, servers[0]), consuming_over_nats(table, servers[0], landing):
        table.wait_until_stored()
        table.run("INSERT INTO {s}.t VALUES (2)")
        table.run("TRUNCATE {s}.t")
        table.wait_until_stored()
    if forgets == "the consumer":
        remove_consumer(table.connection, table.name, "penstock")
    else:  # as before there were records
        table.run(f"DELETE FROM penstock.delivered WHERE capture = '{table.name}'")
        table.run(f"DELETE FROM penstock.passed WHERE capture = '{table.name}'")
    with publishing(table, servers[0]), consuming_over_nats(table, servers[0], landing):
        table.run("CREATE TABLE {s}.other (id int)")  # writes to the log
        table.wait_until_stored()
        assert (ids(landing), lost(table)) == (set(), [])


def test_a_transaction_that_is_under_way_when_its_table_is_captured_anew(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing
) -> None:
    """Its changes of before are read, not stored from the stream: what comes behind them does not wait for them."""
    early = table.postgres.connect()
    early.autocommit = False
    with publishing(table, servers[0]), consuming_over_nats(table, servers[0], landing):
        table.wait_until_stored()
        early.cursor().execute(f"INSERT INTO {table.schema}.t VALUES (2)")
        table.remove("t")
        table.set_up("t")
        early.commit()
        table.wait_until_stored()
        table.run("INSERT INTO {s}.t VALUES (3)")
        table.wait_until_stored()
        assert lost(table) == []
    early.close()
    assert ids(landing) == {1, 2, 3}


@pytest.mark.parametrize("act", ["purge_stream", "delete_stream"])
@pytest.mark.parametrize("runs", [True, False])
def test_a_stream_that_was_emptied(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing, act: str, runs: bool
) -> None:
    """What nobody had read is gone: the consumer does not go on behind it, also where the producer began anew."""
    server = servers[0]
    with publishing(table, server):
        with consuming_over_nats(table, server, landing):
            table.wait_until_stored()
        table.run("INSERT INTO {s}.t VALUES (2)")
        table.wait_until_published()
        if runs:
            in_nats(server, table, act)
            table.run("INSERT INTO {s}.t VALUES (3)")
            table.wait_until_published()
    if not runs:
        in_nats(server, table, act)
        table.run("INSERT INTO {s}.t VALUES (3)")
    before = table.written()
    with publishing(table, server), consuming_over_nats(table, server, landing) as running:
        table.wait_until_published()
        wait_until(lambda: lost(table), 30)
        running.wait_for_rounds()
        assert [each for each in status(table).acknowledged if int(each.lag_bytes) <= table.written() - before] == []
        assert ids(landing) == {1}
        table.remove("t")
        table.set_up("t")
        table.wait_until_stored()
        assert lost(table) == []
    assert ids(landing) == {1, 2, 3}


def test_a_consumer_that_asks_another_broker(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing
) -> None:
    """It has nothing to read there, which is no acknowledgement."""
    right, wrong = servers
    with publishing(table, right):
        table.run("INSERT INTO {s}.t VALUES (2)")
        table.wait_until_published()
        with consuming_over_nats(table, wrong, landing) as running:
            running.wait_for_rounds()
        assert (status(table).consumers, status(table).acknowledged) == (("penstock",), ())
        with consuming_over_nats(table, right, landing):
            table.wait_until_stored()
    assert ids(landing) == {1, 2}


def test_a_store_that_lacks_what_is_in_a_broker(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing
) -> None:
    """A producer that delivers straight into the store waits until it has that."""
    with publishing(table, servers[0]):
        table.run("INSERT INTO {s}.t VALUES (2)")
        table.wait_until_published()
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:]), SMALL):
        table.run("INSERT INTO {s}.t VALUES (3)")
        wait_until(lambda: lost(table), 30)
        assert (status(table).acknowledged, ids(landing)) == ((), set())
        with consuming_over_nats(table, servers[0], landing):
            wait_until(lambda: {1, 2} <= ids(landing), 30)
        table.wait_until_stored()
        assert lost(table) == []
    assert ids(landing) == {1, 2, 3}


def test_another_store(table: Source, landing: Landing, tmp_path: Path) -> None:
    """It has nothing of what went into the one of before, until all is read anew."""
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:]), SMALL):
        table.run("INSERT INTO {s}.t VALUES (2)")
        table.wait_until_stored()
    folder = tmp_path / "other"
    folder.mkdir()
    with landing_server(folder) as other:
        other[0].columns["t"] = frozenset({"id"})
        with producing(table.dsn, table.name, PenstockLanding(*other[1:]), SMALL):
            wait_until(lambda: lost(table), 30)
            table.run("INSERT INTO {s}.t VALUES (3)")
            table.remove("t")
            table.set_up("t")
            table.wait_until_stored()
            assert lost(table) == []
        assert ids(other) == {1, 2, 3}


def test_a_producer_that_waits_for_the_slot_says_nothing_of_its_route(
    table: Source, servers: tuple[NatsServer, NatsServer], landing: Landing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "penstock.cdc")
    with publishing(table, servers[0]):
        table.wait_until_published()
        second = RunningProducer(table.dsn, table.name, PenstockLanding(*landing[1:]), SMALL)
        wait_until(lambda: sum("is active" in each.getMessage() for each in caplog.records) >= 2, 30)
        assert [each.broker for each in status(table).published] == ["nats"]
        assert status(table).consumers == ()
    wait_until(lambda: status(table).consumers == ("penstock",), 30)
    assert status(table).published == ()
    second.stop()


def test_a_topic_that_was_emptied_and_another_broker(table: Source, landing: Landing) -> None:
    """The same over Kafka; a consumer of NATS does not count for it."""
    kafka = kafka_or_skip()
    url = f"kafka://{kafka.address}"

    def broker() -> KafkaBroker:
        return KafkaBroker(url, table.name)

    with producing(table.dsn, table.name, broker(), SMALL):
        table.run("INSERT INTO {s}.t VALUES (2)")
        table.wait_until_published()
    topic = f"penstock.cdc.{table.name}.t"
    kafka.delete_before(topic, 0, -1)
    table.run("INSERT INTO {s}.t VALUES (3)")
    with producing(table.dsn, table.name, broker(), SMALL):
        table.wait_until_published()
        running = RunningConsumer(table, broker(), PenstockLanding(*landing[1:]))
        wait_until(lambda: lost(table), 60)
        assert (status(table).acknowledged, ids(landing)) == ((), set())
        table.remove("t")
        table.set_up("t")
        table.wait_until_stored()
        running.stop()
    assert ids(landing) == {1, 2, 3}
