"""The server of `penstock dev --throw-away` is there while the block is, with its folder, and then gone."""

from __future__ import annotations

import queue
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.commands.dev.event_queue import Event, WorkEnd
from penstock.cli.commands.dev.temporary_server import TemporaryServer
from penstock.errors import NoServer
from unit.cli.test_up import FAILING, SERVER

Started = list["subprocess.Popen[bytes]"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Started:
    made: Started = []

    def start(arguments: list[str], said: Path, standard_input: int) -> subprocess.Popen[bytes]:
        assert (arguments[-1], standard_input) == ("--end-with-caller", subprocess.PIPE)
        with said.open("wb") as errors:
            command = [sys.executable, "-c", request.param, str(said.parent)]
            made.append(subprocess.Popen(command, stderr=errors, start_new_session=True))
        return made[-1]

    monkeypatch.setattr("penstock.cli.commands.server.throw_away_server.start_server", start)
    return made


def wait_for_end(events: queue.SimpleQueue[Event]) -> WorkEnd:
    while True:
        event = events.get(timeout=30)
        if isinstance(event, WorkEnd):
            return event


@pytest.mark.parametrize("started", [SERVER], indirect=True)
@pytest.mark.parametrize("raised", [None, KeyboardInterrupt])
def test_a_server_for_as_long_as_the_block(
    started: Started, raised: type[BaseException] | None, tmp_path: Path
) -> None:
    (tmp_path / "penstock.toml").write_text('[state]\nurl = "postgresql://real"\n[spark]\ndriver_memory = "3g"\n')
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    try:
        with TemporaryServer(tmp_path, events.put) as server:
            with pytest.raises(NoServer, match="is starting"):
                server.client()
            folder = server.folder
            settings = (folder / "penstock.toml").read_text()
            end = wait_for_end(events)
            assert end.made is not None
            assert str(folder) in end.report(end.made)
            server.client()
            if raised is not None:
                raise raised
    except KeyboardInterrupt:
        assert raised is KeyboardInterrupt
    assert started[0].poll() is not None
    assert not folder.exists()
    assert ("postgresql" in settings, "3g" in settings) == (False, True)


@pytest.mark.parametrize("started", [FAILING], indirect=True)
def test_a_server_that_does_not_start_says_why(started: Started, tmp_path: Path) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    with TemporaryServer(tmp_path, events.put) as server:
        end = wait_for_end(events)
        assert "Spark needs Java 17" in str(end.error)
        with pytest.raises(NoServer, match="it has ended"):
            server.client()
    assert not server.folder.exists()
