"""One server a folder."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.deploy.ownership import folder_lock as owner_module
from penstock.deploy.ownership.folder_lock import ProcessId, read_record, take_folder
from penstock.errors import Conflict

TRY = (
    "import sys, pathlib; from penstock.deploy.ownership.folder_lock import take_folder;"
    " take_folder(pathlib.Path(sys.argv[1]), None, int)"
)


def attempt(home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", TRY, str(home)], capture_output=True, text=True, check=False)


def test_a_second_one_is_told_who_owns_it(tmp_path: Path) -> None:
    owner = take_folder(tmp_path, None, int)
    owner.record(None, "http://127.0.0.1:7180")
    refused = attempt(tmp_path)
    assert f"server {os.getpid()} at http://127.0.0.1:7180 owns this project" in refused.stderr
    owner.release()
    assert attempt(tmp_path).returncode == 0
    held = take_folder(tmp_path, None, int)
    with pytest.raises(Conflict):
        take_folder(tmp_path, None, int)
    held.release()


def test_one_that_waits_takes_over(tmp_path: Path) -> None:
    owner = take_folder(tmp_path, None, int)
    told: list[object] = []
    taken = threading.Event()

    def wait() -> None:
        take_folder(tmp_path, told.append, int)
        taken.set()

    threading.Thread(target=wait, daemon=True).start()
    assert not taken.wait(0.3)
    owner.release()
    assert taken.wait(5)
    assert told == [None]


def test_the_jvm_of_a_killed_server_is_gone_before_the_next_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_module, "JVM_GRACE", 0.2)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as orphan:
        first = take_folder(tmp_path, None, int)
        first.record(orphan.pid, "http://127.0.0.1:7180")
        first._lock.close()  # as if the process had been killed
        take_folder(tmp_path, None, int)
        assert orphan.poll() is not None


def test_another_process_with_the_same_id_is_not_the_one(tmp_path: Path) -> None:
    mine = ProcessId.of(os.getpid())
    assert mine.find() is not None
    assert ProcessId(mine.id, mine.started - 100).find() is None
    assert read_record(tmp_path) is None
    (tmp_path / "server.json").write_text("half a docu")
    assert read_record(tmp_path) is None


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_module, "STALL", 0.5)
    monkeypatch.setattr(owner_module, "LOOK", 0.02)


def waits_while_it_looks(home: Path, sign: Callable[[], object | None], other: subprocess.Popen[str]) -> None:
    """Wait for the folder until the owner's heartbeat was looked at 60 times, which is more than STALL seconds."""
    looks = itertools.count()

    def look() -> object | None:
        if next(looks) == 60:
            other.terminate()
        return sign()

    take_folder(home, [].append, look).release()  # type: ignore[arg-type]
    assert other.wait(5) == -signal.SIGTERM, "the owner was killed"


STOPPED = """
import sys, pathlib, time
from penstock.deploy.ownership.folder_lock import take_folder
held = take_folder(pathlib.Path(sys.argv[1]), None, int)
held.record(None, "http://127.0.0.1:7180")
print("owns", flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another server, which owns the folder."""
    with subprocess.Popen([sys.executable, "-c", STOPPED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as made:
        assert made.stdout is not None
        made.stdout.readline()
        yield made
        made.kill()


def test_one_that_shows_no_sign_of_life_is_ended(
    tmp_path: Path, other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_module, "STALL", 0.5)
    other.send_signal(signal.SIGSTOP)
    take_folder(tmp_path, [].append, lambda: 7).release()  # type: ignore[arg-type]
    assert other.wait(5) == -signal.SIGKILL


@pytest.mark.usefixtures("_quick")
def test_a_state_store_that_is_away_says_nothing_about_the_owner(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    """Nothing is seen, again and again: that is no owner who stands still. (Its record is touched too rarely here.)"""
    waits_while_it_looks(tmp_path, lambda: None, other)


TOUCHES = f"import {owner_module.__name__} as module; module.TOUCH = 0.05\n"


@pytest.mark.usefixtures("_quick")
def test_an_owner_whose_heartbeat_cannot_be_stored_renews_its_record(tmp_path: Path) -> None:
    """A full disk: the heartbeat in the store stands still, and the owner is well."""
    command = [sys.executable, "-c", TOUCHES + STOPPED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        waits_while_it_looks(tmp_path, lambda: 7, other)


def test_an_owner_without_a_readable_record_is_not_killed(tmp_path: Path) -> None:
    assert owner_module.last_touch(tmp_path) is None
    held = take_folder(tmp_path, None, int)
    held.record(None, "http://a")
    assert owner_module.last_touch(tmp_path) is not None
    held.release()
    assert owner_module.last_touch(tmp_path) is None


def test_processes_of_another_container_are_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two containers may have the same host name and boot id, and see different processes."""
    here = owner_module.this_host.__wrapped__()
    other = tmp_path / "pid"
    other.symlink_to("pid:[1]")
    monkeypatch.setattr(owner_module, "PROCESS_NAMESPACE", other)
    assert owner_module.this_host.__wrapped__() != here


def test_one_that_lives_is_waited_for(
    tmp_path: Path, other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_module, "STALL", 0.5)
    beats = itertools.count()
    threading.Timer(2.0, other.terminate).start()
    take_folder(tmp_path, [].append, lambda: next(beats)).release()  # type: ignore[arg-type]
    assert other.wait(5) == -signal.SIGTERM
