"""One server a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.deploy import owner as owner_module
from penstock.deploy.owner import Process, own, read_record
from penstock.errors import Conflict

TRY = "import sys, pathlib; from penstock.deploy.owner import own; own(pathlib.Path(sys.argv[1]), None)"


def attempt(home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", TRY, str(home)], capture_output=True, text=True, check=False)


def test_a_second_one_is_told_who_owns_it(tmp_path: Path) -> None:
    owner = own(tmp_path, None)
    owner.record(None, "http://127.0.0.1:7180")
    refused = attempt(tmp_path)
    assert f"server {os.getpid()} at http://127.0.0.1:7180 owns this project" in refused.stderr
    owner.release()
    assert attempt(tmp_path).returncode == 0
    held = own(tmp_path, None)
    with pytest.raises(Conflict):
        own(tmp_path, None)
    held.release()


def test_one_that_waits_takes_over(tmp_path: Path) -> None:
    owner = own(tmp_path, None)
    told: list[object] = []
    taken = threading.Event()

    def wait() -> None:
        own(tmp_path, told.append)
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
        first = own(tmp_path, None)
        first.record(orphan.pid, "http://127.0.0.1:7180")
        first._lock.close()  # as if the process had been killed
        own(tmp_path, None)
        assert orphan.poll() is not None


def test_another_process_with_the_same_id_is_not_the_one(tmp_path: Path) -> None:
    mine = Process.of(os.getpid())
    assert mine.find() is not None
    assert Process(mine.id, mine.started - 100).find() is None
    assert read_record(tmp_path) is None
    (tmp_path / "server.json").write_text("half a docu")
    assert read_record(tmp_path) is None
