"""The log of topics: what was read of them, how far the reading is behind, and what stopped it.

In: `TopicRead` values. Out: the latest of them. Invariant: the log is only for people to read; nothing depends on its
entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from typing import Literal

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.schema import topic_reads


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True)
class TopicRead:
    """What happened to a partition of the topic of a data source since the entry before."""

    datasource: str
    topic: str
    partition: int
    """-1 where it concerns all of them."""
    kind: Literal["info", "warning", "error"] = "info"
    lag: int = 0
    """Offsets up to the end of the partition that are not in the batch log yet."""
    messages: int = 0
    bytes: int = 0
    text: str = ""
    timestamp: datetime = field(default_factory=_utc_now)


_COLUMNS = tuple(each.name for each in fields(TopicRead))


class TopicReads:
    """The log of topics."""

    def __init__(self, database: Database):
        self._database = database

    def add(self, entries: Sequence[TopicRead]) -> None:
        """Write entries."""
        if entries:
            with self._database.write() as connection:
                connection.execute(sa.insert(topic_reads), [asdict(each) for each in entries])

    def recent(self, limit: int) -> tuple[TopicRead, ...]:
        """The latest entries, newest first."""
        query = sa.select(*(topic_reads.c[name] for name in _COLUMNS)).order_by(topic_reads.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(TopicRead(*row) for row in connection.execute(query))

    def trim(self, before: datetime) -> int:
        """Remove the entries older than `before`. Returns how many."""
        old = topic_reads.c.timestamp < before
        with self._database.read() as connection:
            if connection.execute(sa.select(topic_reads.c.id).where(old).limit(1)).one_or_none() is None:
                return 0
        with self._database.write() as connection:
            return int(connection.execute(sa.delete(topic_reads).where(old)).rowcount)
