"""Write the rows of a query to a file, a line each.

In: Spark SQL of one column of texts, an open file, and somebody who may stop it. Out: the number of rows. Called by
deploy/reader for copies. Invariant: a row at a time goes through memory, however many there are; a query that is
asked again begins the file anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from pyspark.sql import SparkSession

from penstock.errors import TooLarge
from penstock.lake.jobs import Stopped, stoppable
from penstock.lake.query import tried

LONGEST = 8 * 2**20
"""Bytes of a row."""
ROWS_BETWEEN = 1024


def write_lines(session: SparkSession, sql: str, file: BinaryIO, stops: Callable[[], bool]) -> int:
    """Raises Stopped once `stops` says so, InvalidQuery with Spark's reason, TooLarge for a row that no batch
    takes, OSError."""

    def ask() -> int:
        file.seek(0)
        file.truncate()
        rows = 0
        with stoppable(session, stops):
            for row in session.sql(sql).toLocalIterator():
                line = str(row[0]).encode()
                if len(line) > LONGEST:
                    raise TooLarge(f"row {rows + 1} has {len(line):,} bytes; at most {LONGEST:,} are taken")
                file.write(line + b"\n")
                rows += 1
                if rows % ROWS_BETWEEN == 0 and stops():
                    raise Stopped
        return rows

    return tried(ask)
