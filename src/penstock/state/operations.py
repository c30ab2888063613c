"""The operations log: what was done to which data source, and how long it took.

In: `Operation` values. Out: the latest of them. Invariant: the log is only for people to read; nothing depends on its
entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime, timezone

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.schema import operations


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
    """The operations log."""

    def __init__(self, database: Database):
        self._database = database

    def log(self, operation: Operation) -> None:
        values = {name: getattr(operation, name) for name in _COLUMN_NAMES}
        # Postgres stores no NUL in text, and an error may quote a row that has one.
        values["error"] = operation.error.replace("\0", "\N{REPLACEMENT CHARACTER}") if operation.error else None
        with self._database.write() as connection:
            connection.execute(sa.insert(operations).values(values))

    def recent(self, limit: int) -> tuple[Operation, ...]:
        """The latest operations, newest first."""
        columns = [operations.c[name] for name in _COLUMN_NAMES]
        query = sa.select(*columns).order_by(operations.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(Operation(*row) for row in connection.execute(query))

    def trim(self, before: datetime) -> int:
        """Remove the entries older than `before`. Returns how many."""
        old = operations.c.timestamp < before
        with self._database.read() as connection:
            if connection.execute(sa.select(operations.c.id).where(old).limit(1)).one_or_none() is None:
                return 0
        with self._database.write() as connection:
            return int(connection.execute(sa.delete(operations).where(old)).rowcount)
