"""The life of a server, over the pipeline in memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from penstock.deploy.ownership import folder_lock, lease_keeper
from penstock.deploy.ownership.folder_lock import ProcessId, read_record, take_folder, this_host
from penstock.deploy.ownership.lease_keeper import describe_server, take_lease
from penstock.errors import Failed, PenstockError
from penstock.model.settings import Settings
from penstock.serve.server.process import ServerProcess
from penstock.state.database import Database, open_database
from penstock.state.lease import Lease
from penstock.state.tokens import ApiTokens
from penstock.state.transactions.locks import take_named_lock
from postgres_server import Postgres, start_or_skip
from unit.serve.memory import MemoryPipeline
from waiting import wait_until


@pytest.fixture(autouse=True)
def _keep_signals() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def store(home: Path) -> Database:
    """The state store, with its lease taken."""
    opened = open_database(f"sqlite:///{home / 'state.db'}")
    Lease(opened).take(Lease(opened).read(), {})
    return opened


def no_preparation(home: Path, database: Database, show: Callable[[str], None]) -> None:
    """Nothing is to be done before the pipeline is opened."""


def opener(
    slow: threading.Event, made: list[MemoryPipeline]
) -> Callable[[Settings, Path, Database, object], MemoryPipeline]:
    def open_pipeline(settings: Settings, home: Path, database: Database, java: object) -> MemoryPipeline:
        slow.wait(5)
        pipeline = MemoryPipeline(ApiTokens(database))
        pipeline.jvm = os.getpid()  # type: ignore[attr-defined]
        made.append(pipeline)
        return pipeline

    return open_pipeline


def test_it_answers_at_once_serves_when_open_and_closes_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, made, seen = threading.Event(), list[MemoryPipeline](), list[int]()
    monkeypatch.setattr("penstock.serve.server.process.Pipeline", opener(slow, made))
    listener = socket.create_server(("127.0.0.1", 0))

    def visit() -> None:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        seen.append(httpx.get(f"{url}/health").status_code)
        slow.set()
        while (status := httpx.get(f"{url}/health").status_code) == 503:
            time.sleep(0.02)
        token = (tmp_path / "admin_token").read_text().strip()
        seen.extend([status, httpx.get(f"{url}/v0/status", params={"token": token}).status_code])
        record = read_record(tmp_path)
        assert record is not None
        assert record.url == url
        os.kill(os.getpid(), signal.SIGTERM)

    visitor = threading.Thread(target=visit)
    visitor.start()
    ServerProcess(Settings(), tmp_path, take_folder(tmp_path, None, int), listener, store(tmp_path)).run(no_preparation)
    visitor.join()
    assert seen == [503, 200, 200]
    assert not made[0].ready


def test_it_restarts_when_spark_has_ended_whatever_fails_before_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark, restarted = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE), threading.Event()

    class Uncountable(MemoryPipeline):
        jvm = spark.pid

        def spark_ended(self) -> None:
            raise RuntimeError("dictionary changed size during iteration")

    def restart(listener: socket.socket, running_calls: Callable[[], int]) -> None:
        restarted.set()
        os.kill(os.getpid(), signal.SIGTERM)

    def end_spark() -> None:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        wait_until(lambda: httpx.get(f"{url}/health").status_code == 200, 60)
        spark.kill()
        if not restarted.wait(10):
            os.kill(os.getpid(), signal.SIGTERM)

    def open_pipeline(settings: Settings, home: Path, database: Database, java: object) -> MemoryPipeline:
        return Uncountable(ApiTokens(database))

    monkeypatch.setattr("penstock.serve.server.process.Pipeline", open_pipeline)
    monkeypatch.setattr("penstock.serve.server.process.restart_server", restart)
    listener = socket.create_server(("127.0.0.1", 0))
    visitor = threading.Thread(target=end_spark)
    visitor.start()
    ServerProcess(Settings(), tmp_path, take_folder(tmp_path, None, int), listener, store(tmp_path)).run(no_preparation)
    visitor.join()
    assert restarted.is_set()


@pytest.mark.parametrize("fault", [Failed("no disk"), ZeroDivisionError("x")])
def test_what_keeps_the_pipeline_from_opening_ends_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(settings: Settings, home: Path, database: Database, java: object) -> None:
        raise fault

    monkeypatch.setattr("penstock.serve.server.process.Pipeline", fail)
    listener = socket.create_server(("127.0.0.1", 0))
    process = ServerProcess(Settings(), tmp_path, take_folder(tmp_path, None, int), listener, store(tmp_path))
    with pytest.raises(PenstockError) as caught:
        process.run(no_preparation)
    assert "no disk" in caught.value.message or "could not be opened" in caught.value.message


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    server = start_or_skip()
    yield server
    server.end()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_server_that_waits_takes_nothing_over_while_the_store_is_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, kind: str
) -> None:
    """However long that takes: the migration holds SQLite's only lock, or the tables of Postgres."""
    for module, name, value in ((lease_keeper, "STALL", 0.8), (lease_keeper, "BEAT", 0.1), (folder_lock, "TOUCH", 0.1)):
        monkeypatch.setattr(module, name, value)
    url = f"sqlite:///{tmp_path / 'state.db'}" if kind == "sqlite" else request.getfixturevalue("postgres").store()
    database, other = open_database(url), Lease(open_database(url))
    take_lease(Lease(database), describe_server(tmp_path, ProcessId.of(os.getpid()), "here"), None)
    waits, taken, ended = threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(lease_keeper, "_is_dead", lambda seen, me: False)  # the other is not this process
    monkeypatch.setattr(lease_keeper, "_end_holder", lambda seen: ended.set())
    me = {"host": this_host(), "home": str(tmp_path / "other"), "server": [1, 0.0], "url": "there"}

    def migrate(home: Path, store: Database, show: Callable[[str], None]) -> None:
        with store.write() as connection:
            take_named_lock(connection, "migrations")
            threading.Thread(target=lambda: (take_lease(other, me, lambda seen: waits.set()), taken.set())).start()
            assert waits.wait(5)
            assert not taken.wait(4.0)
        raise Failed("that is all")

    process = ServerProcess(
        Settings(), tmp_path, take_folder(tmp_path, None, int), socket.create_server(("127.0.0.1", 0)), database
    )
    with pytest.raises(Failed, match="that is all"):
        process.run(migrate)
    assert not ended.is_set()
    assert taken.wait(5), "it waited for the lease all the time"


def test_a_stop_while_it_waits_for_a_store_is_no_error(tmp_path: Path) -> None:
    def wait(home: Path, store: Database, show: Callable[[str], None]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            show("waiting")
            time.sleep(0.01)

    listener = socket.create_server(("127.0.0.1", 0))
    ServerProcess(Settings(), tmp_path, take_folder(tmp_path, None, int), listener, store(tmp_path)).run(wait)
