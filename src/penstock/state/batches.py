"""The batch log: raw input, cut once into numbered batches.

In: a segment on disk and what is in it. Out: `Batch` values in order. Called by flow/inbox (append)
and by the landing flows. Invariant: the numbers of a stream are 1, 2, 3 … without a gap; a batch
that was returned is on disk and never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from penstock.errors import Conflict
from penstock.state.database import Database
from penstock.state.schema import batch_keys, batches


@dataclass(frozen=True, slots=True)
class Batch:
    """Batch `number` of a stream: `rows` lines, `bytes` long, in the file `segment`."""

    stream: str
    number: int
    segment: str
    rows: int
    bytes: int
    received_at: datetime


_COLUMNS = tuple(batches.c[name] for name in ("stream", "number", "segment", "rows", "bytes", "received_at"))


class Batches:
    """The log of every stream."""

    def __init__(self, database: Database):
        self._database = database

    def append(  # noqa: PLR0913 - one argument a column of the log
        self, stream: str, segment: str, rows: int, size: int, received_at: datetime, keys: Sequence[str] = ()
    ) -> Batch:
        """Give the segment the stream's next number. `keys` are the idempotency keys it holds.

        Raises Conflict if another writer took the number, or a key is known; then nothing is kept.
        """
        try:
            with self._database.write() as connection:
                batch = Batch(stream, _head(connection, stream) + 1, segment, rows, size, received_at)
                values = {column.name: getattr(batch, column.name) for column in _COLUMNS}
                connection.execute(sa.insert(batches).values(values))
                if keys:
                    rows_of_keys = [{"stream": stream, "key": key, "number": batch.number} for key in keys]
                    connection.execute(sa.insert(batch_keys), rows_of_keys)
        except IntegrityError as error:
            raise Conflict(f"another writer appends to `{stream}`, or one of the idempotency keys is known") from error
        return batch

    def after(
        self, stream: str, number: int, most_rows: int, most_bytes: int, upto: int | None = None
    ) -> tuple[Batch, ...]:
        """The batches after `number` (and up to `upto`) that together are within the limits; at
        least one if there is any."""
        query = sa.select(*_COLUMNS).where(batches.c.stream == stream, batches.c.number > number)
        if upto is not None:
            query = query.where(batches.c.number <= upto)
        taken: list[Batch] = []
        rows = size = 0
        with self._database.read() as connection:
            found = connection.execution_options(stream_results=True).execute(query.order_by(batches.c.number))
            for row in found:
                batch = Batch(*row)
                rows, size = rows + batch.rows, size + batch.bytes
                if taken and (rows > most_rows or size > most_bytes):
                    found.close()
                    break
                taken.append(batch)
        return tuple(taken)

    def head(self, stream: str) -> int:
        """The stream's last number; 0 if it has no batch."""
        with self._database.read() as connection:
            return _head(connection, stream)

    def heads(self) -> dict[str, int]:
        """The last number of every stream that has a batch."""
        query = sa.select(batches.c.stream, sa.func.max(batches.c.number)).group_by(batches.c.stream)
        with self._database.read() as connection:
            return dict(connection.execute(query).tuples().all())

    def with_key(self, stream: str, key: str) -> Batch | None:
        """The batch that a call with this idempotency key went to."""
        same = sa.and_(batch_keys.c.stream == batches.c.stream, batch_keys.c.number == batches.c.number)
        query = sa.select(*_COLUMNS).join(batch_keys, same)
        query = query.where(batch_keys.c.stream == stream, batch_keys.c.key == key)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return Batch(*row) if row else None

    def rows_between(self, stream: str, after: int, upto: int) -> int:
        """How many rows the batches after `after` and up to `upto` hold."""
        inside = sa.and_(batches.c.stream == stream, batches.c.number > after, batches.c.number <= upto)
        with self._database.read() as connection:
            return int(connection.execute(sa.select(sa.func.sum(batches.c.rows)).where(inside)).scalar_one() or 0)


def _head(connection: Connection, stream: str) -> int:
    query = sa.select(sa.func.max(batches.c.number)).where(batches.c.stream == stream)
    return int(connection.execute(query).scalar_one() or 0)
