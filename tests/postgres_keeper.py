"""The process that holds a Postgres server and its folder for postgres_server.py, and outlives neither.

In: the folder of the programs of Postgres as the argument; a user and a password in the environment; on standard
input the lines `stop` and `start`. Out: for each start a line with the port of the server. Server and folder end when
standard input does, that is when the process that asked for them is gone, however it ended.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STARTS_WITHIN = 60.0
PR_SET_PDEATHSIG = 1
# Nothing here has to survive a power cut; what a killed server promised it still keeps.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "120",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
    "autovacuum": "off",
    "wal_level": "logical",
    "max_wal_senders": "8",
    "max_replication_slots": "8",
}


def somebody() -> pwd.struct_passwd | None:
    """Who the server runs as: it refuses to be root."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    known = {each.pw_name: each for each in pwd.getpwall()}
    return known.get("postgres") or known.get("nobody")


class Keeper:
    """Runs in a process of its own."""

    def __init__(self, folder: Path, programs: Path, who: pwd.struct_passwd):
        self._folder = folder
        self._data = folder / "data"
        self._programs = programs
        self._who = who
        self._port = _free_port()
        self._server: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        secret = self._folder / "password"
        secret.write_text(os.environ["PENSTOCK_TEST_PASSWORD"])
        for path in (self._folder, secret):
            os.chown(path, self._who.pw_uid, self._who.pw_gid)
        login = [f"--username={os.environ['PENSTOCK_TEST_USER']}", f"--pwfile={secret}", "--auth=scram-sha-256"]
        command = [self._programs / "initdb", "--no-sync", "--encoding=UTF8", "--locale=C", *login, self._data]
        words = list(map(str, command))
        done = subprocess.run(words, check=False, capture_output=True, text=True, **self._as_them())  # type: ignore[call-overload]
        if done.returncode != 0:
            sys.exit(f"initdb failed:\n{done.stdout}{done.stderr}")

    def start(self) -> int:
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        command = [str(self._programs / "postgres"), "-D", str(self._data), f"--port={self._port}", *settings]
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  (this process has one thread)
                **self._as_them(),
            )  # type: ignore[call-overload]
        self._wait_until_it_answers()
        return self._port

    def stop(self) -> int:
        """Immediately: every backend ends where it is."""
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait()
            self._server = None
        return self._port

    def _wait_until_it_answers(self) -> None:
        assert self._server is not None
        end = time.monotonic() + STARTS_WITHIN
        ready = str(self._programs / "pg_isready")
        while subprocess.run([ready, "-q", "-h", "127.0.0.1", "-p", str(self._port)], check=False).returncode != 0:
            if self._server.poll() is not None or time.monotonic() > end:
                sys.exit(f"postgres did not start:\n{(self._folder / 'log').read_text()[-4000:]}")
            time.sleep(0.02)

    def _as_them(self) -> dict[str, object]:
        root = os.getuid() == 0
        who = {"user": self._who.pw_uid, "group": self._who.pw_gid, "extra_groups": []} if root else {}
        return {"cwd": self._folder, **who}


def _die_with_parent() -> None:
    """A keeper that is killed itself takes the server with it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def keep(programs: Path) -> None:
    who = somebody()
    assert who is not None
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
    keeper = Keeper(folder, programs, who)
    try:
        keeper.make()
        print(keeper.start(), flush=True)
        for line in sys.stdin:
            print(keeper.stop() if line.strip() == "stop" else keeper.start(), flush=True)
    except BrokenPipeError:
        pass  # who asked is gone in the middle of an answer
    finally:
        keeper.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
