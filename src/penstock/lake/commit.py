"""Append rows to a table together with the progress of its flows: the one way rows get in.

In: a DataFrame with exactly the table's columns to fill, and every flow's progress. Out: one
Iceberg snapshot. Called by flow. Invariant: rows and cursors are one atomic commit.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from penstock.faults import reached
from penstock.lake.names import qualified
from penstock.lake.session import Lake
from penstock.lake.snapshots import Progress, summary_options


def append(rows: DataFrame, table: str, progress: Mapping[str, Progress]) -> None:
    """Append `rows` by column name. Columns of the table that `rows` lacks become NULL, so the
    caller names every column it means to fill."""
    writer = rows.writeTo(qualified(table)).option("check-ordering", "false")
    for key, value in summary_options(progress).items():
        writer = writer.option(key, value)
    reached("lake.before")
    writer.append()
    reached("lake.after")


def place(lake: Lake, table: str, progress: Mapping[str, Progress]) -> None:
    """Commit progress without a row."""
    append(lake.spark.table(qualified(table)).limit(0), table, progress)
