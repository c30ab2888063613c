"""Remove rows from a table for which a condition holds.

In: a table and a condition over its physical columns. Out: Iceberg snapshots, or none if there is no such row: one for
the files that go as a whole, one for every PART_BYTES of the others, so that what was done is kept if it is cut off.
Invariant: rows that are appended meanwhile are not looked at and stay; flows read none of it, and their progress is
carried along; files keep their ranges of `_seq`. Doing it again removes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Literal

from penstock.crash_points import crash_point
from penstock.lake.maintenance.rewrite import FileLayout, select_all_rows, sort_expressions, written_files
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables.java_table import JavaTable, RewriteConflict
from penstock.model.manifest import SEQ, Transform

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

PART_BYTES = 256 * 2**20
"""Of files that are written anew, so many bytes are replaced in one commit."""
MOST_TRIES = 5
"""A rewrite that came between changes the files; the next try finds the new ones."""


def _do_nothing() -> None:
    """What is called if nothing is to be done before."""


def remove_rows(lake: Lake, table: str, condition: str, begins: Callable[[], None] = _do_nothing) -> int:
    """Remove the rows for which `condition` (Spark SQL) is true; returns how many. Files that keep rows are written
    anew, in the table's order. `begins` is called before rows are removed, if there are any. Raises RewriteConflict if
    other rewrites come between each time."""
    removed = 0
    for attempt in range(1, MOST_TRIES + 1):
        try:
            for rows in _remove_parts(lake, table, condition, begins):
                removed += rows
            return removed
        except RewriteConflict:
            if attempt == MOST_TRIES:
                raise
    raise AssertionError("the last attempt raises")


def _remove_parts(lake: Lake, table: str, condition: str, begins: Callable[[], None]) -> Iterator[int]:
    java = JavaTable(lake, table)
    current = java.table.currentSnapshot()
    if current is None:
        return
    snapshot = int(current.snapshotId())
    counted = _count_rows(lake, table, snapshot, condition)
    if not counted:
        return
    begins()
    layout = FileLayout(sort_expressions(_sort_order(java)))

    def stays(view: str, columns: Sequence[tuple[str, str]]) -> str:
        return f"{select_all_rows(view, columns)} WHERE NOT coalesce({condition}, false)"

    for tasks in _parts(java.read_tasks(snapshot, counted.keys()), counted):
        with ExitStack() as written:
            new: list[JavaObject] = []
            for task in tasks:
                if int(task.file().recordCount()) > counted[task.file().location()]:
                    new += written.enter_context(written_files(lake, java, [task], stays, layout))
            java.commit(partial(_overwrite, java, snapshot, tasks, new))
        crash_point("rows.removed")
        yield sum(counted[task.file().location()] for task in tasks)


def _parts(tasks: Sequence[JavaObject], counted: Mapping[str, int]) -> Iterator[Sequence[JavaObject]]:
    """The files without any row that stays, then the others, about PART_BYTES at a time."""
    stays = [int(each.file().recordCount()) > counted[each.file().location()] for each in tasks]
    whole = [each for each, rest in zip(tasks, stays, strict=True) if not rest]
    if whole:
        yield whole
    part: list[JavaObject] = []
    size = 0
    for each in (each for each, rest in zip(tasks, stays, strict=True) if rest):
        part.append(each)
        size += int(each.file().fileSizeInBytes())
        if size >= PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _overwrite(java: JavaTable, snapshot: int, tasks: Sequence[JavaObject], new: Sequence[JavaObject]) -> JavaObject:
    update = java.table.newOverwrite().validateFromSnapshot(snapshot).validateNoConflictingDeletes()
    for task in tasks:
        update = update.deleteFile(task.file())
    for file in new:
        update = update.addFile(file)
    return update


def _sort_order(java: JavaTable) -> tuple[Transform, ...]:
    """The sorting key of a table, as far as files are sorted by it."""
    schema = java.table.schema()
    fields = [
        (str(each.transform()), schema.findColumnName(each.sourceId())) for each in java.table.sortOrder().fields()
    ]
    return tuple(Transform(_KINDS[kind], str(column)) for kind, column in fields if kind in _KINDS and column != SEQ)


_KINDS: Mapping[str, Literal["identity", "years", "months", "days", "hours"]] = {
    "identity": "identity",
    "year": "years",
    "month": "months",
    "day": "days",
    "hour": "hours",
}


def _count_rows(lake: Lake, table: str, snapshot: int, condition: str) -> dict[str, int]:
    """How many rows of each file the condition holds for; files without any are left out."""
    source = f"{qualified_table(table)} VERSION AS OF {snapshot}"
    rows = lake.bulk.sql(f"SELECT _file, count(*) FROM {source} WHERE {condition} GROUP BY _file")
    return {path: int(count) for path, count in rows.collect()}
