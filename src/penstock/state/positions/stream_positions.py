"""How far each source of a stream's rows has come: a position that is stored with the rows up to it.

In: the span of positions that a body stands for, as its batch is logged. Out: `StoredPosition` values. Invariant: the
position of a source moves in the transaction that logs its rows, and only from where it was: so no row of a source is
stored twice or passed over, however long ago it was sent before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from penstock.errors import Conflict
from penstock.model.cursor import Position, SourceSpan, parse_position, position_text
from penstock.state.database import Database
from penstock.state.schema import stream_positions

MOST_AT_ONCE = 500
"""Sources that one query looks for."""


@dataclass(frozen=True, slots=True)
class StoredPosition:
    """How far a source has come in a stream."""

    source: str
    position: Position
    number: int
    """The batch that has its last rows."""


class OtherPosition(Conflict):
    """Rows of a source were sent that do not follow those that are stored."""

    code = "other-position"

    def __init__(self, span: SourceSpan, stored: Position | None):
        after = position_text(span.after) if span.after is not None else "the beginning"
        at = position_text(stored) if stored is not None else "its beginning"
        super().__init__(
            f"the rows of `{span.source[:60]}` after {after} do not follow what is stored, which is at {at}; none of "
            "these rows is kept",
            hint="ask for its position (`GET /v0/datasources/NAME/positions`), and send what comes after it",
        )


class StreamPositions:
    """The positions of all sources of all streams."""

    def __init__(self, database: Database):
        self._database = database

    def find(self, stream: str, sources: Collection[str]) -> Mapping[str, StoredPosition]:
        """The positions of those of the sources that have stored rows."""
        wanted, found = sorted(sources), dict[str, StoredPosition]()
        for at in range(0, len(wanted), MOST_AT_ONCE):
            part = wanted[at : at + MOST_AT_ONCE]
            found.update(self._read(stream, stream_positions.c.source.in_(part)))
        return found

    def of_stream(self, stream: str) -> Mapping[str, StoredPosition]:
        """The positions of every source of a stream."""
        return self._read(stream, sa.true())

    def _read(self, stream: str, which: sa.ColumnElement[bool]) -> Mapping[str, StoredPosition]:
        columns = (stream_positions.c.source, stream_positions.c.position, stream_positions.c.number)
        query = sa.select(*columns).where(stream_positions.c.stream == stream, which)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return {row.source: StoredPosition(row.source, _parsed(row.position), row.number) for row in rows}

    def move(self, connection: Connection, stream: str, number: int, spans: Collection[SourceSpan]) -> None:
        """Move sources from where their spans begin to where these end, inside the caller's transaction. Raises
        IntegrityError if one is elsewhere."""
        for span in spans:
            values = {"position": position_text(span.upto), "number": number}
            if span.after is None:
                connection.execute(sa.insert(stream_positions).values(stream=stream, source=span.source, **values))
                continue
            this = (stream_positions.c.stream == stream, stream_positions.c.source == span.source)
            at = stream_positions.c.position == position_text(span.after)
            if connection.execute(sa.update(stream_positions).where(*this, at).values(values)).rowcount != 1:
                raise IntegrityError("the position of a source", {}, OtherPosition(span, None))


def _parsed(text: str) -> Position:
    found = parse_position(text)
    assert found is not None, "it was written by `position_text`"
    return found
