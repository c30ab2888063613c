"""A server of one command ends with it, also where the command is killed."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

SERVER = """
import signal, subprocess, sys, time
from penstock.serve.server.caller_watch import end_with_caller

{prepare}
java = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
end_with_caller()
print(java.pid, flush=True)
time.sleep(60)
"""
CALLER = """
import subprocess, sys, time
server = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, start_new_session=True)
print(server.pid, flush=True)
time.sleep(60)
"""
ENDS_BY_ITSELF = "signal.signal(signal.SIGTERM, lambda *_: (java.kill(), sys.exit(0)))"
DOES_NOT_END = """import penstock.serve.server.caller_watch as watch
watch.END_SECONDS = 0.2
signal.signal(signal.SIGTERM, lambda *_: None)
"""


@pytest.mark.parametrize("prepare", ["", ENDS_BY_ITSELF, DOES_NOT_END], ids=["starting", "serving", "hanging"])
def test_a_server_ends_when_its_command_is_killed(prepare: str) -> None:
    program = SERVER.format(prepare=prepare)
    with subprocess.Popen([sys.executable, "-c", CALLER, program], stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        processes = [psutil.Process(int(caller.stdout.readline())) for _ in ("server", "java")]
        assert all(each.is_running() for each in processes)
        caller.kill()
        _, left = psutil.wait_procs(processes, timeout=20)
    for each in left:
        each.kill()
    assert left == []
