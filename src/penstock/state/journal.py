"""What a deployment was about to do and what of it is done, so that a restart goes on there.

In: numbered steps. Out: `Entry` values in order. Called by deploy/executor. Invariant: a step is in
the journal before it runs, and marked done only after it has run.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from penstock.errors import Conflict
from penstock.state.database import Database
from penstock.state.schema import journal


@dataclass(frozen=True, slots=True)
class Entry:
    """One step of a deployment."""

    ordinal: int
    step: str
    done: bool


class Journal:
    """The steps of every deployment."""

    def __init__(self, database: Database):
        self._database = database

    def intend(self, deployment: int, ordinal: int, step: str) -> None:
        """Say that the step is about to run. Saying it again changes nothing.

        Raises Conflict if the number was given to another step.
        """
        values = {"deployment": deployment, "ordinal": ordinal, "step": step, "done": False}
        known = sa.select(journal.c.step).where(journal.c.deployment == deployment, journal.c.ordinal == ordinal)
        try:
            with self._database.write() as connection:
                said = connection.execute(known).scalar_one_or_none()
                if said is None:
                    connection.execute(sa.insert(journal).values(values))
        except IntegrityError as error:
            raise Conflict(f"step {ordinal} of deployment {deployment} cannot be written to the journal") from error
        if said is not None and said != step:
            raise Conflict(f"step {ordinal} of deployment {deployment} is `{said}` in the journal, not `{step}`")

    def done(self, deployment: int, ordinal: int) -> None:
        """Say that the step has run. Raises Conflict if it was never intended."""
        this = sa.and_(journal.c.deployment == deployment, journal.c.ordinal == ordinal)
        with self._database.write() as connection:
            if connection.execute(sa.update(journal).where(this).values(done=True)).rowcount != 1:
                raise Conflict(f"step {ordinal} of deployment {deployment} is not in the journal")

    def entries(self, deployment: int) -> tuple[Entry, ...]:
        """In the order of the steps."""
        query = (
            sa.select(journal.c.ordinal, journal.c.step, journal.c.done)
            .where(journal.c.deployment == deployment)
            .order_by(journal.c.ordinal)
        )
        with self._database.read() as connection:
            return tuple(Entry(*row) for row in connection.execute(query))
