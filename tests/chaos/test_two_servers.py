"""Two servers for one warehouse: the owner is stopped (SIGSTOP), the other takes over, the first is continued.

No row is lost or doubled, and the first server writes nothing any more. On one machine the owner is stopped while it
has the only lock of SQLite: the server that takes over ends it. From another machine nobody can do that, so there the
owner is stopped without the lock, and the fence has to hold.
"""

from __future__ import annotations

import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from chaos.killable_server import START_SECONDS, Producer, Server
from chaos.project_versions import V1, row
from chaos.results import record
from chaos.test_kills import settled
from waiting import wait_until

TAKEOVER_SECONDS = 60.0
ELSEWHERE = (
    "import runpy, socket; socket.gethostname = lambda: 'elsewhere'; "
    "runpy.run_module('penstock.serve.server.main', run_name='__main__', alter_sys=True)"
)
CONTINUED = (0, 3, -signal.SIGKILL)
"""How the first server may end: told to (0), by its own finding that it is not the owner (3), killed."""


class Elsewhere(Server):
    """A server that takes this machine for another one."""

    def program(self) -> list[str]:
        return ["-c", ELSEWHERE]


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


@dataclass(frozen=True)
class Pair:
    """The owner, the one that waits, and the folder with the store and the catalog that they have in common."""

    first: Server
    second: Server
    home: Path
    locked: bool
    """Whether the owner is stopped in the middle of a write of the store, or of neither."""


MACHINES = [
    "one folder",
    pytest.param("two folders", marks=pytest.mark.full),
    pytest.param("two machines", marks=pytest.mark.full),
]


@pytest.fixture(params=MACHINES)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    if request.param == "one folder":
        folders, home = [write(tmp_path)] * 2, tmp_path / ".penstock"
    else:
        settings = shared(tmp_path / "shared")
        folders = [write(tmp_path / name, settings) for name in ("first", "second")]
        home = tmp_path / "shared" / "state"
    apart = request.param == "two machines"
    servers = Server(folders[0]), Elsewhere(folders[1]) if apart else Server(folders[1])
    yield Pair(*servers, home, locked=not apart)
    for server in servers:
        if server.process is not None and server.process.poll() is None:
            server.process.send_signal(signal.SIGCONT)
        server.stop()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_second_server_takes_over_from_a_stopped_owner(pair: Pair, request: pytest.FixtureRequest) -> None:
    first, second = pair.first, pair.second
    first.start()
    first.ready()
    first.until(first.deploy(V1, promote=True), "live")
    client = Server(first.folder)
    client.move_to(first)
    client.timeout, client.patience = 5.0, 150.0
    producer = Producer(client, "events", row)
    producer.start()
    producer.more()
    begin_to_wait(first, second)
    wait_until(lambda: "waiting until" in (second.folder / "server.out").read_text(), START_SECONDS)
    stopped = stop(first, pair)
    began, before = time.monotonic(), producer.acknowledged
    second.ready()
    took = time.monotonic() - began
    client.move_to(second)
    producer.more()
    goes_on(stopped)
    assert first.process is not None
    assert first.process.wait(60) in CONTINUED
    producer.more()
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


def stop(server: Server, pair: Pair) -> list[psutil.Process]:
    """The owner and its JVM, stopped at a moment at which the databases are locked as the test wants it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = processes(server)
        for process in found:
            process.send_signal(signal.SIGSTOP)
        locked = {path.stem for path in pair.home.glob("*.db") if is_locked(path)}
        if "state" in locked if pair.locked else not locked:
            return found
        goes_on(found)
        time.sleep(0.01)
    raise AssertionError("the owner was never stopped at such a moment")


def is_locked(database: Path) -> bool:
    """Whether somebody is in the middle of a write of it."""
    with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def processes(server: Server) -> list[psutil.Process]:
    """The server's process and its JVM: both sleep, a commit may be under way in either."""
    assert server.process is not None
    owner = psutil.Process(server.process.pid)
    return [owner, *owner.children(recursive=True)]


def goes_on(stopped: list[psutil.Process]) -> None:
    for process in stopped:
        if process.is_running():
            process.send_signal(signal.SIGCONT)
