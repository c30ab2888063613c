"""The audit log: who deployed, promoted, rolled back, discarded, ran copies or changed tokens, from where.

In: `AuditEntry` values, before their action begins. Out: the latest of them. Invariant: an entry whose outcome is BEGUN
is of an action that still runs, or whose end could not be recorded: the server was killed, or the store went away.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime, timezone

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.logs.stored_text import storable_text
from penstock.state.schema import audit_log

BEGUN, DONE = "begun", "ok"
LONGEST_TEXT = 2_000


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One action."""

    action: str
    """Such as `promote` or `create token`."""
    target: str
    """What it is about: a deployment, a pipe, a job, the name of a token."""
    token: str
    """The name of the token of the call."""
    address: str
    """The client's address."""
    request_id: str
    details: str = ""
    """The parameters of the call as JSON."""
    outcome: str = BEGUN
    """`ok`, or the code of the error."""
    elapsed_time: float = 0.0
    """Seconds that it took."""
    began_at: datetime = field(default_factory=_utc_now)


_COLUMN_NAMES = tuple(each.name for each in fields(AuditEntry))


class AuditLog:
    """The audit log."""

    def __init__(self, database: Database):
        self._database = database

    def add(self, entry: AuditEntry) -> int:
        """Store an entry; returns its number."""
        values = {name: _storable(getattr(entry, name)) for name in _COLUMN_NAMES}
        with self._database.write() as connection:
            made = connection.execute(sa.insert(audit_log).values(values)).inserted_primary_key
        assert made is not None, "an insert of one row gives its key"
        return int(made[0])

    def end(self, number: int, outcome: str, target: str, seconds: float) -> None:
        """Store what became of an action, and what it was about, which for a new deployment is known only now."""
        values = {"outcome": outcome, "target": _storable(target), "elapsed_time": seconds}
        with self._database.write() as connection:
            connection.execute(sa.update(audit_log).where(audit_log.c.id == number).values(values))

    def recent(self, limit: int) -> tuple[AuditEntry, ...]:
        """The latest entries, newest first."""
        columns = [audit_log.c[name] for name in _COLUMN_NAMES]
        query = sa.select(*columns).order_by(audit_log.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(AuditEntry(*row) for row in connection.execute(query))

    def trim(self, before: datetime) -> int:
        """Remove the entries older than `before`. Returns how many."""
        old = audit_log.c.began_at < before
        with self._database.read() as connection:
            if connection.execute(sa.select(audit_log.c.id).where(old).limit(1)).one_or_none() is None:
                return 0
        with self._database.write() as connection:
            return int(connection.execute(sa.delete(audit_log).where(old)).rowcount)


def _storable(value: object) -> object:
    return storable_text(value, LONGEST_TEXT) if isinstance(value, str) else value
