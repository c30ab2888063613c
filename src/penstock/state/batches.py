"""The batch log: raw rows, grouped into numbered batches per stream.

In: a segment file that is on disk, with its rows and size. Out: `Batch` values in order. Invariant: the numbers of
a stream are 1, 2, 3 … without a gap; a batch that was returned is on disk and never changes; a batch that was
condemned because its file is damaged stays condemned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from penstock.errors import Conflict
from penstock.model.cursor import SourceSpan
from penstock.state.batch_keys import BatchKeys, BodyKey
from penstock.state.database import Database
from penstock.state.positions.stream_positions import StreamPositions
from penstock.state.positions.topic_positions import OffsetRange, advance
from penstock.state.schema import batches, damaged_segments
from penstock.state.transactions.group_commit import GroupCommit
from penstock.state.transactions.locks import take_named_lock


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of raw rows of a stream, in one segment file."""

    stream: str
    number: int
    """1 for the first batch of the stream."""
    segment: str
    """The path of the file below the inbox folder; TRIMMED if it was removed."""
    rows: int
    bytes: int
    received_at: datetime
    digest: str | None = None
    """SHA-256 of the file in hexadecimal; None if a release that computed none logged the batch."""
    replaces: int | None = None
    """The first batch of the replacement that it is a part of; None if its rows are added to those before."""
    removes: bool | None = None
    """Whether its file says which of the rows before it are to be removed, and has no rows of its own."""
    damage: str | None = None
    """Why none of its rows may be used; None if the file is intact."""


@dataclass(frozen=True, slots=True)
class RawFile:
    """A segment that is not logged yet."""

    segment: str
    """Its path below the inbox folder."""
    rows: int
    bytes: int
    digest: str


MOST_BATCHES = 2_000
"""The most batches that are read at once, however small they are: each is a file, and an entry in what a landing step
sends to Spark's workers."""
MOST_NAMES = 10_000
"""Names of files that are read at a time."""
TRIMMED = ""
"""`segment` of a batch whose file was removed because every table that needed it has its rows."""


class BatchesTrimmed(Conflict):
    """The raw rows of a requested batch have been removed from the inbox."""

    code = "trimmed-batches"

    def __init__(self, stream: str, number: int):
        super().__init__(
            f"batch {number} of `{stream}` was trimmed from the inbox: only the tables of that time have its rows",
            hint="give the new table the rows of the old one (FORWARD_QUERY), or keep raw rows for longer "
            "(`[maintenance] inbox_seconds`)",
        )


_LOG_COLUMNS = tuple(
    batches.c[name]
    for name in ("stream", "number", "segment", "rows", "bytes", "received_at", "digest", "replaces", "removes")
)
_IS_CONDEMNED = sa.and_(damaged_segments.c.stream == batches.c.stream, damaged_segments.c.number == batches.c.number)
_BATCH_COLUMNS = (*_LOG_COLUMNS, damaged_segments.c.problem)
_SELECT_BATCH = sa.select(*_BATCH_COLUMNS).select_from(batches.outerjoin(damaged_segments, _IS_CONDEMNED))


class BatchLog:
    """The batch log of every stream; `keys` has the idempotency keys of its bodies, `positions` how far their sources
    have come."""

    def __init__(self, database: Database):
        self._database = database
        self.keys = BatchKeys(database)
        self.positions = StreamPositions(database)
        self._appending: GroupCommit[Batch] = GroupCommit(database)

    def append(  # noqa: PLR0913 - one argument a column of the log
        self,
        stream: str,
        segment: str,
        rows: int,
        size: int,
        received_at: datetime,
        keys: Sequence[BodyKey] = (),
        digest: str | None = None,
        spans: Sequence[SourceSpan] = (),
    ) -> Batch:
        """Give the segment the stream's next number. `keys` are the idempotency keys it holds, `spans` say which rows
        of which sources, at most one of each.

        Raises Conflict if another writer took the number, a key was used before or a source is elsewhere, StorageFull,
        Fenced; then nothing is logged. After any other error (Unavailable: the store did not come back) `find` tells
        whether it was.
        """

        def write(connection: Connection) -> Batch:
            take_named_lock(connection, stream)
            batch = Batch(stream, _last_number(connection, stream) + 1, segment, rows, size, received_at, digest)
            values = {column.name: getattr(batch, column.name) for column in _LOG_COLUMNS}
            connection.execute(sa.insert(batches).values(values))
            self.keys.add(connection, stream, batch.number, keys)
            self.positions.move(connection, stream, batch.number, spans)
            return batch

        def find(connection: Connection) -> Batch | None:
            take_named_lock(connection, stream)
            return _find_by_segment(connection, stream, segment)

        try:
            return self._appending.write_once(stream, write, find)
        except IntegrityError as error:
            raise Conflict(
                f"another writer appends to `{stream}`, or one of the idempotency keys or positions is known"
            ) from error

    def append_replacement(
        self,
        stream: str,
        files: Sequence[RawFile],
        received_at: datetime,
        key: BodyKey,
        spans: Sequence[SourceSpan] = (),
    ) -> tuple[Batch, ...]:
        """Log these files as the stream's next batches, all or none, which together replace every row that came
        before them. `key` is their idempotency key, `spans` say which rows of which sources they are. Raises what
        `append` raises."""
        return self._append_together(
            stream,
            lambda first: tuple(
                Batch(stream, number, file.segment, file.rows, file.bytes, received_at, file.digest, first)
                for number, file in enumerate(files, first)
            ),
            key,
            spans,
        )

    def append_removal(self, stream: str, file: RawFile, received_at: datetime, key: BodyKey) -> Batch:
        """Log a file that says which of the rows before it are to be removed, as the stream's next batch. Raises what
        `append` raises."""
        digest = file.digest
        [made] = self._append_together(
            stream,
            lambda first: (Batch(stream, first, file.segment, 0, file.bytes, received_at, digest, None, True),),
            key,
        )
        return made

    def append_messages(
        self, stream: str, file: RawFile, received_at: datetime, read: tuple[str, Sequence[OffsetRange]]
    ) -> Batch:
        """Log a file of messages as the stream's next batch, together with the positions of their topic: `read` is its
        name and the offsets that the file has. Raises Conflict if they do not follow what was read before, and what
        `append` raises."""
        topic, ranges = read

        def write(connection: Connection) -> Batch:
            take_named_lock(connection, stream)
            number = _last_number(connection, stream) + 1
            made = Batch(stream, number, file.segment, file.rows, file.bytes, received_at, file.digest)
            advance(connection, stream, topic, ranges)
            connection.execute(
                sa.insert(batches).values({each.name: getattr(made, each.name) for each in _LOG_COLUMNS})
            )
            return made

        def find(connection: Connection) -> Batch | None:
            take_named_lock(connection, stream)
            return _find_by_segment(connection, stream, file.segment)

        try:
            return self._database.write_once(write, find)
        except IntegrityError as error:
            raise Conflict(f"another writer appends to `{stream}`") from error

    def _append_together(
        self, stream: str, make: Callable[[int], tuple[Batch, ...]], key: BodyKey, spans: Sequence[SourceSpan] = ()
    ) -> tuple[Batch, ...]:
        """Log the batches that `make` makes, given the number of the first, in one transaction."""

        def write(connection: Connection) -> tuple[Batch, ...]:
            take_named_lock(connection, stream)
            made = make(_last_number(connection, stream) + 1)
            values = [{column.name: getattr(batch, column.name) for column in _LOG_COLUMNS} for batch in made]
            connection.execute(sa.insert(batches), values)
            self.keys.add(connection, stream, made[-1].number, [key])
            self.positions.move(connection, stream, made[-1].number, spans)
            return made

        def find(connection: Connection) -> tuple[Batch, ...] | None:
            take_named_lock(connection, stream)
            found = _find_by_segment(connection, stream, make(0)[0].segment)
            if found is None or found.replaces is None:
                return (found,) if found is not None else None
            return _rest_of_replacement(connection, stream, found.number, found.number - 1)

        try:
            return self._database.write_once(write, find)
        except IntegrityError as error:
            raise Conflict(
                f"another writer appends to `{stream}`, or the idempotency key or a position is known"
            ) from error

    def replacement_rows(self, stream: str, first: int) -> int:
        """The number of rows of the replacement that begins with this batch; 0 if none does."""
        those = sa.and_(batches.c.stream == stream, batches.c.number >= first, batches.c.replaces == first)
        with self._database.read() as connection:
            return int(connection.execute(sa.select(sa.func.sum(batches.c.rows)).where(those)).scalar_one() or 0)

    def has_change(self, stream: str, after: int, upto: int) -> bool:
        """Whether one of the batches after `after` and up to `upto` replaces or removes rows of those before it."""
        those = sa.and_(batches.c.stream == stream, batches.c.number > after, batches.c.number <= upto)
        marked = sa.or_(batches.c.replaces.is_not(None), batches.c.removes.is_(True))
        query = sa.select(batches.c.number).where(those, marked).limit(1)
        with self._database.read() as connection:
            return connection.execute(query).one_or_none() is not None

    def find(self, stream: str, segment: str) -> Batch | None:
        """The batch of a segment, if it was logged. Waits for a transaction that may be logging it now."""
        with self._database.write() as connection:
            take_named_lock(connection, stream)
            return _find_by_segment(connection, stream, segment)

    def logged_segments(self, stream: str) -> Iterator[str]:
        """The files that the log names, in the order of their batches, while they are iterated over; those that were
        removed are left out."""
        kept = sa.and_(batches.c.stream == stream, batches.c.segment != TRIMMED)
        query = sa.select(batches.c.segment).where(kept).order_by(batches.c.number)
        with self._database.read() as connection:
            yield from connection.execution_options(yield_per=MOST_NAMES).execute(query).scalars()

    def check_ownership(self) -> None:
        """Raises Fenced if this server no longer owns the store, so that what it read of the log may be outdated."""
        with self._database.write():
            pass

    def read_after(
        self, stream: str, number: int, most_rows: int, most_bytes: int, upto: int | None = None
    ) -> tuple[Batch, ...]:
        """The batches after `number` (and up to `upto`) that together are within the limits, at most MOST_BATCHES; at
        least one if there is any. A replacement is read by itself, and whole, however large it is; so is a removal.
        Raises BatchesTrimmed if the next one's rows have been removed."""
        query = _SELECT_BATCH.where(batches.c.stream == stream, batches.c.number > number)
        if upto is not None:
            query = query.where(batches.c.number <= upto)
        taken: list[Batch] = []
        batch: Batch | None = None
        rows = size = 0
        with self._database.read() as connection:
            query = query.order_by(batches.c.number).limit(MOST_BATCHES)
            found = connection.execution_options(stream_results=True).execute(query)
            for row in found:
                batch = Batch(*row)
                if batch.number != number + len(taken) + 1 or batch.segment == TRIMMED:
                    found.close()
                    raise BatchesTrimmed(stream, number + len(taken) + 1)
                rows, size = rows + batch.rows, size + batch.bytes
                alone = batch.replaces is not None or batch.removes
                if alone or (taken and (rows > most_rows or size > most_bytes)):
                    found.close()
                    break
                taken.append(batch)
            if not taken and batch is not None and batch.removes:
                return (batch,)
            if not taken and batch is not None and batch.replaces is not None:
                return _rest_of_replacement(connection, stream, batch.replaces, number)
        return tuple(taken)

    def first_untrimmed(self, stream: str, after: int) -> int | None:
        """The number of the first batch after `after` that still has its file; None if none has."""
        kept = sa.and_(batches.c.stream == stream, batches.c.number > after, batches.c.segment != TRIMMED)
        with self._database.read() as connection:
            found: int | None = connection.execute(sa.select(sa.func.min(batches.c.number)).where(kept)).scalar_one()
        return found

    def first_received(self, stream: str, after: int) -> datetime | None:
        """When the first batch after `after` was received, of those that the log still has; None if it has none."""
        later = sa.and_(batches.c.stream == stream, batches.c.number > after)
        query = sa.select(batches.c.received_at).where(later).order_by(batches.c.number).limit(1)
        with self._database.read() as connection:
            found: datetime | None = connection.execute(query).scalar_one_or_none()
        return found

    def last_received_at(self, stream: str) -> datetime | None:
        """When the last batch that still has its file was received; None if none has."""
        kept = sa.and_(batches.c.stream == stream, batches.c.segment != TRIMMED)
        query = sa.select(batches.c.received_at).where(kept).order_by(batches.c.number.desc()).limit(1)
        with self._database.read() as connection:
            found: datetime | None = connection.execute(query).scalar_one_or_none()
        return found

    def last_received(self, stream: str, before: datetime) -> int:
        """The number of the last batch that was received before a time, of those that the log still has; 0 if none
        was."""
        earlier = sa.and_(batches.c.stream == stream, batches.c.received_at < before)
        with self._database.read() as connection:
            found = connection.execute(sa.select(sa.func.max(batches.c.number)).where(earlier)).scalar_one()
        return int(found or 0)

    def trim(self, stream: str, upto: int, received_before: datetime, most: int) -> tuple[Batch, ...]:
        """Remove from the log up to `most` of the oldest batches with numbers up to `upto` that were received before a
        time, and return them; the caller removes their files. A condemned batch and the last batch of the stream, which
        is needed to number the next one, stay in the log; their idempotency keys outlive all of them."""
        those = sa.and_(batches.c.stream == stream, batches.c.number <= upto, batches.c.segment != TRIMMED)
        young = sa.select(sa.func.min(batches.c.number)).where(those, batches.c.received_at >= received_before)
        with self._database.read() as connection:  # usually nothing is found, and no write lock is needed
            first = connection.execute(young).scalar_one()
            end = min(first if first is not None else upto + 1, _last_number(connection, stream))
            query = _SELECT_BATCH.where(those, batches.c.number < end).order_by(batches.c.number).limit(most)
            found = tuple(Batch(*row) for row in connection.execute(query))
        if not found:
            return ()
        with self._database.write() as connection:
            take_named_lock(connection, stream)
            inside = sa.and_(batches.c.stream == stream, batches.c.number.in_([each.number for each in found]))
            connection.execute(sa.update(batches).where(inside).values(segment=TRIMMED))
            condemned = sa.select(damaged_segments.c.number).where(damaged_segments.c.stream == stream)
            connection.execute(sa.delete(batches).where(inside, batches.c.number.not_in(condemned)))
        return found

    def head(self, stream: str) -> int:
        """The stream's last number; 0 if it has no batch."""
        with self._database.read() as connection:
            return _last_number(connection, stream)

    def heads(self) -> dict[str, int]:
        """The last number of every stream that has a batch."""
        query = sa.select(batches.c.stream, sa.func.max(batches.c.number)).group_by(batches.c.stream)
        with self._database.read() as connection:
            return dict(connection.execute(query).tuples().all())

    def first(self, stream: str) -> int:
        """The lowest number in the log; 0 if the stream has no batch. Batches below it were trimmed."""
        query = sa.select(sa.func.min(batches.c.number)).where(batches.c.stream == stream)
        with self._database.read() as connection:
            return int(connection.execute(query).scalar_one() or 0)

    def rows_between(self, stream: str, after: int, upto: int) -> int:
        """Number of rows in the batches after `after` and up to `upto`."""
        return self._sum(batches.c.rows, stream, after, upto)

    def bytes_between(self, stream: str, after: int, upto: int) -> int:
        """Size in bytes of the batches after `after` and up to `upto`."""
        return self._sum(batches.c.bytes, stream, after, upto)

    def condemn(self, batch: Batch, problem: str) -> tuple[Batch, bool]:
        """Decide that no table uses the batch from now on, because its segment is damaged. The first decision stays,
        even if the file can be read again later. Returns the batch with its damage, and whether this call decided."""
        known = _SELECT_BATCH.where(batches.c.stream == batch.stream, batches.c.number == batch.number)
        now = datetime.now(timezone.utc)
        with self._database.write() as connection:
            take_named_lock(connection, batch.stream)
            found = Batch(*connection.execute(known).one())
            if found.damage is not None:
                return found, False
            values = {"stream": batch.stream, "number": batch.number, "problem": problem, "found_at": now}
            connection.execute(sa.insert(damaged_segments).values(values))
        return replace(batch, damage=problem), True

    def list_condemned(self, limit: int) -> tuple[Batch, ...]:
        """Batches whose segment is damaged, those with the greatest numbers first."""
        query = sa.select(*_BATCH_COLUMNS).join(damaged_segments, _IS_CONDEMNED)
        query = query.order_by(damaged_segments.c.number.desc(), damaged_segments.c.stream).limit(limit)
        with self._database.read() as connection:
            return tuple(Batch(*row) for row in connection.execute(query))

    def _sum(self, column: sa.Column[int], stream: str, after: int, upto: int) -> int:
        inside = sa.and_(batches.c.stream == stream, batches.c.number > after, batches.c.number <= upto)
        with self._database.read() as connection:
            return int(connection.execute(sa.select(sa.func.sum(column)).where(inside)).scalar_one() or 0)


def _last_number(connection: Connection, stream: str) -> int:
    query = sa.select(sa.func.max(batches.c.number)).where(batches.c.stream == stream)
    return int(connection.execute(query).scalar_one() or 0)


def _rest_of_replacement(connection: Connection, stream: str, first: int, after: int) -> tuple[Batch, ...]:
    """The batches of a replacement after one of them, or after the one before it. Raises BatchesTrimmed."""
    those = sa.and_(batches.c.stream == stream, batches.c.number > after, batches.c.replaces == first)
    found = tuple(Batch(*row) for row in connection.execute(_SELECT_BATCH.where(those).order_by(batches.c.number)))
    for number, each in enumerate(found, after + 1):
        if each.number != number or each.segment == TRIMMED:
            raise BatchesTrimmed(stream, number)
    return found


def _find_by_segment(connection: Connection, stream: str, segment: str) -> Batch | None:
    """The batch of a segment; segment names are unique, so there is at most one."""
    query = _SELECT_BATCH.where(batches.c.stream == stream, batches.c.segment == segment)
    row = connection.execute(query).one_or_none()
    return Batch(*row) if row else None
