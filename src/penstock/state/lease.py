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
from penstock.state.locks import lock_out_writers
from penstock.state.schema import lease

ROW = 1


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The newest owner's token (0: nobody yet), its last sign of life (a count; 0 when it let go), and
    what it says of itself."""

    token: int
    heartbeat: int
    owner: Mapping[str, object]

    @property
    def is_free(self) -> bool:
        """Nobody had it yet, or the last owner let it go."""
        return self.heartbeat == 0


class Lease:
    """The lease of one state store."""

    def __init__(self, database: Database):
        self._database = database

    def read(self) -> LeaseRecord:
        with self._database.read() as connection:
            return LeaseRecord(*connection.execute(sa.select(lease.c.token, lease.c.beat, lease.c.owner)).one())

    def take(self, seen: LeaseRecord, owner: Mapping[str, object]) -> int:
        """Take it from the owner that was seen; from now on this store writes under the new token, which
        is returned. Raises Fenced if another server took it meanwhile, or the owner lives after all."""
        same = sa.and_(lease.c.id == ROW, lease.c.token == seen.token, lease.c.beat == seen.heartbeat)
        values = {"token": seen.token + 1, "beat": 1, "owner": dict(owner)}
        with self._database.write() as connection:
            lock_out_writers(connection)
            if connection.execute(sa.update(lease).where(same).values(values)).rowcount != 1:
                raise Fenced("another server took the warehouse meanwhile")
        self._database.guard(seen.token + 1)
        return seen.token + 1

    def heartbeat(self) -> None:
        """A sign of life. Raises Fenced where another server has taken over."""
        with self._database.write() as connection:
            connection.execute(sa.update(lease).where(lease.c.id == ROW).values(beat=lease.c.beat + 1))

    def describe(self, owner: Mapping[str, object]) -> None:
        """What the owner says of itself from now on. Raises Fenced."""
        with self._database.write() as connection:
            connection.execute(sa.update(lease).where(lease.c.id == ROW).values(owner=dict(owner)))

    def release(self) -> None:
        """Let it go: the next server need not wait. Raises Fenced."""
        with self._database.write() as connection:
            connection.execute(sa.update(lease).where(lease.c.id == ROW).values(beat=0))
