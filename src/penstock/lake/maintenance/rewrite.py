"""Replace data files of a table: by fewer and larger files, by files without expired rows, or with columns
materialized.

In: data files of a snapshot, and the Spark SQL for their new rows. Out: one Iceberg snapshot, or none. Invariant:
appends are neither blocked nor touched (they ignore a `replace` and succeed after an `overwrite` at their second try);
flows read none of these snapshots, which add no row; a rewrite carries the progress of the flows along, so it is
never only in a snapshot that may expire.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from penstock.crash_points import crash_point
from penstock.lake.maintenance.data_files import DataFile, list_data_files
from penstock.lake.spark.session import Lake
from penstock.lake.tables.java_methods import call_class_method
from penstock.lake.tables.java_table import JavaTable, RewriteConflict, java_list
from penstock.model.manifest import SEQ, Transform
from penstock.sql.spark_text import quote_identifier

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

log = logging.getLogger("penstock.lake")
RewriteSql = Callable[[str, Sequence[tuple[str, str]]], str]
"""Makes the Spark SQL for the new rows, given the name of a view with the old ones and its columns with types."""


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """Rows, bytes and files before and after a rewrite."""

    rows: int
    bytes: int
    files: int
    rows_after: int
    bytes_after: int
    files_after: int


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Values to store in the rows with after < `_seq` <= upto."""

    expressions: Mapping[str, str]
    """By physical column, Spark SQL over the table's physical columns."""
    after: int
    upto: int


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How new files of a table are written."""

    order: tuple[str, ...]
    """The order of their rows, as Spark SQL over physical columns."""
    constants: tuple[ColumnValues, ...] = ()
    """The constants that columns have in older rows. No answer needs them in the files; but in a file that has a
    column, with NULL in its place, other Iceberg readers do not see its default."""


def compact_files(
    lake: Lake, table: str, snapshot: int, files: Sequence[DataFile], layout: FileLayout
) -> RewriteResult:
    """Write the same rows to one file, laid out as `layout` says. Raises RewriteConflict."""
    java = JavaTable(lake, table)
    tasks = java.read_tasks(snapshot, [file.path for file in files])

    def replace(new: Sequence[JavaObject]) -> JavaObject:
        update = java.table.newRewrite().validateFromSnapshot(snapshot)
        update = update.dataSequenceNumber(max(file.sequence for file in files))
        return _replace_files(update, tasks, new)

    with written_files(lake, java, tasks, select_all_rows, layout) as new:
        if sum(int(file.recordCount()) for file in new) != sum(file.rows for file in files):
            raise RewriteConflict(f"{table}: rows were deleted from the files meanwhile")
        return _commit_rewrite(java, files, new, replace)


def select_all_rows(view: str, columns: Sequence[tuple[str, str]]) -> str:
    """Spark SQL for all rows, unchanged."""
    return f"SELECT {', '.join(quote_identifier(name) for name, _ in columns)} FROM {quote_identifier(view)}"


def rewrite_files(  # noqa: PLR0913 - the files, and the SQL and order of their new rows
    lake: Lake, table: str, snapshot: int, files: Sequence[DataFile], make: RewriteSql, layout: FileLayout
) -> RewriteResult:
    """Replace these files by what `make` makes of their rows, laid out as `layout` says. Raises RewriteConflict."""
    java = JavaTable(lake, table)
    tasks = java.read_tasks(snapshot, [file.path for file in files])

    def overwrite(new: Sequence[JavaObject]) -> JavaObject:
        update = java.table.newOverwrite().validateFromSnapshot(snapshot).validateNoConflictingDeletes()
        return _replace_files(update, tasks, new)

    with written_files(lake, java, tasks, make, layout) as new:
        return _commit_rewrite(java, files, new, overwrite)


def drop_files(lake: Lake, table: str, snapshot: int, files: Sequence[DataFile]) -> RewriteResult:
    """Remove these files with all their rows, without reading them. Raises RewriteConflict."""
    java = JavaTable(lake, table)
    tasks = java.read_tasks(snapshot, [file.path for file in files])

    def delete(new: Sequence[JavaObject]) -> JavaObject:
        update = java.table.newOverwrite().validateFromSnapshot(snapshot).validateNoConflictingDeletes()
        return _replace_files(update, tasks, new)

    return _commit_rewrite(java, files, (), delete)


def sort_expressions(sort: Sequence[Transform]) -> tuple[str, ...]:
    """The order of rows in a file as Spark SQL: the sorting key, then the order of arrival."""
    return (*(_SORT_TEMPLATES[each.kind].format(quote_identifier(each.column)) for each in sort), quote_identifier(SEQ))


_SORT_TEMPLATES = {
    "identity": "{}",
    "years": "date_trunc('YEAR', {})",
    "months": "date_trunc('MONTH', {})",
    "days": "date_trunc('DAY', {})",
    "hours": "date_trunc('HOUR', {})",
}


@contextmanager
def written_files(
    lake: Lake, java: JavaTable, tasks: Sequence[JavaObject], make: RewriteSql, layout: FileLayout
) -> Iterator[tuple[JavaObject, ...]]:
    """New files with what `make` makes of the rows of these tasks, not in the table yet. They are deleted if the block
    raises RewriteConflict."""
    new = _write_files(lake, java, tasks, make, layout)
    crash_point("rewrite.written")
    try:
        yield new
    except RewriteConflict:
        for file in new:
            with suppress(Py4JError):
                java.table.io().deleteFile(file.location())
        raise


def _write_files(
    lake: Lake, java: JavaTable, tasks: Sequence[JavaObject], make: RewriteSql, layout: FileLayout
) -> tuple[JavaObject, ...]:
    """Write the files as Iceberg's own rewrite_data_files does. Source: SparkDataFileRewriteRunner of Iceberg 1.12."""
    cache, staged, coordinator = (
        call_class_method(java.jvm, f"org.apache.iceberg.spark.{each}", "get")
        for each in ("SparkTableCache", "ScanTaskSetManager", "FileRewriteCoordinator")
    )
    group = str(uuid.uuid4())
    # Iceberg looks the group up in the thread's active session, so that must be this one.
    SparkSession._get_j_spark_session_class(java.jvm).setActiveSession(lake.bulk._jsparkSession)
    cache.add(group, java.table)
    staged.stageTasks(java.table, group, java_list(java.jvm, tasks))
    try:
        rows = lake.bulk.read.format("iceberg").option("scan-task-set-id", group).load(group)
        columns = [(each.name, each.dataType.simpleString()) for each in rows.schema]
        with ExitStack() as views:
            view = views.enter_context(_temporary_view(rows))
            for values in _computable(lake, layout.constants):
                filled = lake.bulk.sql(select_stored_values(values, view, columns))
                view = views.enter_context(_temporary_view(filled))
            made = lake.bulk.sql(make(view, columns))
            placed = made.coalesce(1).sortWithinPartitions(*map(expr, layout.order))
            writer = placed.write.format("iceberg").option("rewritten-file-scan-task-set-id", group)
            writer.option("distribution-mode", "none").mode("append").save(group)
        return tuple(coordinator.fetchNewFiles(java.table, group))
    finally:
        cache.remove(group)
        staged.removeTasks(java.table, group)
        coordinator.clearRewrite(java.table, group)


def _computable(lake: Lake, constants: Sequence[ColumnValues]) -> Sequence[ColumnValues]:
    """The constants, or none if one cannot be computed: files are rewritten all the same."""
    expressions = [each for values in constants for each in values.expressions.values()]
    try:
        if expressions:
            lake.bulk.sql(f"SELECT {', '.join(expressions)}").collect()
    except PySparkException as error:
        log.info("files are rewritten without their constants: %s", error)
        return ()
    return constants


@contextmanager
def _temporary_view(rows: DataFrame) -> Iterator[str]:
    """A temporary view of the rows under a unique name, since other threads use the same session."""
    name = f"rewritten_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        rows.sparkSession.catalog.dropTempView(name)


def _replace_files(update: JavaObject, tasks: Sequence[JavaObject], new: Sequence[JavaObject]) -> JavaObject:
    for task in tasks:
        update = update.deleteFile(task.file())
    for file in new:
        update = update.addFile(file)
    return update


def _commit_rewrite(
    java: JavaTable,
    files: Sequence[DataFile],
    new: Sequence[JavaObject],
    update: Callable[[Sequence[JavaObject]], JavaObject],
) -> RewriteResult:
    java.commit(lambda: update(new))
    crash_point("rewrite.committed")
    return RewriteResult(
        sum(file.rows for file in files),
        sum(file.bytes for file in files),
        len(files),
        sum(int(file.recordCount()) for file in new),
        sum(int(file.fileSizeInBytes()) for file in new),
        len(new),
    )


def materialize_columns(lake: Lake, table: str, values: ColumnValues, layout: FileLayout) -> RewriteResult | None:
    """Write the values into the files that have such rows, laid out as `layout` says. Doing it again changes nothing.
    Returns None if there are no such rows. Raises RewriteConflict.

    This is no UPDATE statement: its commit would not carry the flows' progress, and once the snapshots before it have
    expired the table would have lost it."""
    current = JavaTable(lake, table).table.currentSnapshot()
    if current is None:
        return None
    snapshot = int(current.snapshotId())
    inside = [
        file for file in list_data_files(lake, table, snapshot) if file.high > values.after and file.low <= values.upto
    ]
    make = partial(select_stored_values, values)
    return rewrite_files(lake, table, snapshot, inside, make, layout) if inside else None


def select_stored_values(values: ColumnValues, view: str, columns: Sequence[tuple[str, str]]) -> str:
    """Spark SQL for the rows of `view` with the values in their columns."""
    rows = f"{SEQ} > {values.after} AND {SEQ} <= {values.upto}"

    def stored(name: str, type_: str) -> str:
        now = quote_identifier(name)
        new = values.expressions.get(name)
        return now if new is None else f"CAST(CASE WHEN {rows} THEN {new} ELSE {now} END AS {type_}) AS {now}"

    return f"SELECT {', '.join(stored(*each) for each in columns)} FROM {quote_identifier(view)}"
