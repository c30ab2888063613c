"""The files that data sources take: which were found, and what became of each.

In: what a place has, and what was read of a file. Out: `ImportedFile` values. Invariants: a file is known by its
address, so it is taken once, whatever it holds later; numbers rise in the order in which files are found and are never
used again, so that a number and a count of rows say how far a stream has come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from penstock.state.database import Database
from penstock.state.schema import imported_files
from penstock.state.transactions.locks import take_named_lock

ImportState: TypeAlias = Literal["waiting", "reading", "storing", "done", "failed", "changed", "moved"]
"""`storing`: its rows, all of them, are being stored with those of other files, and its counts say how many they are.
`changed`: other rows were put into it after it was taken, and these are not taken. `moved`: it is another name of a
file that was taken, and is not taken again."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a place."""

    address: str
    mark: str
    """What tells its contents from others under its name."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file that a data source has taken, or will take."""

    number: int
    address: str
    mark: str
    state: ImportState
    has_header: bool | None
    """Of a CSV file that was begun: whether its first record has names."""
    successful_rows: int
    quarantined_rows: int
    error: str | None
    found_at: datetime
    updated_at: datetime

    @property
    def rows(self) -> int:
        """Rows of it that are stored."""
        return self.successful_rows + self.quarantined_rows

    @property
    def has_own_rows(self) -> bool:
        """Whether rows of what it holds now are stored."""
        return self.state in ("done", "moved") or (self.rows > 0 and self.state != "changed")

    def as_json(self) -> dict[str, object]:
        return {
            "file": self.address,
            "state": self.state,
            "successful_rows": self.successful_rows,
            "quarantined_rows": self.quarantined_rows,
            "error": self.error,
            "found_at": self.found_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


_NONE: Mapping[str, str] = {}
_COLUMNS = [each for each in imported_files.c if each.name != "stream"]


class ImportedFiles:
    """The files of every stream."""

    def __init__(self, database: Database):
        self._database = database

    def add(self, stream: str, found: Sequence[FoundFile], moved: Mapping[str, str] = _NONE) -> None:
        """Write down files that were not known, in their order; `moved` has the reason for those that are other names
        of files that were taken, by address."""
        now = datetime.now(timezone.utc)
        with self._database.write() as connection:
            take_named_lock(connection, stream)
            last = _last_number(connection, stream)
            values = [
                {
                    "stream": stream,
                    "number": number,
                    "address": each.address,
                    "mark": each.mark,
                    "state": "moved" if each.address in moved else "waiting",
                    "error": moved.get(each.address),
                    "successful_rows": 0,
                    "quarantined_rows": 0,
                    "found_at": now,
                    "updated_at": now,
                }
                for number, each in enumerate(found, last + 1)
            ]
            if values:
                connection.execute(sa.insert(imported_files), values)

    def known(self, stream: str) -> Mapping[str, ImportedFile]:
        """All files of a stream by address."""
        return {each.address: each for each in self._select(imported_files.c.stream == stream)}

    def get(self, stream: str, number: int) -> ImportedFile:
        """The file of this number, which there is."""
        [found] = self._select(sa.and_(imported_files.c.stream == stream, imported_files.c.number == number))
        return found

    def try_again(self, stream: str, numbers: Sequence[int]) -> None:
        """Let files wait that could not be read, behind all others; each goes on after its rows that are stored."""
        of, now = imported_files.c, datetime.now(timezone.utc)
        with self._database.write() as connection:
            take_named_lock(connection, stream)
            last = _last_number(connection, stream)
            for number, old in enumerate(sorted(numbers), last + 1):
                where = sa.and_(of.stream == stream, of.number == old, of.state == "failed")
                connection.execute(sa.update(imported_files).where(where).values(**_waiting(number), updated_at=now))

    def give_up(self, stream: str, file: ImportedFile, error: str) -> None:
        """A file has failed, with so many rows as it says. If none of its rows are stored, another name of it that is
        not taken because of it waits, behind all other files."""
        of, now = imported_files.c, datetime.now(timezone.utc)
        where = sa.and_(of.stream == stream, of.number == file.number)
        counts = {"successful_rows": file.successful_rows, "quarantined_rows": file.quarantined_rows}
        failed = {"state": "failed", "error": error, "has_header": file.has_header, **counts, "updated_at": now}
        same = sa.and_(of.stream == stream, of.state == "moved", of.mark == file.mark)
        with self._database.write() as connection:
            take_named_lock(connection, stream)
            connection.execute(sa.update(imported_files).where(where).values(failed))
            other = connection.execute(sa.select(sa.func.min(of.number)).where(same)).scalar()
            if other is not None and not file.rows:
                goes_on = {**_waiting(_last_number(connection, stream) + 1), "updated_at": now}
                where = sa.and_(of.stream == stream, of.number == other)
                connection.execute(sa.update(imported_files).where(where).values(goes_on))

    def next(self, stream: str) -> ImportedFile | None:
        """The file that is being read, else the first that waits."""
        of = imported_files.c
        for state in ("reading", "waiting"):
            found = self._select(sa.and_(of.stream == stream, of.state == state), 1)
            if found:
                return found[0]
        return None

    def waiting(self, stream: str, most: int) -> Sequence[ImportedFile]:
        """The first files that wait."""
        return self._select(sa.and_(imported_files.c.stream == stream, imported_files.c.state == "waiting"), most)

    def begin_together(self, stream: str, read: Sequence[ImportedFile]) -> None:
        """Files that wait were read as these say, and their rows are about to be stored at once."""
        of, now = imported_files.c, datetime.now(timezone.utc)
        where = sa.and_(of.stream == stream, of.number == sa.bindparam("its_number"), of.state == "waiting")
        counted = ("has_header", "successful_rows", "quarantined_rows")
        values = [{"its_number": each.number, **{name: getattr(each, name) for name in counted}} for each in read]
        change = sa.update(imported_files).where(where)
        with self._database.write() as connection:
            connection.execute(
                change.values(state="storing", updated_at=now, **{name: sa.bindparam(name) for name in counted}), values
            )

    def end_together(self, stream: str, reached: int) -> None:
        """Of files whose rows were being stored at once, those up to the number that the stream has reached are done;
        of the others no row is stored, and they wait."""
        of, now = imported_files.c, datetime.now(timezone.utc)
        begun = sa.and_(of.stream == stream, of.state == "storing")
        if not self._select(begun, 1):
            return
        none = {"state": "waiting", "successful_rows": 0, "quarantined_rows": 0, "has_header": None}
        with self._database.write() as connection:
            done = sa.update(imported_files).where(begun, of.number <= reached)
            connection.execute(done.values(state="done", error=None, updated_at=now))
            connection.execute(sa.update(imported_files).where(begun).values(**none, updated_at=now))

    def latest(self, stream: str, limit: int) -> Sequence[ImportedFile]:
        """The files that were found last, newest first."""
        query = sa.select(*_COLUMNS).where(imported_files.c.stream == stream)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(imported_files.c.number.desc()).limit(limit)).all()
        return [ImportedFile(*row) for row in rows]

    def counts(self, stream: str) -> Mapping[str, int]:
        """How many files of a stream there are, by state."""
        of = imported_files.c
        query = sa.select(of.state, sa.func.count()).where(of.stream == stream).group_by(of.state)
        with self._database.read() as connection:
            return {str(state): int(count) for state, count in connection.execute(query)}

    def change(self, stream: str, number: int, **values: object) -> None:
        """Set columns of a file."""
        of = imported_files.c
        where = sa.and_(of.stream == stream, of.number == number)
        changed = {**values, "updated_at": datetime.now(timezone.utc)}
        with self._database.write() as connection:
            connection.execute(sa.update(imported_files).where(where).values(changed))

    def _select(self, where: sa.ColumnElement[bool], limit: int | None = None) -> Sequence[ImportedFile]:
        query = sa.select(*_COLUMNS).where(where).order_by(imported_files.c.number).limit(limit)
        with self._database.read() as connection:
            return [ImportedFile(*row) for row in connection.execute(query)]


def _waiting(number: int) -> dict[str, object]:
    """The values of a file that waits under this number."""
    return {"number": number, "state": "waiting", "error": None}


def _last_number(connection: Connection, stream: str) -> int:
    """The greatest number of a file of a stream; 0 without one."""
    of = imported_files.c
    return connection.execute(sa.select(sa.func.max(of.number)).where(of.stream == stream)).scalar() or 0
