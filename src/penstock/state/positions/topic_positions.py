"""How far the topics of data sources were read: the next offset of each partition.

In: offset ranges, in the transaction that logs the batch of their messages. Out: positions. Invariants: the offsets of
one partition are logged in order and each once, so a batch has the messages from the position before it to the one
after it; a position belongs to one topic of one cluster, and is never used for another one of that name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from penstock.errors import Conflict
from penstock.state.database import Database
from penstock.state.schema import topic_positions
from penstock.state.transactions.locks import take_named_lock


@dataclass(frozen=True, slots=True)
class TopicPosition:
    """The next message of a partition."""

    partition: int
    origin: str
    """Which topic of which cluster it is, as these identify themselves."""
    next: int
    """Its offset."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """What a batch has of one partition: the messages with offsets from `first` up to and without `next`; offsets that
    the topic does not have (any more) are left out."""

    partition: int
    first: int
    next: int


class TopicPositions:
    """The positions of every stream."""

    def __init__(self, database: Database):
        self._database = database

    def read(self, stream: str, topic: str) -> tuple[TopicPosition, ...]:
        """The positions of a topic, by partition; none if it was never read."""
        of = topic_positions.c
        query = sa.select(of.partition, of.origin, of.next).where(of.stream == stream, of.topic == topic)
        with self._database.read() as connection:
            return tuple(TopicPosition(*row) for row in connection.execute(query.order_by(of.partition)))

    def add(self, stream: str, topic: str, found: Collection[TopicPosition]) -> None:
        """Decide where partitions begin that were never read. One that has a position keeps it."""
        of = topic_positions.c
        with self._database.write() as connection:
            take_named_lock(connection, stream)
            known = sa.select(of.partition).where(of.stream == stream, of.topic == topic)
            old = set(connection.execute(known).scalars())
            new = [_values(stream, topic, each) for each in found if each.partition not in old]
            if new:
                connection.execute(sa.insert(topic_positions), new)

    def pass_over(self, stream: str, topic: str, ranges: Sequence[OffsetRange]) -> None:
        """Move positions over offsets at which there is no message to read. Raises Conflict if one is not where its
        range begins."""
        with self._database.write() as connection:
            take_named_lock(connection, stream)
            advance(connection, stream, topic, ranges)

    def move(self, stream: str, topic: str, given_up: Collection[int], found: Collection[TopicPosition]) -> None:
        """Put these positions in the place of those of some partitions: somebody decided to go on there."""
        of = topic_positions.c
        with self._database.write() as connection:
            take_named_lock(connection, stream)
            gone = sa.and_(of.stream == stream, of.topic == topic, of.partition.in_(sorted(given_up)))
            connection.execute(sa.delete(topic_positions).where(gone))
            if found:
                connection.execute(sa.insert(topic_positions), [_values(stream, topic, each) for each in found])


def _values(stream: str, topic: str, found: TopicPosition) -> dict[str, object]:
    return {
        "stream": stream,
        "topic": topic,
        "partition": found.partition,
        "origin": found.origin,
        "next": found.next,
    }


def advance(connection: Connection, stream: str, topic: str, ranges: Sequence[OffsetRange]) -> None:
    """Move the positions over what is being logged. Raises Conflict if one is not where its range begins."""
    of = topic_positions.c
    for each in ranges:
        at = sa.and_(of.stream == stream, of.topic == topic, of.partition == each.partition, of.next == each.first)
        changed = connection.execute(sa.update(topic_positions).where(at).values(next=each.next))
        if changed.rowcount != 1:
            raise Conflict(f"partition {each.partition} of `{topic}` was read from {each.first} on before")
