"""Counts how many times in a row a flow was running when Spark's process ended, or exceeded its time beside live.

In: a table and a flow. Out: counts. Invariant: a flow has a count from its crash on until its steps have succeeded
again, whatever process runs them and however often the server starts in between.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.locks import take_named_lock
from penstock.state.schema import attempts

FlowKey: TypeAlias = tuple[str, str]
"""A table and a flow into it."""
CALM_SECONDS = 3_600.0
"""A count that goes down step by step is one less after so long without a crash."""


class CrashCounts:
    """The counts, cached in memory: only the server that owns the store changes them."""

    def __init__(self, database: Database):
        self._database = database
        with database.read() as connection:
            rows = connection.execute(sa.select(attempts.c.table_id, attempts.c.flow, attempts.c.deaths)).all()
        self._deaths = {(table, flow): deaths for table, flow, deaths in rows}
        self._calm_since = dict.fromkeys(self._deaths, time.monotonic())
        self._stepped: set[FlowKey] = set()

    @property
    def deaths(self) -> Mapping[FlowKey, int]:
        """Consecutive crashes by table and flow."""
        return dict(self._deaths)

    def count(self, flow: FlowKey) -> int:
        """Consecutive crashes of one flow."""
        return self._deaths.get(flow, 0)

    def is_suspected(self, flow: FlowKey) -> bool:
        """Whether no step of the flow has succeeded since its last crash, so that it may be the cause."""
        return flow in self._deaths and flow not in self._stepped

    def record_deaths(self, flows: Iterable[FlowKey], most: int | None = None) -> None:
        """Count one more crash, up to `most`, for flows that were running when Spark's process ended, or that left a
        task running that makes it end."""
        with self._database.write() as connection:
            take_named_lock(connection, attempts.name)
            for flow in flows:
                before = self._deaths.get(flow, 0)
                self._deaths[flow] = before if most is not None and before >= most else before + 1
                self._calm_since[flow] = time.monotonic()
                self._stepped.discard(flow)
                connection.execute(sa.delete(attempts).where(_is_of(flow)))
                values = {"table_id": flow[0], "flow": flow[1], "deaths": self._deaths[flow]}
                connection.execute(sa.insert(attempts).values(values))

    def clear(self, flow: FlowKey) -> None:
        """Reset the count of a flow."""
        if self._deaths.pop(flow, None) is not None:
            with self._database.write() as connection:
                take_named_lock(connection, attempts.name)
                connection.execute(sa.delete(attempts).where(_is_of(flow)))

    def record_success(self, flow: FlowKey) -> None:
        """A step succeeded. The count goes down by one at the first such step after each CALM_SECONDS without a crash:
        a flow whose large steps end Spark must not return to them at once."""
        if flow not in self._deaths:
            return
        self._stepped.add(flow)
        now = time.monotonic()
        if now - self._calm_since[flow] < CALM_SECONDS:
            return
        self._calm_since[flow] = now
        left = self._deaths[flow] - 1
        if left <= 0:
            self.clear(flow)
            return
        self._deaths[flow] = left
        with self._database.write() as connection:
            take_named_lock(connection, attempts.name)
            connection.execute(sa.update(attempts).where(_is_of(flow)).values(deaths=left))


def _is_of(flow: FlowKey) -> sa.ColumnElement[bool]:
    return sa.and_(attempts.c.table_id == flow[0], attempts.c.flow == flow[1])
