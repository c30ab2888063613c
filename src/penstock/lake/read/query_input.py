"""How many rows and bytes the tasks of a query have read from tables.

In: the job group of a query that has ended. Out: `QueryInput`, summed over the stages of its jobs. Invariant: these are
Spark's own counts of what its tasks read: rows after files and row groups were skipped, bytes as they are stored.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

GROUP = "spark.jobGroup.id"
WAIT_MILLISECONDS = 1_000
"""Spark counts in the background, usually within milliseconds; a query does not wait longer for it."""
log = logging.getLogger("penstock.lake")


@dataclass(frozen=True, slots=True)
class QueryInput:
    """What a query has read."""

    rows: int = 0
    bytes: int = 0


def query_input(context: SparkContext) -> QueryInput:
    """What the jobs of this thread's job group have read; nothing if Spark cannot say."""
    group = context.getLocalProperty(GROUP)
    if group is None:
        return QueryInput()
    try:
        return _sum_stages(context, group)
    except Exception as error:  # statistics never fail an answer
        log.debug("what %s has read is not known", group, exc_info=error)
        return QueryInput()


def _sum_stages(context: SparkContext, group: str) -> QueryInput:
    spark = context._jsc.sc()
    spark.listenerBus().waitUntilEmpty(WAIT_MILLISECONDS)
    tracker, store = context.statusTracker(), spark.statusStore()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    rows = size = 0
    for stage in {stage for job in jobs if job is not None for stage in job.stageIds}:
        try:
            ran = store.lastStageAttempt(stage)
        except Py4JJavaError:  # it was skipped: an earlier job had its rows
            continue
        rows, size = rows + int(ran.inputRecords()), size + int(ran.inputBytes())
    return QueryInput(rows, size)
