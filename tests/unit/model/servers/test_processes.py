from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from penstock.model.servers.processes import find_process, start_time


def test_a_process_is_found_by_id_and_start() -> None:
    mine = psutil.Process()
    found = find_process(os.getpid(), start_time(mine))
    assert found is not None
    assert found.pid == os.getpid()
    assert find_process(os.getpid(), start_time(mine) - 1) is None


def test_one_that_has_ended_is_not_found() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        since = start_time(psutil.Process(child.pid))
        assert find_process(child.pid, since) is not None
        child.kill()
        while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
            pass
        assert find_process(child.pid, since) is None
    assert find_process(child.pid, since) is None
    with pytest.raises(psutil.NoSuchProcess):
        psutil.Process(child.pid)


def test_setting_the_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """psutil computes the time of a start from the time the machine was booted, which moves with the clock."""
    before = start_time(psutil.Process())
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: 12345.0)
    assert start_time(psutil.Process()) == before
