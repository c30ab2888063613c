"""The rows that this process has just appended, for the views that read them next.

In: Arrow rows, with the snapshot that has them. Out: the rows of a range of snapshots, if all of them are here.
Invariant: what is given is exactly what the snapshots appended, since a snapshot never changes; it is kept in memory
only, up to MOST_BYTES and MOST_COMMITS, and whoever finds nothing reads the table.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pyarrow as pa

from penstock.lake.append.direct_append import DirectAppend

MOST_BYTES = 64 * 2**20
MOST_COMMITS = 4_096
"""So many are kept at most: one without rows has no bytes."""
MOST_SNAPSHOTS = 16
"""Snapshots whose rows are put together; a view that is further behind reads the table."""


class HeldRows:
    """Thread-safe."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], DirectAppend] = {}
        self._bytes = 0
        self._guard = threading.Lock()

    def keep(self, table: str, appended: DirectAppend) -> None:
        """Keep what a snapshot has appended, and forget the oldest while there is too much."""
        with self._guard:
            self._rows[table, appended.snapshot] = appended
            self._bytes += appended.rows.nbytes
            while self._bytes > MOST_BYTES or len(self._rows) > MOST_COMMITS:
                oldest = self._rows.pop(next(iter(self._rows)))
                self._bytes -= oldest.rows.nbytes

    def between(self, table: str, after: int, upto: int) -> pa.Table | None:
        """The rows appended after one snapshot (exclusive) up to another (inclusive); None if some are not here."""
        found: list[pa.Table] = []
        at: int | None = upto
        with self._guard:
            while at != after:
                each = self._rows.get((table, at)) if at is not None else None
                if each is None or len(found) == MOST_SNAPSHOTS:
                    return None
                found.append(each.rows)
                at = each.parent
        return _together(found)


def _together(newest_first: Sequence[pa.Table]) -> pa.Table | None:
    """All rows, oldest first, in one piece; None if the table's columns have changed between them. Of an Arrow table in
    several pieces Spark takes none that come after an empty one, which a commit without rows would be."""
    if not newest_first or any(each.schema != newest_first[0].schema for each in newest_first):
        return None
    return pa.concat_tables(reversed(newest_first)).combine_chunks()
