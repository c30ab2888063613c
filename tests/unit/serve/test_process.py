"""The life of a server, over the pipeline in memory."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from penstock.deploy.ownership.folder_lock import read_record, take_folder
from penstock.errors import Failed, PenstockError
from penstock.model.settings import Settings
from penstock.serve.server.process import ServerProcess
from penstock.state.database import Database, open_database
from penstock.state.lease import Lease
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline


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


def opener(slow: threading.Event, made: list[MemoryPipeline]) -> Callable[[Settings, Path, Database], MemoryPipeline]:
    def open_pipeline(settings: Settings, home: Path, database: Database) -> MemoryPipeline:
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
    ServerProcess(Settings(), tmp_path, take_folder(tmp_path, None, int), listener, store(tmp_path)).run()
    visitor.join()
    assert seen == [503, 200, 200]
    assert not made[0].ready


@pytest.mark.parametrize("fault", [Failed("no disk"), ZeroDivisionError("x")])
def test_what_keeps_the_pipeline_from_opening_ends_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(settings: Settings, home: Path, database: Database) -> None:
        raise fault

    monkeypatch.setattr("penstock.serve.server.process.Pipeline", fail)
    listener = socket.create_server(("127.0.0.1", 0))
    process = ServerProcess(Settings(), tmp_path, take_folder(tmp_path, None, int), listener, store(tmp_path))
    with pytest.raises(PenstockError) as caught:
        process.run()
    assert "no disk" in caught.value.message or "could not be opened" in caught.value.message
