"""The journal of deployment steps: which are intended, done or undone, so that a restart can continue or undo.

In: numbered steps. Out: `JournalEntry` values in order. Invariant: a step is marked intended before it runs, done
only after it has run, and undone only after its inverse has run.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

import sqlalchemy as sa

from penstock.errors import Conflict
from penstock.state.database import Database
from penstock.state.schema import deployments, journal

StepMark: TypeAlias = Literal["waiting", "intended", "done", "undone"]
MAY_FOLLOW: dict[StepMark, tuple[StepMark, ...]] = {
    "waiting": (),
    "intended": ("waiting", "intended"),
    "done": ("intended", "done"),
    "undone": ("intended", "done", "undone"),
}
"""For each mark, the marks that it may follow. Setting the same mark again is allowed and changes nothing."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One step of a deployment. An intended step may have run completely, partly or not at all."""

    ordinal: int
    step: str
    mark: StepMark

    @property
    def done(self) -> bool:
        return self.mark == "done"


class Journal:
    """The steps of all deployments. They are written when a deployment is created (`Deployments.create`)."""

    def __init__(self, database: Database):
        self._database = database

    def mark(self, deployment: int, ordinal: int, mark: StepMark) -> None:
        """Mark a step as about to run (`intended`), as run (`done`) or as `undone`. Raises Conflict if its present mark
        does not allow that."""
        self.mark_all(deployment, (ordinal,), mark)

    def mark_all(self, deployment: int, ordinals: Collection[int], mark: StepMark) -> None:
        """Mark several steps, all or none. Raises Conflict if the present mark of one does not allow that."""
        these = sa.and_(journal.c.deployment == deployment, journal.c.ordinal.in_(ordinals))
        legal = sa.and_(these, journal.c.state.in_(MAY_FOLLOW[mark]))
        with self._database.write() as connection:
            if connection.execute(sa.update(journal).where(legal).values(state=mark)).rowcount != len(set(ordinals)):
                raise Conflict(_illegal_mark(connection, deployment, ordinals, mark))
            if mark == "intended":  # it may leave something in the lake, also if the deployment is discarded meanwhile
                swept = sa.and_(deployments.c.id == deployment, deployments.c.swept)
                connection.execute(sa.update(deployments).where(swept).values(swept=False))

    def entries(self, deployment: int) -> tuple[JournalEntry, ...]:
        """The entries of a deployment in the order of its steps."""
        query = (
            sa.select(journal.c.ordinal, journal.c.step, journal.c.state)
            .where(journal.c.deployment == deployment)
            .order_by(journal.c.ordinal)
        )
        with self._database.read() as connection:
            return tuple(JournalEntry(*row) for row in connection.execute(query))


def _illegal_mark(connection: sa.Connection, deployment: int, ordinals: Collection[int], mark: StepMark) -> str:
    """The first step that cannot get the mark, in words. The marks of the others are undone with the transaction."""
    query = sa.select(journal.c.ordinal, journal.c.state).where(journal.c.deployment == deployment)
    now = dict(connection.execute(query.where(journal.c.ordinal.in_(ordinals))).tuples().all())
    first = next(each for each in ordinals if now.get(each) not in MAY_FOLLOW[mark])
    return f"step {first} of deployment {deployment} cannot change from {now.get(first, 'unknown')} to {mark}"
