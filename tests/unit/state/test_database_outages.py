"""The store goes away: between two calls, in the middle of a transaction, in the middle of a COMMIT."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest
import sqlalchemy as sa

from penstock.errors import Unavailable
from penstock.state import database as module
from penstock.state.batch_keys import BodyKey
from penstock.state.batches import BatchLog
from penstock.state.database import Database, answer_within, make_engine, open_database
from penstock.state.lease import Lease
from penstock.state.schema import batch_keys
from penstock.state.tokens import ApiTokens
from postgres_proxy import Cut, PostgresProxy
from postgres_server import Postgres

NOW = datetime(2026, 1, 2, tzinfo=timezone.utc)


@pytest.fixture
def store(postgres: Postgres) -> Iterator[Database]:
    opened = open_database(postgres.store())
    yield opened
    opened.close()


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[PostgresProxy]:
    made = PostgresProxy(postgres.port)
    yield made
    made.close()


@pytest.fixture
def far(postgres: Postgres, proxy: PostgresProxy) -> Iterator[Database]:
    """A store behind the proxy."""
    opened = open_database(postgres.store().replace(f":{postgres.port}/", f":{proxy.port}/"))
    yield opened
    opened.close()


def test_connections_that_died_while_nobody_used_them_are_replaced(store: Database, postgres: Postgres) -> None:
    tokens = ApiTokens(store)
    tokens.create("before", ("read",))
    postgres.restart()
    tokens.create("after", ("read",))
    assert [each.name for each in ApiTokens(store).list()] == ["after", "before"]


def test_a_store_that_restarts_is_waited_for(store: Database, postgres: Postgres) -> None:
    postgres.stop()
    again = threading.Timer(1.0, postgres.start)
    again.start()
    assert BatchLog(store).heads() == {}
    again.join()


def test_a_store_that_stays_away_is_said(store: Database, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.3)
    postgres.stop()
    try:
        with pytest.raises(Unavailable, match="does not answer"):
            BatchLog(store).heads()
        with pytest.raises(Unavailable, match="does not answer"):
            BatchLog(store).append("d", "d/1", 1, 1, NOW, [BodyKey("k")])
    finally:
        postgres.start()
    assert BatchLog(store).append("d", "d/2", 1, 1, NOW, [BodyKey("k")]).number == 1


def test_a_server_that_dies_within_a_transaction_leaves_nothing_of_it(store: Database, postgres: Postgres) -> None:
    values = {"stream": "d", "key": "k", "number": 1}

    def write() -> None:
        with store.write() as connection:
            connection.execute(sa.insert(batch_keys).values(values))
            postgres.restart()

    with pytest.raises(Unavailable):
        write()
    with store.read() as connection:
        assert connection.execute(sa.select(batch_keys)).all() == []


@pytest.mark.parametrize("cut", ["before the commit", "after the commit"])
@pytest.mark.parametrize("keys", [(), (BodyKey("k"),)])
def test_a_commit_whose_answer_is_lost_is_made_once(
    far: Database, proxy: PostgresProxy, cut: Cut, keys: tuple[BodyKey, ...]
) -> None:
    batches = BatchLog(far)
    batches.append("d", "d/1", 1, 1, NOW)
    proxy.cut = cut
    assert batches.append("d", "d/2", 2, 2, NOW, keys).number == 2
    assert proxy.cuts == 1
    assert batches.append("d", "d/3", 3, 3, NOW).number == 3
    assert [each.segment for each in batches.read_after("d", 0, 100, 100)] == ["d/1", "d/2", "d/3"]


@pytest.mark.parametrize(("cut", "beats"), [("before the commit", 1), ("after the commit", 2)])
def test_of_another_write_the_caller_is_told(far: Database, proxy: PostgresProxy, cut: Cut, beats: int) -> None:
    lease = Lease(far)
    lease.take(lease.read(), {})
    proxy.cut = cut
    with pytest.raises(Unavailable):
        lease.heartbeat()
    assert lease.read().heartbeat == beats


def test_a_burst_of_appends_through_restarts_is_there_once(store: Database, postgres: Postgres) -> None:
    batches = BatchLog(store)
    acknowledged: list[tuple[str, int]] = []
    failures: list[BaseException] = []
    over = threading.Event()

    def post(writer: int) -> None:
        number = 0
        while not over.is_set():
            key = f"{writer}/{number}"
            try:
                batch = batches.append("d", f"d/{key}", 1, 1, NOW, [BodyKey(key)])
            except Unavailable:
                found = batches.find("d", f"d/{key}")
                batch = found or batches.append("d", f"d/{key}", 1, 1, NOW, [BodyKey(key)])
            acknowledged.append((f"d/{key}", batch.number))
            number += 1

    def guarded(writer: int) -> None:
        try:
            post(writer)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(6):
        before = len(acknowledged)
        while len(acknowledged) < before + 20 and not failures:
            over.wait(0.01)
        postgres.restart()
    over.set()
    for thread in threads:
        thread.join()
    assert failures == []
    logged = [(each.segment, each.number) for each in batches.read_after("d", 0, 2**62, 2**62)]
    assert [number for _, number in logged] == list(range(1, len(logged) + 1))
    assert sorted(logged) == sorted(acknowledged)
    assert len(logged) >= 120


def test_a_caller_that_has_little_time_waits_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it reads and writes: without the deadline this test would take an hour."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 3_600.0)
    away = Database(make_engine("postgresql://nobody@127.0.0.1:1/none"))
    with answer_within(0.3):
        with pytest.raises(Unavailable):
            away.write_once(lambda connection: 1, lambda connection: None)
        with pytest.raises(Unavailable, match="in time"), away.read():
            raise AssertionError("there is no store")
        with answer_within(60.0), pytest.raises(Unavailable), away.read():
            raise AssertionError("an inner block gets no more time")
