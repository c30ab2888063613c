"""ClickHouse within the process, as a connection of the store: what a server answers over HTTP, chDB answers here."""

from __future__ import annotations

import atexit
import itertools
import json

from chdb.session import Session

from penstock.errors import Failed
from penstock.postgres.stores.clickhouse_server import Row

_numbers = itertools.count(1)


def open_session() -> Session:
    """A session of chDB that is closed before the process ends: one that is still open then may end it by a
    segmentation fault, as ClickHouse's threads for dropping its tables are gone by that time."""
    session = Session()
    atexit.register(session.close)
    return session


class ClickHouseSession:
    """chDB has one session a process; each test has a database of its own in it."""

    _session: Session | None = None

    def __init__(self) -> None:
        if ClickHouseSession._session is None:
            ClickHouseSession._session = open_session()
        self.database = f"db{next(_numbers)}"
        self.run(f"CREATE DATABASE {self.database}")

    def run(self, statement: str) -> None:
        self._send(statement, "CSV")

    def rows(self, query: str) -> list[Row]:
        found: list[Row] = json.loads(self._send(query, "JSONCompact"))["data"]
        return found

    def text(self, statement: str) -> str:
        """The answer in the format that the statement names."""
        return self._send(statement, "CSV")

    def _send(self, statement: str, form: str) -> str:
        assert self._session is not None
        try:
            return str(self._session.query(statement, form))
        except RuntimeError as error:
            raise Failed(str(error)) from error
