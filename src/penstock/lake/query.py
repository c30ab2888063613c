"""Run a compiled query over the tables of one deployment.

In: Spark SQL with placeholders and the bindings for them. Out: `Result`. Called by deploy.
Invariant: all names are resolved through one manifest, so an answer is of one version only.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InvalidQuery, Problem, TooLarge
from penstock.lake.errors import condition, explain
from penstock.lake.session import Lake
from penstock.model.types import Type

MOST_ROWS = 100_000
FEW_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Result:
    """An answer: columns in order, rows as tuples of Python values, seconds, and what was read."""

    columns: tuple[tuple[str, Type], ...]
    rows: list[tuple[object, ...]]
    elapsed: float
    rows_read: int
    bytes_read: int


def session_for(lake: Lake, rows: int) -> SparkSession:
    """The session for a query over tables of so many rows in all: over a few, starting tasks and
    compiling code would take longer than the work."""
    return lake.spark if rows <= FEW_ROWS else lake.bulk


def run_query(
    session: SparkSession, sql: str, columns: tuple[tuple[str, Type], ...], relations: Mapping[str, str]
) -> Result:
    """Run `sql` with each placeholder replaced by its relation.

    Raises InvalidQuery with Spark's reason, TooLarge for more than MOST_ROWS rows.
    """
    started = time.monotonic()
    for placeholder, relation in relations.items():
        sql = sql.replace(placeholder, relation)
    try:
        answer = session.sql(sql).limit(MOST_ROWS + 1)
        rows = [tuple(row) for row in answer.collect()]
    except Exception as error:  # whatever Spark raises for a user's SQL is told as a problem
        raise _invalid(error) from error
    if len(rows) > MOST_ROWS:
        raise TooLarge(f"the answer has more than {MOST_ROWS:,} rows", hint="add a LIMIT or aggregate")
    return Result(columns, rows, time.monotonic() - started, *_read(answer))


def _invalid(error: Exception) -> InvalidQuery:
    reason = explain(error)
    return InvalidQuery(reason, [Problem((condition(error) or "query-failed").lower().replace("_", "-"), reason)])


def _read(answer: DataFrame) -> tuple[int, int]:
    """Rows and bytes of the files that the plan's scans hold after pruning, from Iceberg's scan
    metrics of the optimized plan; (0, 0) where Spark does not tell."""
    try:
        statistics = answer._jdf.queryExecution().optimizedPlan().collectLeaves().iterator()
        rows = size = 0
        while statistics.hasNext():
            stats = statistics.next().stats()
            rows += int(stats.rowCount().get().toString()) if stats.rowCount().isDefined() else 0
            size += int(stats.sizeInBytes().toString())
        return rows, size
    except Exception:  # statistics never fail an answer
        return 0, 0
