"""`up` and `down` over a process that behaves as the server does and starts in no time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from penstock.cli.session import Session
from penstock.model.servers.processes import start_time
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

SERVER = """
import http.server, json, os, psutil, sys
from penstock.model.servers.processes import start_time
home = sys.argv[1]
asked = 0

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        asked += 1
        self.send_response(200 if asked > 2 else 503)
        self.end_headers()
        self.wfile.write(b'{"phase": "starting Spark"}')

    def log_message(self, *_):
        pass

warning = {"level": "warning", "code": "conflict", "message": "server 7 owns this project; waiting until it ends"}
print(json.dumps({"error": warning["message"], "code": "conflict", "problems": [warning]}), file=sys.stderr, flush=True)
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
me = {"id": os.getpid(), "started": start_time(psutil.Process())}
record = {"server": me, "jvm": None, "url": f"http://127.0.0.1:{server.server_address[1]}"}
with open(home + "/server.json", "w") as file:
    json.dump(record, file)
import signal
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
server.serve_forever()
"""
FAILING = """
import sys
print('{"error": "Spark needs Java 17", "code": "java-missing", "problems": []}', file=sys.stderr)
sys.exit(1)
"""
KILLED = "import os; os.kill(os.getpid(), 9)"


@pytest.fixture(autouse=True)
def _keep_signals() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def started(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes that `up` started; the script to run may be put in the folder's `script`."""
    made: list[subprocess.Popen[bytes]] = []

    def start(arguments: list[str], said: Path) -> subprocess.Popen[bytes]:
        script = (project / "script").read_text() if (project / "script").exists() else SERVER
        with said.open("wb") as errors:
            made.append(subprocess.Popen([sys.executable, "-c", script, str(said.parent)], stderr=errors))
        return made[-1]

    monkeypatch.setattr("penstock.cli.commands.server.up.start_server", start)
    yield made
    for process in made:
        process.kill()
        process.wait()


def test_detached_it_returns_when_the_server_is_ready_and_down_ends_it(
    penstock: Run, project: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    code, out, err = penstock("up", "--detach")
    assert (code, out.startswith("penstock is ready at http://127.0.0.1:")) == (0, True)
    assert "note: server 7 owns this project; waiting until it ends" in err
    assert started[0].poll() is None
    waiter = threading.Thread(target=started[0].wait)
    waiter.start()
    assert penstock("down")[0] == 0
    waiter.join()
    assert started[0].returncode == 0
    assert penstock("down")[0] == 3


def test_in_the_foreground_it_passes_signals_on(
    penstock: Run, project: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    def interrupt() -> None:
        while not (project / ".penstock" / "server.json").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        # To the thread that waits, as the kernel does with a signal from outside.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    code, out, _ = penstock("up", "--output", "json")
    thread.join()
    assert (code, json.loads(out)["pid"]) == (0, started[0].pid)


@pytest.mark.parametrize(("script", "told"), [(FAILING, "Spark needs Java 17"), (KILLED, "ended by SIGKILL")])
def test_a_server_that_does_not_come_up_says_why(
    penstock: Run, project: Path, started: list[subprocess.Popen[bytes]], script: str, told: str
) -> None:
    (project / "script").write_text(script)
    code, out, err = penstock("up", "--detach")
    assert (code, out, told in err) == (1, "", True)


def test_in_a_terminal_or_detached_a_second_server_is_an_error(
    penstock: Run,
    pipeline: MemoryPipeline,
    project: Path,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = project / ".penstock" / "server.json"
    record = json.loads(path.read_text())
    me = psutil.Process()
    path.write_text(json.dumps(record | {"server": {"id": me.pid, "started": start_time(me)}}))
    assert penstock("up", "--detach")[0] == 1
    monkeypatch.setattr(Session, "is_interactive", True)
    code, _, err = penstock("up")
    assert (code, len(started)) == (1, 0)
    assert f"runs already, at {record['url']} (process {me.pid})" in err
    assert "`penstock up --wait` stands by" in err
    assert penstock("up", "--detach", "--wait")[0] == 0
    path.write_text(json.dumps(record))  # the record of a server that was killed
    assert penstock("up", "--detach")[0] == 0
    assert len(started) == 2


def test_down_never_ends_a_process_that_only_has_the_number(penstock: Run, project: Path) -> None:
    (project / ".penstock").mkdir()
    record = {"server": {"id": psutil.Process().pid, "started": 1.0}, "jvm": None, "url": "http://127.0.0.1:9"}
    (project / ".penstock" / "server.json").write_text(json.dumps(record))
    assert penstock("down")[0] == 3
