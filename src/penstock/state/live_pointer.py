"""The live pointer: which deployment is live and which is previous, changed by compare-and-set.

In: the pointer version that the caller saw, and the new values. Out: `LiveVersions`. Invariant: the pointer and the
deployment states that go with it change in one transaction, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from penstock.errors import Conflict
from penstock.state.database import Database
from penstock.state.deployments import StateMove, apply_move
from penstock.state.schema import pointer

ROW = 1


@dataclass(frozen=True, slots=True)
class LiveVersions:
    """The live and the previous deployment."""

    live: int | None
    previous: int | None
    version: int
    """A number that grows with every switch."""


class LivePointer:
    """The pointer to the live deployment."""

    def __init__(self, database: Database):
        self._database = database

    def read(self) -> LiveVersions:
        query = sa.select(pointer.c.live, pointer.c.previous, pointer.c.version).where(pointer.c.id == ROW)
        with self._database.read() as connection:
            live, previous, version = connection.execute(query).one()
        return LiveVersions(live, previous, version)

    def swap(
        self, expected_version: int, live: int | None, previous: int | None, moves: Sequence[StateMove] = ()
    ) -> LiveVersions:
        """Change the pointer and deployment states together. Raises Conflict if the pointer's version or a state
        differs from what is expected, NotFound if a deployment does not exist; then nothing is changed."""
        values = {"live": live, "previous": previous, "version": expected_version + 1}
        unchanged = sa.and_(pointer.c.id == ROW, pointer.c.version == expected_version)
        with self._database.write() as connection:
            if connection.execute(sa.update(pointer).where(unchanged).values(values)).rowcount != 1:
                raise Conflict(
                    "another deployment went live meanwhile", hint="see `penstock deployment ls`, and try again"
                )
            for move in moves:
                apply_move(connection, move)
        return LiveVersions(live, previous, expected_version + 1)
