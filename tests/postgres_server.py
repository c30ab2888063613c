"""A real Postgres server for tests, in a folder of its own and on a free port.

In: the programs of Postgres, if they are installed. Out: `Postgres`. Server and folder do not outlive the tests,
whatever ends them (also SIGKILL): a keeper process (postgres_keeper.py) holds both and ends when its standard input
does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from scripts.postgres_programs import HOW, programs

from postgres_keeper import somebody

USER, PASSWORD = "penstock", "p@ss:w/o%41r?d #é"
"""A password with all that has a meaning in a URL."""
KEEPER = Path(__file__).with_name("postgres_keeper.py")


class Postgres:
    """A running server. `restart` and `stop` are as rude as `kill -9`: nothing is shut down in order."""

    def __init__(self) -> None:
        found = programs()
        assert found is not None, HOW
        command = [sys.executable, str(KEEPER), str(found)]
        login = {"PENSTOCK_TEST_USER": USER, "PENSTOCK_TEST_PASSWORD": PASSWORD}
        # A session of its own: Ctrl-C at the terminal is for the tests, which end the keeper in their time.
        self._keeper = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | login,
        )
        self.port = int(self._answer())
        self._made = 0

    def stop(self) -> None:
        self._ask("stop")

    def start(self) -> None:
        self._ask("start")

    def restart(self) -> None:
        """As `pg_ctl restart -m immediate` does."""
        self._ask("stop")
        self._ask("start")

    def end(self) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait(timeout=120)

    def store(self) -> str:
        """The URL of a new, empty store: a schema of its own, which costs less than a database."""
        return f"{self.url()}?options=-csearch_path%3D{self.schema()}"

    def schema(self) -> str:
        """The name of a new, empty schema."""
        self._made += 1
        name = f"test_{self._made}"
        self.run(f"CREATE SCHEMA {name}")
        return name

    def url(self) -> str:
        return f"postgresql://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/postgres"

    def connect(self) -> Any:
        """A connection of psycopg2, in a transaction of its own."""
        # Imported here: without the drivers the tests on SQLite still run.
        psycopg2 = pytest.importorskip("psycopg2")
        return psycopg2.connect(host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname="postgres")

    def run(self, statement: str) -> None:
        connection = self.connect()
        try:
            connection.autocommit = True
            connection.cursor().execute(statement)
        finally:
            connection.close()

    def _ask(self, what: str) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(what + "\n")
        self._keeper.stdin.flush()
        assert self._answer() == str(self.port)

    def _answer(self) -> str:
        assert self._keeper.stdout is not None
        line = self._keeper.stdout.readline().strip()
        assert line, "Postgres did not start; what it said is on standard error"
        return line


def start_or_skip() -> Postgres:
    """A running server; skips the test where there can be none."""
    if programs() is None:
        pytest.skip(f"Postgres is not installed ({HOW})")
    if somebody() is None:
        pytest.skip("Postgres does not run as root, and there is no user `postgres` or `nobody` to run it as")
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed: pip install 'penstock[postgres]'")
    return Postgres()
