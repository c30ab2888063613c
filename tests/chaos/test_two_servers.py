"""Two servers for one warehouse: the owner is stopped in the middle, another takes over, the first is
continued. Nothing is twice, nothing is lost, and the first writes nothing any more."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from chaos.crashing import Producer, Server
from chaos.results import record
from chaos.test_kills import settled
from chaos.versions import V1, row

TAKEOVER_SECONDS = 60.0
CONTINUED = (0, 3, -signal.SIGKILL)
"""How the first server may end: told to (0), by its own finding that it is not the owner (3), killed."""


def write(folder: Path, settings: str = "") -> Path:
    for path, text in V1.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text + (settings if path == "penstock.toml" else ""))
    return folder


def shared(folder: Path) -> str:
    """Settings by which two projects have one warehouse, catalog, inbox and state store."""
    for each in ("state", "warehouse", "inbox"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    catalog = f"jdbc:sqlite:file:{folder / 'state' / 'catalog.db'}?journal_mode=WAL&busy_timeout=30000"
    return (
        f'[state]\nurl = "sqlite:///{folder / "state" / "state.db"}"\n'
        f'[catalog]\ntype = "jdbc"\nuri = "{catalog}"\nwarehouse = "{(folder / "warehouse").as_uri()}"\n'
        f'[inbox]\nfolder = "{folder / "inbox"}"\n'
    )


@pytest.fixture(params=["one folder", pytest.param("two folders", marks=pytest.mark.full)])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    """The owner and the one that waits. With two folders the one that waits cannot end the owner."""
    if request.param == "one folder":
        folders = [write(tmp_path)] * 2
    else:
        settings = shared(tmp_path / "shared")
        folders = [write(tmp_path / name, settings) for name in ("first", "second")]
    servers = Server(folders[0]), Server(folders[1])
    yield servers
    for server in servers:
        if server.process is not None and server.process.poll() is None:
            server.process.send_signal(signal.SIGCONT)
        server.stop()


@pytest.mark.timeout(600)
def test_the_owner_is_stopped_and_continued(pair: tuple[Server, Server], request: pytest.FixtureRequest) -> None:
    first, second = pair
    first.start()
    first.ready()
    first.until(first.deploy(V1, promote=True), "live")
    client = Server(first.folder)
    client.move_to(first)
    client.timeout, client.patience = 5.0, 150.0
    producer = Producer(client, "events", row)
    producer.start()
    time.sleep(2)
    begin_to_wait(first, second)
    time.sleep(2)
    stopped = processes(first)
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    began, before = time.monotonic(), producer.acknowledged
    second.ready()
    took = time.monotonic() - began
    client.move_to(second)
    time.sleep(3)
    goes_on(stopped)
    assert first.process is not None
    assert first.process.wait(60) in CONTINUED
    time.sleep(2)
    posted = producer.finish()
    settled(second, posted, "live")
    found = second.sql("SELECT count() AS rows, uniqExact(id) AS ids FROM events")[0]
    rows, ids = int(str(found["rows"])), int(str(found["ids"]))
    figures = {"takeover seconds": round(took), "rows": posted, "lost": fitting(posted) - ids, "doubled": rows - ids}
    record("two servers", request.node.callspec.id, figures)
    assert took < TAKEOVER_SECONDS
    assert posted > before, "nothing was posted after the takeover"


def fitting(posted: int) -> int:
    """Every 50th row does not fit."""
    return sum(1 for number in range(posted) if number % 50)


def begin_to_wait(first: Server, second: Server) -> None:
    """The second server starts. It has the first one's token, as a copy of the folder would."""
    if second.folder != first.folder:
        (second.folder / ".penstock").mkdir()
        shutil.copy(first.folder / ".penstock" / "admin_token", second.folder / ".penstock" / "admin_token")
    second.start()


def processes(server: Server) -> list[psutil.Process]:
    """The server's process and its JVM: both sleep, a commit may be under way in either."""
    assert server.process is not None
    owner = psutil.Process(server.process.pid)
    return [owner, *owner.children(recursive=True)]


def goes_on(stopped: list[psutil.Process]) -> None:
    for process in stopped:
        if process.is_running():
            process.send_signal(signal.SIGCONT)
