"""Counts how many times in a row a flow, a query, or a table's materialization was running when Spark's process ended.

In: a table and a flow, of which a table's materialization counts as one, or the digest of a query. Out: counts.
Invariant: a flow has a count from its crash on until its steps have succeeded again, whatever process runs them and
however often the server starts in between; a query until it has run without harm, or a day after its last crash.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import TypeAlias

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.schema import attempts, query_crashes
from penstock.state.transactions.locks import take_named_lock

FlowKey: TypeAlias = tuple[str, str]
"""A table and a flow into it."""
CALM_SECONDS = 3_600.0
"""A count that goes down step by step is one less after so long without a crash."""
QUERIES_KEPT_FOR = timedelta(days=1)
"""After so long without a crash, those of a query are forgotten."""


class CrashCounts:
    """The counts of flows, cached in memory: only the server that owns the store changes them."""

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

    def crashed_lately(self, flow: FlowKey) -> bool:
        """Whether a flow with crashes had one in the last CALM_SECONDS, or may have had, before this server's start."""
        return flow in self._deaths and time.monotonic() - self._calm_since[flow] < CALM_SECONDS

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


class QueryCrashes:
    """The counts of queries, cached in memory like those of flows."""

    def __init__(self, database: Database):
        self._database = database
        with database.read() as connection:
            rows = connection.execute(sa.select(query_crashes)).all()
        self._found = {row.digest: (row.crashes, row.last_at) for row in rows}

    def count(self, digest: str) -> int:
        """The crashes of a query; 0 after QUERIES_KEPT_FOR."""
        crashes, last = self._found.get(digest, (0, None))
        return crashes if last is not None and _is_kept(last, datetime.now(timezone.utc)) else 0

    def last(self, digest: str) -> datetime | None:
        """When a query's last crash was; None if it had none."""
        return self._found.get(digest, (0, None))[1]

    def record(self, digests: Iterable[str]) -> None:
        """Count one more crash for each; forget what is older than QUERIES_KEPT_FOR."""
        now = datetime.now(timezone.utc)
        # Of a copy: queries that end now are cleared by other threads.
        kept = {digest: found for digest, found in dict(self._found).items() if _is_kept(found[1], now)}
        new = {digest: (kept.get(digest, (0, now))[0] + 1, now) for digest in digests}
        with self._database.write() as connection:
            take_named_lock(connection, query_crashes.name)
            last_at = query_crashes.c.last_at
            old = sa.or_(last_at <= now - QUERIES_KEPT_FOR, last_at >= now + QUERIES_KEPT_FOR)
            connection.execute(sa.delete(query_crashes).where(old))
            connection.execute(sa.delete(query_crashes).where(query_crashes.c.digest.in_(list(new))))
            if new:
                rows = [{"digest": digest, "crashes": crashes, "last_at": at} for digest, (crashes, at) in new.items()]
                connection.execute(sa.insert(query_crashes), rows)
        self._found = kept | new

    def clear(self, digest: str) -> None:
        """Forget a query's crashes."""
        if self._found.pop(digest, None) is not None:
            with self._database.write() as connection:
                take_named_lock(connection, query_crashes.name)
                connection.execute(sa.delete(query_crashes).where(query_crashes.c.digest == digest))


def _is_kept(last: datetime, now: datetime) -> bool:
    """Whether a crash counts still. One in a far future was written by a clock that was wrong."""
    return abs(now - last) < QUERIES_KEPT_FOR
