"""Counts how many times in a row a flow was running when Spark's process ended, or exceeded its time beside live.

In: a table and a flow. Out: counts. Invariant: a step that ends by itself resets the count of its flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.locks import take_named_lock
from penstock.state.schema import attempts

FlowKey: TypeAlias = tuple[str, str]
"""A table and a flow into it."""


class CrashCounts:
    """The counts, cached in memory: only the server that owns the store changes them."""

    def __init__(self, database: Database):
        self._database = database
        with database.read() as connection:
            rows = connection.execute(sa.select(attempts.c.table_id, attempts.c.flow, attempts.c.deaths)).all()
        self._deaths = {(table, flow): deaths for table, flow, deaths in rows}

    @property
    def deaths(self) -> Mapping[FlowKey, int]:
        """Consecutive crashes by table and flow."""
        return dict(self._deaths)

    def record_deaths(self, flows: Iterable[FlowKey]) -> None:
        """Count one more crash for flows that were running when Spark's process ended, or that left a task running that
        makes it end."""
        with self._database.write() as connection:
            take_named_lock(connection, attempts.name)
            for table, flow in flows:
                count = self._deaths[table, flow] = self._deaths.get((table, flow), 0) + 1
                this = sa.and_(attempts.c.table_id == table, attempts.c.flow == flow)
                connection.execute(sa.delete(attempts).where(this))
                values = {"table_id": table, "flow": flow, "deaths": count}
                connection.execute(sa.insert(attempts).values(values))

    def clear(self, flow: FlowKey) -> None:
        """Reset the count of a flow: a step of it ended by itself."""
        if self._deaths.pop(flow, None) is not None:
            this = sa.and_(attempts.c.table_id == flow[0], attempts.c.flow == flow[1])
            with self._database.write() as connection:
                take_named_lock(connection, attempts.name)
                connection.execute(sa.delete(attempts).where(this))
