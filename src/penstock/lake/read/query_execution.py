"""Run a compiled query, and return its rows or write them to a file line by line.

In: Spark SQL and limits. Out: `QueryResult`, or lines of a file. Invariant: a query that exceeds a limit is
cancelled and frees its cores; no more than the limit is kept in memory (`write_lines`: one row at a time); one that
fills the memory of Spark ends alone.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import BinaryIO, TypeVar

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InvalidQuery, PenstockError, Problem, Timeout, TooLarge
from penstock.lake.read.answer_rows import answer_rows
from penstock.lake.read.packed_rows import PackedRows
from penstock.lake.read.query_input import query_input
from penstock.lake.spark.cancellation import MemoryFull, SparkTimeout, WorkCancelled, cancellable, query_limit
from penstock.lake.spark.damaged_files import damaged_files
from penstock.lake.spark.errors import (
    error_condition,
    explain_error,
    has_spark_ended,
    is_out_of_memory,
    spark_ended,
)
from penstock.lake.spark.session import Lake
from penstock.model.types import Type

FEW_ROWS = 50_000
MAX_RESULT = "spark.driver.maxResultSize"
LARGE_ROW = re.compile(r"^AnswerRows: a row has more than (\d+) bytes$")
"""What AnswerRows.java raises."""
T = TypeVar("T")
MAX_TRIES = 3
TABLE_CHANGED = "INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS"
"""Spark's error if a deployment adds a column while a query is being planned; the query can simply run again."""
CONNECTION_LOST = "org.apache.iceberg.jdbc.UncheckedSQLException"
"""Iceberg's error for a lost catalog connection; each idle connection fails once after the server was away."""
MAX_LINE_BYTES = 8 * 2**20
"""The greatest size in bytes of a line."""
ROWS_BETWEEN_CHECKS = 1024


class OutOfMemory(TooLarge):
    """A query got no memory, or was chosen to end because there was little: perhaps others were what took it."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The most seconds that a query may take, and the most rows and bytes of its result."""

    seconds: float
    rows: int
    bytes: int
    shown: int | None = None
    """The rows after which the result is cut; None: it is not cut."""
    began: float = field(default_factory=time.monotonic)
    """When the query was asked for, by the monotonic clock: its compilation is part of its time."""

    @property
    def seconds_left(self) -> float:
        return max(self.began + self.seconds - time.monotonic(), 0.0)

    def check_time(self) -> None:
        """Raises Timeout if the time is up."""
        if self.seconds_left <= 0:
            raise self.timeout()

    def timeout(self) -> Timeout:
        """The error of a query whose time is up."""
        hint = "read less, or raise max_query_seconds in [server] of penstock.toml"
        return Timeout(f"the query took longer than {self.seconds:g} s and was cancelled", hint=hint)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A query's result."""

    columns: tuple[tuple[str, Type], ...]
    """Names and types, in order."""
    rows: PackedRows
    """Python values by position of the column."""
    elapsed: float
    """Seconds that the query took, with its compilation."""
    rows_read: int
    """Rows that were read from tables (see `query_input`); bytes likewise, as they are stored."""
    bytes_read: int
    totals: tuple[object, ...] | None = None
    """The row of totals of SELECT … WITH TOTALS."""
    is_cut: bool = False
    """Whether there are more rows."""
    age: float | None = None
    """For an answer that was kept: the seconds since its query began."""
    deployment: int | None = None
    """The version that answered; None if it was asked by its own tables."""

    @property
    def size(self) -> int:
        """The bytes of the rows in memory."""
        return self.rows.size


def split_totals(answer: QueryResult) -> QueryResult:
    """The result of a query WITH TOTALS: its last row becomes `totals`, and its last column, a marker, is dropped."""
    rows, totals = PackedRows(), answer.rows[-1][:-1]
    for row in itertools.islice(answer.rows, len(answer.rows) - 1):
        rows.append(row[:-1])
    return replace(answer, rows=rows, totals=totals)


def cut_rows(answer: QueryResult, shown: int | None) -> QueryResult:
    """The first `shown` rows of a result; all of them if it is None."""
    if shown is None or len(answer.rows) <= shown:
        return answer
    rows = PackedRows()
    for row in itertools.islice(answer.rows, shown):
        rows.append(row)
    return replace(answer, rows=rows, is_cut=True)


def choose_session(lake: Lake, rows: int) -> SparkSession:
    """The session for a query over tables with this many rows in total: over few rows, starting tasks and compiling
    code would take longer than the work."""
    return lake.spark if rows <= FEW_ROWS else lake.bulk


def run_query(session: SparkSession, sql: str, columns: tuple[tuple[str, Type], ...], most: QueryLimits) -> QueryResult:
    """Run `sql`, whose placeholders are replaced.

    Raises InvalidQuery with Spark's reason, Timeout, TooLarge. Rows are fetched one by one, so that a result that
    is too large is cancelled before all of it is in memory.
    """

    def ask() -> QueryResult:
        most.check_time()
        try:
            with query_limit(session, most.seconds_left) as check:
                answer = session.sql(sql).limit(min(most.rows, most.shown or most.rows) + 1)
                rows = _collect_rows(answer, most, check)
                elapsed, read = time.monotonic() - most.began, query_input(session.sparkContext)
        except SparkTimeout as error:
            raise most.timeout() from error
        return cut_rows(QueryResult(columns, rows, elapsed, read.rows, read.bytes), most.shown)

    return retry_query(ask)


def retry_query(ask: Callable[[], T]) -> T:
    """The result of `ask`, repeated after errors that pass. Raises Penstock's own errors unchanged, all others as
    InvalidQuery."""
    for last in (*itertools.repeat(False, MAX_TRIES - 1), True):
        try:
            return ask()
        except (PenstockError, WorkCancelled):
            raise
        except MemoryFull as error:
            raise _memory_error("Spark's memory was full, and the query had run longest: it was cancelled") from error
        except Exception as error:  # whatever Spark raises for a user's SQL becomes a problem
            explained = _explain_failure(error)
            if last or explained is not None:
                raise explained or _query_error(error) from error
    raise AssertionError("the last try returns or raises")


def _explain_failure(error: Exception) -> PenstockError | None:
    """The error for the caller; None if the same query will probably succeed if it runs again."""
    if has_spark_ended(error):
        return spark_ended()
    try:
        return None if _is_transient(error) else _query_error(error)
    except Exception as fault:
        if has_spark_ended(fault):  # the JVM was asked for the error's text, and ended meanwhile
            return spark_ended()
        raise


def _is_transient(error: Exception) -> bool:
    """Whether the same query will probably succeed if it runs again."""
    return (error_condition(error) or "").startswith(TABLE_CHANGED) or CONNECTION_LOST in str(error)


def _collect_rows(answer: DataFrame, most: QueryLimits, check: Callable[[], None]) -> PackedRows:
    """All rows of a result within the limits. Raises TooLarge, and what `check` raises."""
    rows = PackedRows()
    with closing(answer_rows(answer)) as found:
        for row in found:
            rows.append(row)
            if len(rows) > most.rows:
                raise TooLarge(f"the answer has more than {most.rows:,} rows", hint="add a LIMIT or aggregate")
            if rows.size > most.bytes:
                raise _too_large_error(most)
            if len(rows) % ROWS_BETWEEN_CHECKS == 0:
                check()
    return rows


def _too_large_error(most: QueryLimits) -> TooLarge:
    return TooLarge(f"the answer has more than {most.bytes:,} bytes", hint="add a LIMIT, or take fewer columns")


def _memory_error(message: str) -> OutOfMemory:
    hint = "read less, or aggregate in smaller groups; try again if other queries may be what took the memory"
    return OutOfMemory(message, hint=hint)


def _query_error(error: Exception) -> PenstockError:
    if is_out_of_memory(error):
        return _memory_error("the query needs more memory than Spark has")
    if (damaged := damaged_files(error)) is not None:
        return damaged
    reason = explain_error(error)
    if MAX_RESULT in reason:  # Spark's own limit on what it collects in one place
        message = "the answer, or a table that a join needs in memory, takes more than a quarter of Spark's memory"
        return TooLarge(message, hint="add a LIMIT, take fewer columns, or join by equal keys")
    if (large := LARGE_ROW.search(reason)) is not None:
        return TooLarge(f"a row of the answer has more than {int(large[1]):,} bytes", hint="take a part of its values")
    return InvalidQuery(reason, [Problem((error_condition(error) or "query-failed").lower().replace("_", "-"), reason)])


def write_lines(session: SparkSession, sql: str, file: BinaryIO, stops: Callable[[], bool]) -> int:
    """Write the rows of a query with one text column to a file, one line each; returns how many. A repeated query
    starts the file again.

    Raises WorkCancelled once `stops` returns true, InvalidQuery with Spark's reason, TooLarge for a row that is too
    long for a batch, OutOfMemory, OSError.
    """

    def ask() -> int:
        file.seek(0)
        file.truncate()
        rows = 0
        with cancellable(session, stops) as check:
            for row in session.sql(sql).toLocalIterator():
                line = str(row[0]).encode()
                if len(line) > MAX_LINE_BYTES:
                    raise TooLarge(f"row {rows + 1} has {len(line):,} bytes; at most {MAX_LINE_BYTES:,} are taken")
                file.write(line + b"\n")
                rows += 1
                if rows % ROWS_BETWEEN_CHECKS == 0:
                    check()
        return rows

    return retry_query(ask)
