"""The lease of the warehouse: one row with a token that only grows and a heartbeat of the owner.

In: the owner's description of itself. Out: `LeaseRecord`. Invariant: a server that takes the lease gets a greater
token than every owner before it, and every later write of an earlier owner is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from penstock.errors import Fenced
from penstock.state.database import Database
from penstock.state.schema import lease
from penstock.state.transactions.locks import lock_out_writers

ROW = 1


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The lease as it was read."""

    token: int
    """The latest owner's token; 0 if there was no owner yet."""
    heartbeat: int
    """A count that grows while the owner lives; 0 once it has released the lease."""
    owner: Mapping[str, object]
    """The owner's description of itself."""

    @property
    def is_free(self) -> bool:
        """Whether it had no owner yet, or the last owner released it."""
        return self.heartbeat == 0


class Lease:
    """The lease of one state store."""

    def __init__(self, database: Database):
        self._database = database

    def read(self) -> LeaseRecord:
        with self._database.read() as connection:
            return LeaseRecord(*connection.execute(sa.select(lease.c.token, lease.c.beat, lease.c.owner)).one())

    def take(self, seen: LeaseRecord, owner: Mapping[str, object]) -> int:
        """Take the lease over from the owner in `seen`; from then on this store writes under the new token, which is
        returned. Raises Fenced if another server took it meanwhile or the owner's heartbeat has changed."""
        same = sa.and_(lease.c.id == ROW, lease.c.token == seen.token, lease.c.beat == seen.heartbeat)
        values = {"token": seen.token + 1, "beat": 1, "owner": dict(owner)}
        with self._database.write() as connection:
            lock_out_writers(connection)
            if connection.execute(sa.update(lease).where(same).values(values)).rowcount != 1:
                raise Fenced("another server took the warehouse meanwhile")
        self._database.guard(seen.token + 1)
        return seen.token + 1

    def heartbeat(self) -> None:
        """Count the heartbeat up. Raises Fenced if another server has taken over."""
        with self._database.write() as connection:
            connection.execute(sa.update(lease).where(lease.c.id == ROW).values(beat=lease.c.beat + 1))

    def describe(self, owner: Mapping[str, object]) -> None:
        """Replace the owner's description. Raises Fenced."""
        with self._database.write() as connection:
            connection.execute(sa.update(lease).where(lease.c.id == ROW).values(owner=dict(owner)))

    def release(self) -> None:
        """Release the lease, so that the next server need not wait. Raises Fenced."""
        with self._database.write() as connection:
            connection.execute(sa.update(lease).where(lease.c.id == ROW).values(beat=0))
