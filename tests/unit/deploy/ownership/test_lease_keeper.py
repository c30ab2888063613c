"""The lease as servers hold it: who takes it, who waits, who is told that it is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Queue

import psutil
import pytest

from penstock.deploy.ownership import folder_lock
from penstock.deploy.ownership import lease_keeper as module
from penstock.deploy.ownership.folder_lock import ProcessId, take_folder
from penstock.deploy.ownership.lease_keeper import LeaseKeeper, describe_server, take_lease
from penstock.errors import Conflict, Fenced
from penstock.state.database import open_database
from penstock.state.lease import Lease

ELSEWHERE = {"host": "elsewhere/1", "home": "/a", "server": [1, 0.0], "url": "http://a"}


def lease_of(folder: Path) -> Lease:
    """As another server sees it."""
    return Lease(open_database(f"sqlite:///{folder / 'state.db'}"))


@pytest.fixture
def me(tmp_path: Path) -> dict[str, object]:
    return dict(describe_server(tmp_path, ProcessId.of(os.getpid()), "http://b"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STALL", 0.6)
    monkeypatch.setattr(module, "BEAT", 0.1)
    monkeypatch.setattr(module, "LOOK", 0.05)


def test_a_server_that_beats_keeps_the_lease_and_one_that_is_silent_loses_it(
    tmp_path: Path, me: dict[str, object]
) -> None:
    first, second = lease_of(tmp_path), lease_of(tmp_path)
    first.take(first.read(), ELSEWHERE)
    lost, told = threading.Event(), list[object]()
    stopped = LeaseKeeper(first, lost.set)
    taken = threading.Event()
    threading.Thread(target=lambda: (take_lease(second, me, told.append), taken.set()), daemon=True).start()
    assert not taken.wait(1.5)
    assert len(told) == 1
    stopped._stop.set()  # as if it had been stopped in the middle of something
    assert taken.wait(5)
    awake = LeaseKeeper(first, lost.set)
    assert lost.wait(5)
    awake.end()
    assert second.read().token == 2


def test_an_owner_here_that_renews_its_record_keeps_the_lease(
    tmp_path: Path, me: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its heartbeat cannot be stored, for want of room. The process that owns it is this one's parent, which lives."""
    parent = ProcessId.of(os.getppid())
    first, second = lease_of(tmp_path), lease_of(tmp_path)
    first.take(first.read(), {**me, "home": str(tmp_path / "a"), "server": [parent.id, parent.started]})
    monkeypatch.setattr(folder_lock, "TOUCH", 0.05)
    owner = take_folder(tmp_path / "a", None, int)
    owner.record(None, "http://a")
    looked, taken = list[object](), threading.Event()
    threading.Thread(target=lambda: (take_lease(second, me, looked.append), taken.set()), daemon=True).start()
    assert not taken.wait(1.5)
    assert len(looked) == 1
    owner.release()
    assert taken.wait(5), "the one that has gone silent loses it"


def test_who_does_not_wait_is_told_who_has_it(tmp_path: Path, me: dict[str, object]) -> None:
    first = lease_of(tmp_path)
    first.take(first.read(), ELSEWHERE)
    with pytest.raises(Conflict, match="elsewhere"):
        take_lease(lease_of(tmp_path), me, None)


def test_an_owner_that_let_go_or_is_known_to_be_dead_is_not_waited_for(
    tmp_path: Path, me: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STALL", 1e9)
    first = lease_of(tmp_path)
    first.take(first.read(), ELSEWHERE)
    first.release()
    take_lease(lease_of(tmp_path), me, None)
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        gone = [dead.pid, ProcessId.of(dead.pid).started]
    second = lease_of(tmp_path)
    second.take(second.read(), {**me, "server": gone})
    take_lease(lease_of(tmp_path), me, None)
    assert lease_of(tmp_path).read().token == 4


def test_a_process_that_began_anew_takes_up_its_own_lease(tmp_path: Path, me: dict[str, object]) -> None:
    before = lease_of(tmp_path)
    take_lease(before, me, None)
    take_lease(lease_of(tmp_path), me, None)
    with pytest.raises(Fenced):
        before.heartbeat()


STOPPED = """
import pathlib, subprocess, sys, time
from penstock.deploy.ownership.folder_lock import take_folder
from penstock.deploy.ownership.lease_keeper import describe_server, take_lease
from penstock.state.database import open_database
from penstock.state.lease import Lease
home = pathlib.Path(sys.argv[1])
java = subprocess.Popen(["sleep", "60"])
record = take_folder(home, None, int).record(java.pid, "http://a")
database = open_database(sys.argv[2])
take_lease(Lease(database), describe_server(home, record.server, "http://a"), None)
with database.write():
    print(java.pid, flush=True)
    time.sleep(60)
"""


def test_one_of_this_machine_that_is_stopped_with_the_only_lock_is_ended(tmp_path: Path, me: dict[str, object]) -> None:
    command = [sys.executable, "-c", STOPPED, str(tmp_path / "a"), f"sqlite:///{tmp_path / 'state.db'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        java = psutil.Process(int(other.stdout.readline()))
        for process in (java, other):
            process.send_signal(signal.SIGSTOP)
        take_lease(lease_of(tmp_path), me, [].append)  # type: ignore[arg-type]
        assert other.wait(5) == -signal.SIGKILL
        assert not java.is_running()
    assert lease_of(tmp_path).read().token == 2


def test_of_many_that_wait_one_gets_it(tmp_path: Path, me: dict[str, object]) -> None:
    first = lease_of(tmp_path)
    first.take(first.read(), ELSEWHERE)
    took: list[int] = []
    keepers: Queue[LeaseKeeper] = Queue()

    def wait(number: int) -> None:
        lease = lease_of(tmp_path)
        take_lease(lease, {**me, "server": [os.getpid(), -float(number)], "host": f"h{number}"}, [].append)  # type: ignore[arg-type]
        took.append(number)
        keepers.put(LeaseKeeper(lease, lambda: None))

    for number in range(4):
        threading.Thread(target=wait, args=(number,), daemon=True).start()
    time.sleep(3.0)
    assert len(took) == 1
    for _ in range(4):  # each one gives it to the next, so that no thread is left to other tests
        keepers.get(timeout=60).end()
