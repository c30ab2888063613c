"""Append rows to a table, or put them in the place of all its rows, together with the progress of its flows: the only
way in which rows are added.

In: a DataFrame, the progress of every flow into the table, and the snapshot that the rows follow. Out: one Iceberg
snapshot. Invariant: rows and cursors are one atomic commit, which is refused if rows were added since that snapshot.
So no step is committed twice, not even by a server that was stopped in the middle of it and continues after another
server took over.
"""

from __future__ import annotations

from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import lit

from penstock.crash_points import crash_point
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshots import Progress, summary_options


class CommitConflict(Exception):
    """Rows were added to the table since the snapshot that the commit was to follow."""


def append_rows(rows: DataFrame, table: str, progress: Mapping[str, Progress], follows: int | None) -> None:
    """Append `rows` by column name, if no row was added since the snapshot `follows` (None: if there is none at all).
    Columns of the table that `rows` lacks become NULL, so the caller names every column it means to
    fill. Raises CommitConflict; then nothing is committed.

    This is an Iceberg overwrite that overwrites no row: unlike an append it can validate what was committed before
    it, and its snapshot counts as an append all the same (Iceberg's BaseOverwriteFiles.operation).
    """
    _overwrite(rows, table, (progress, follows), lit(False))


def replace_rows(rows: DataFrame, table: str, progress: Mapping[str, Progress], follows: int | None) -> None:
    """Like `append_rows`, but the rows take the place of all rows of the table, in the same commit. Its snapshot is no
    append, not even if the table had no row, so what reads appended rows passes over it."""
    _overwrite(rows, table, (progress, follows), lit(True))


def _overwrite(rows: DataFrame, table: str, made: tuple[Mapping[str, Progress], int | None], where: Column) -> None:
    """Commit the rows in the place of those for which `where` holds."""
    progress, follows = made
    writer = (
        rows.writeTo(qualified_table(table)).option("check-ordering", "false").option("isolation-level", "serializable")
    )
    if follows is not None:
        writer = writer.option("validate-from-snapshot-id", str(follows))
    for key, value in summary_options(progress).items():
        writer = writer.option(key, value)
    crash_point("lake.before")
    try:
        writer.overwrite(where)
    except Py4JJavaError as error:
        if "ValidationException" in str(error.java_exception.getClass().getName()):
            raise CommitConflict(f"{table}: {error.java_exception.getMessage()}") from error
        raise
    crash_point("lake.after")


def commit_progress(lake: Lake, table: str, progress: Mapping[str, Progress], follows: int | None) -> None:
    """Commit progress without rows. Raises CommitConflict."""
    append_rows(lake.spark.table(qualified_table(table)).limit(0), table, progress, follows)
