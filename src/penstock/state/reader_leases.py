"""Until when other Iceberg readers may use files that they were given, for the next server.

In: the end of a lease, and how long it takes. Out: the record that ends last. Invariant: a record is never replaced by
one that ends earlier, so what a server has promised holds for the one after it, wherever that runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.schema import reader_leases
from penstock.state.transactions.locks import take_named_lock

ROW = 1


@dataclass(frozen=True, slots=True)
class LeaseEnd:
    """When the last lease ends."""

    until: float
    """Seconds since 1970, by the clock of the server that gave it."""
    seconds: float
    """How long it takes from its beginning."""


class ReaderLeases:
    """The record of one state store."""

    def __init__(self, database: Database):
        self._database = database

    def read(self) -> LeaseEnd | None:
        """The end of the last lease; None if none was given."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(reader_leases.c.until, reader_leases.c.seconds)).one_or_none()
        return None if row is None else LeaseEnd(row.until, row.seconds)

    def note(self, end: LeaseEnd) -> None:
        """Record a lease that begins now, unless one that ends later is recorded; one that would begin later is a
        mistake of a clock. Raises Fenced if another server has taken over."""
        until, seconds, now = reader_leases.c.until, reader_leases.c.seconds, end.until - end.seconds
        with self._database.write() as connection:
            take_named_lock(connection, reader_leases.name)
            connection.execute(sa.delete(reader_leases).where(sa.or_(until <= end.until, until - seconds > now)))
            if connection.execute(sa.select(reader_leases.c.id)).one_or_none() is None:
                values = {"id": ROW, "until": end.until, "seconds": end.seconds}
                connection.execute(sa.insert(reader_leases).values(values))
