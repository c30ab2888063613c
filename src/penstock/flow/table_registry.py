"""The snapshots and the progress of each table as this server knows them, with one writer a table.

In: the lake. Out: `TableRegistry`. Invariant: what it knows about a table was read after this process's last commit to
it; after a failed step it is read again, so no step starts from a cursor that is not in the table.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from typing_extensions import assert_never

from penstock.flow.held_rows import HeldRows
from penstock.lake.append.arrow_schema import arrow_schema
from penstock.lake.append.direct_append import NotDirect, append_directly, direct_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables.commit import CommitConflict, append_rows, commit_progress, replace_rows
from penstock.lake.tables.physical_tables import DamagedTable, load_table
from penstock.lake.tables.snapshots import Progress, Snapshots, read_snapshots
from penstock.model.cursor import Cursor

LOOK_AGAIN_SECONDS = 5.0
ATTEMPTS = 5
"""How often a commit is tried while something else than a flow commits to the same table."""
NO_ROWS = pa.table({})
WriteRows: TypeAlias = Callable[[Mapping[str, Progress], "int | None"], None]
"""Commits rows to a table, with the progress of its flows, after a snapshot."""


class TableRegistry:
    """Thread-safe. A step holds `lock(table)` while it writes the table."""

    def __init__(self, lake: Lake):
        self._lake = lake
        self.on_change: Callable[[str], None] = _ignore
        """Called with a table of which a new snapshot was seen."""
        self.held = HeldRows()
        self._known: dict[str, Snapshots] = {}
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()
        self._pins: dict[str, Counter[int]] = {}
        self._damaged: dict[str, float] = {}
        """When a damaged table is read again, in seconds of the monotonic clock."""

    @contextmanager
    def pinned(self, table: str, snapshot: int | None) -> Iterator[None]:
        """Keep a snapshot of a table, and all later ones, from expiring for the block: a step or a rewrite names it."""
        if snapshot is None:
            yield
            return
        with self._guard:
            self._pins.setdefault(table, Counter())[snapshot] += 1
        try:
            yield
        finally:
            with self._guard:
                self._pins[table] -= Counter([snapshot])
                if not self._pins[table]:
                    del self._pins[table]

    def pins(self, table: str) -> frozenset[int]:
        """The pinned snapshots of a table."""
        with self._guard:
            return frozenset(self._pins.get(table, ()))

    def lock(self, table: str) -> threading.RLock:
        with self._guard:
            return self._locks.setdefault(table, threading.RLock())

    def snapshots(self, table: str) -> Snapshots:
        """The table's snapshots, from the cache if they were read before."""
        known = self._known.get(table)
        return known if known is not None else self.refresh(table)

    def refresh(self, table: str) -> Snapshots:
        """Read the table's metadata again, one thread at a time, so that the newest read wins."""
        with self.lock(table):
            before = self._known.get(table)
            now = self._known[table] = read_snapshots(self._lake, table, before)
            if before is None or _current_id(before) != _current_id(now):
                self.on_change(table)
            return now

    def readable(self, table: str) -> Snapshots:
        """The table's snapshots, or none if its metadata is damaged: for what is shown of many tables, of which one may
        be damaged. Never for what is done with a table."""
        try:
            return self.snapshots(table) if self._damaged.get(table, 0.0) < time.monotonic() else Snapshots()
        except DamagedTable:
            self._damaged[table] = time.monotonic() + LOOK_AGAIN_SECONDS
            return Snapshots()

    def forget(self, table: str) -> None:
        self._known.pop(table, None)

    def progress(self, table: str, flow: str) -> Progress | None:
        return self.snapshots(table).progress.get(flow)

    def cursor(self, table: str, flow: str) -> Cursor | None:
        at = self.progress(table, flow)
        return at.cursor if at else None

    def takes_arrow(self, table: str) -> bool:
        """Whether the next commit to a table may be of Arrow rows: those are written without Spark."""
        return direct_table(self._lake, table) is not None

    def held_rows(self, table: str, after: int, upto: int) -> pa.Table | None:
        """What was appended to a table after one snapshot (exclusive) up to another (inclusive), if it is in memory and
        the table has the same columns still."""
        rows = self.held.between(table, after, upto)
        found = load_table(self._lake, table) if rows is not None else None
        if rows is None or found is None or not rows.schema.equals(arrow_schema(found.schema()), check_metadata=True):
            return None
        return rows

    def commit(
        self,
        rows: DataFrame | pa.Table,
        table: str,
        made: Mapping[str, Progress],
        ended: Collection[str] = frozenset(),
    ) -> int:
        """Append rows together with the progress `made`; the progress of the table's other flows is carried along,
        except of those that have `ended`. Returns how many rows were added. Raises CommitConflict if another flow
        committed to the table meanwhile, and of Arrow rows NotDirect."""
        before = self._write(self._append(rows, table), table, made, ended)
        return _appended_rows(self.refresh(table), before)

    def _append(self, rows: DataFrame | pa.Table, table: str) -> WriteRows:
        match rows:
            case pa.Table():
                return lambda progress, follows: self.held.keep(
                    table, append_directly(self._lake, table, rows, (progress, follows))
                )
            case DataFrame():
                return partial(append_rows, rows, table)
            case _:
                assert_never(rows)

    def replace(self, rows: DataFrame, table: str, made: Mapping[str, Progress]) -> int:
        """Like `commit`, but the rows take the place of all rows of the table. Returns how many it has now."""
        self._write(partial(replace_rows, rows, table), table, made, frozenset())
        return self.refresh(table).rows

    def _write(self, write: WriteRows, table: str, made: Mapping[str, Progress], ended: Collection[str]) -> Snapshots:
        """Returns the snapshots that the rows follow."""

        def write_behind(before: Snapshots) -> None:
            kept = {flow: at for flow, at in before.progress.items() if flow not in ended}
            write({**kept, **made}, _current_id(before))

        return self._commit(table, write_behind)

    def replace_progress(self, table: str, progress: Mapping[str, Progress]) -> None:
        """Commit no row, and this progress as the progress of all the table's flows. Raises CommitConflict if a flow
        committed to the table meanwhile."""

        append_nothing = self._append(NO_ROWS, table)

        def write_behind(before: Snapshots) -> None:
            follows = _current_id(before)
            try:
                if self.takes_arrow(table):
                    return append_nothing(progress, follows)
            except NotDirect:
                pass  # it was changed since it was looked at
            return commit_progress(self._lake, table, progress, follows)

        self._commit(table, write_behind)
        self.refresh(table)

    def _commit(self, table: str, write_behind: Callable[[Snapshots], None]) -> Snapshots:
        """Commit after the snapshots that are there. Where something else than a flow has committed meanwhile (columns
        were materialized, a property was set, somebody wrote from outside), commit again, after that. Returns the
        snapshots that the commit follows. Raises CommitConflict."""
        before = self.snapshots(table)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self.pinned(table, _current_id(before)):
                    write_behind(before)
                break
            except CommitConflict:
                now = self.refresh(table)
                if now.progress != before.progress or attempt == ATTEMPTS:
                    raise
                before = now
        return before

    def add_progress(self, table: str, made: Mapping[str, Progress]) -> None:
        """Commit progress of some flows without rows; that of the others stays. Raises CommitConflict."""
        self.replace_progress(table, {**self.snapshots(table).progress, **made})


def _ignore(table: str) -> None:
    """What is called of a change until somebody listens."""


def _appended_rows(now: Snapshots, before: Snapshots) -> int:
    """Number of rows appended since `before`; rows that maintenance deleted meanwhile do not count."""
    known = {each.id for each in before.line}
    return sum(each.added for each in now.line if each.appends and each.id not in known)


def _current_id(now: Snapshots) -> int | None:
    return now.current.id if now.current is not None else None
