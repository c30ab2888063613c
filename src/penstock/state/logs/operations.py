"""The operations log: what was done to which data source, and how long it took.

In: `Operation` values. Out: the latest of them. Invariant: the log is only for people to read; nothing depends on its
entries. They are written together, about once a second, so that a step does not wait for the disk because of its entry;
a crash loses those of the last second.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone

import sqlalchemy as sa

from penstock.errors import PenstockError
from penstock.state.database import Database
from penstock.state.schema import operations

FLUSH_SECONDS = 1.0
MOST_WAITING = 10_000
"""Entries that wait in memory while the store is away; the oldest are given up after that."""
log = logging.getLogger("penstock.state")


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; the field names are those of Tinybird's service data source `datasources_ops_log`."""

    event_type: str
    datasource_name: str
    deployment_id: int | None = None
    result: str = "ok"
    elapsed_time: float = 0.0
    rows: int = 0
    rows_quarantine: int = 0
    read_rows: int = 0
    read_bytes: int = 0
    written_rows: int = 0
    written_bytes: int = 0
    error: str | None = None
    timestamp: datetime = field(default_factory=_utc_now)


_COLUMN_NAMES = tuple(each.name for each in fields(Operation))


class OperationsLog:
    """The operations log. Thread-safe."""

    def __init__(self, database: Database):
        self._database = database
        self._waiting: list[Operation] = []
        self._flushed = float("-inf")
        self._guard = threading.Lock()
        self._flushing = threading.Lock()

    def log(self, operation: Operation) -> None:
        """Add an entry. The first one after a second writes all that wait."""
        with self._guard:
            self._waiting.append(operation)
            del self._waiting[:-MOST_WAITING]
            is_due = time.monotonic() - self._flushed >= FLUSH_SECONDS
        if is_due:
            self.flush()

    def flush(self) -> None:
        """Write the entries that wait. If the store does not take them they go on waiting: no step fails for its
        entry."""
        with self._flushing:
            with self._guard:
                entries, self._waiting = self._waiting, []
                self._flushed = time.monotonic()
            if not entries:
                return
            try:
                with self._database.write() as connection:
                    connection.execute(sa.insert(operations), [_row(each) for each in entries])
            except PenstockError as error:
                log.warning("%d entries of the operations log wait: %s", len(entries), error.message)
                with self._guard:
                    self._waiting = [*entries, *self._waiting][-MOST_WAITING:]

    def recent(self, limit: int) -> tuple[Operation, ...]:
        """The latest operations, newest first."""
        self.flush()
        columns = [operations.c[name] for name in _COLUMN_NAMES]
        query = sa.select(*columns).order_by(operations.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(Operation(*row) for row in connection.execute(query))

    def trim(self, before: datetime) -> int:
        """Remove the entries older than `before`. Returns how many."""
        self.flush()
        old = operations.c.timestamp < before
        with self._database.read() as connection:
            if connection.execute(sa.select(operations.c.id).where(old).limit(1)).one_or_none() is None:
                return 0
        with self._database.write() as connection:
            return int(connection.execute(sa.delete(operations).where(old)).rowcount)


def _row(operation: Operation) -> dict[str, object]:
    values = {name: getattr(operation, name) for name in _COLUMN_NAMES}
    # Postgres stores no NUL in text, and an error may quote a row that has one.
    values["error"] = operation.error.replace("\0", "\N{REPLACEMENT CHARACTER}") if operation.error else None
    return values
