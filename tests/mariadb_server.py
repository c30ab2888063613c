"""A real MariaDB server for tests, in a folder of its own and on a free port.

In: the programs of MariaDB, if they are installed. Out: `MariaDB`. The server ends with the test process, on Linux
also when that is killed.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripts.mariadb_programs import HOW, Programs, programs

from waiting import wait_until

USER, PASSWORD = "penstock", "p@ss:w/o%41r?d #é'\\"
SETTINGS = (
    "--no-defaults",
    "--skip-networking=0",
    "--bind-address=127.0.0.1",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-log-file-size=8M",
    "--innodb-buffer-pool-size=16M",
    "--performance-schema=OFF",
)


@dataclass(frozen=True)
class MariaDB:
    """A running server."""

    port: int
    process: subprocess.Popen[bytes]

    def run(self, *statements: str) -> list[tuple[object, ...]]:
        """The rows of the last statement, of the one who may do all."""
        pymysql = pytest.importorskip("pymysql")
        connection = pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True)
        try:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())
        finally:
            connection.close()


@contextmanager
def mariadb_or_skip() -> Iterator[MariaDB]:
    """A running server with a database `shop` that USER may read; skips the test where there can be none."""
    found = programs()
    if found is None:
        pytest.skip(f"MariaDB is not installed ({HOW})")
    pytest.importorskip("pymysql", reason="PyMySQL is not installed: pip install 'penstock[mysql]'")
    folder = Path(tempfile.mkdtemp(prefix="penstock-mariadb-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        process, port = start(found, folder)
        server = MariaDB(port, process)
        secret = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
        server.run(
            "CREATE DATABASE shop",
            f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{secret}'",
            f"GRANT SELECT ON shop.* TO '{USER}'@'%'",
        )
        yield server
    finally:
        if process is not None:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def start(found: Programs, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    data, own = folder / "data", ["--user=root"] if os.geteuid() == 0 else []
    data.mkdir()
    login = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
    made = [found.install, "--no-defaults", f"--datadir={data}", *login, *own]
    subprocess.run(made, check=True, capture_output=True, timeout=120)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    ends_with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    files = [f"--datadir={data}", f"--socket={folder}/s", f"--pid-file={folder}/pid", f"--port={port}"]
    with (folder / "log").open("wb") as log:
        command = [*ends_with_us, found.server, *SETTINGS, "--skip-name-resolve", *files, *own]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    wait_until(lambda: answers(port) or process.poll() is not None, 60)
    assert process.poll() is None, (folder / "log").read_text()
    return process, port


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
