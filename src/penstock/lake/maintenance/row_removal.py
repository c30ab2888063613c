"""Remove rows from a table for which a condition holds.

In: a table and a condition over its physical columns. Out: one Iceberg snapshot, or none if there is no such row.
Invariant: rows that are appended meanwhile are not looked at and stay; flows read none of it, and their progress is
carried along; files keep their ranges of `_seq`. Doing it again removes nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from penstock.crash_points import crash_point
from penstock.lake.maintenance.rewrite import select_all_rows, written_files
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables.java_table import JavaTable, RewriteConflict

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

MOST_TRIES = 5
"""A rewrite that came between changes the files; the next try finds the new ones."""


def remove_rows(lake: Lake, table: str, condition: str, order: Sequence[str]) -> int:
    """Remove the rows for which `condition` (Spark SQL) is true; returns how many. Files that keep rows are written
    anew, sorted by `order`. Raises RewriteConflict if other rewrites come between each time."""
    for attempt in range(1, MOST_TRIES + 1):
        try:
            return _remove(lake, table, condition, order)
        except RewriteConflict:
            if attempt == MOST_TRIES:
                raise
    raise AssertionError("the last attempt raises")


def _remove(lake: Lake, table: str, condition: str, order: Sequence[str]) -> int:
    java = JavaTable(lake, table)
    current = java.table.currentSnapshot()
    if current is None:
        return 0
    snapshot = int(current.snapshotId())
    counted = _count_rows(lake, table, snapshot, condition)
    if not counted:
        return 0
    tasks = java.read_tasks(snapshot, counted.keys())

    def stays(view: str, columns: Sequence[tuple[str, str]]) -> str:
        return f"{select_all_rows(view, columns)} WHERE NOT coalesce({condition}, false)"

    with ExitStack() as written:
        new: list[JavaObject] = []
        for task in tasks:
            if int(task.file().recordCount()) > counted[task.file().location()]:
                new += written.enter_context(written_files(lake, java, [task], stays, order))

        def overwrite() -> JavaObject:
            update = java.table.newOverwrite().validateFromSnapshot(snapshot).validateNoConflictingDeletes()
            for task in tasks:
                update = update.deleteFile(task.file())
            for file in new:
                update = update.addFile(file)
            return update

        java.commit(overwrite)
    crash_point("rows.removed")
    return sum(counted.values())


def _count_rows(lake: Lake, table: str, snapshot: int, condition: str) -> dict[str, int]:
    """How many rows of each file the condition holds for; files without any are left out."""
    source = f"{qualified_table(table)} VERSION AS OF {snapshot}"
    rows = lake.bulk.sql(f"SELECT _file, count(*) FROM {source} WHERE {condition} GROUP BY _file")
    return {path: int(count) for path, count in rows.collect()}
