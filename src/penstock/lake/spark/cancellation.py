"""Cancel the Spark jobs of one thread after some seconds, when a callback asks for it, or when memory is short.

In: a session, and seconds or a callback. Out: the result of the work, or SparkTimeout, WorkCancelled or MemoryFull.
Invariant: jobs of other threads are not touched, and a core that was to be freed becomes free within seconds, or Spark
ends.

A cancelled task ends where Spark checks for it, which is between the rows that it reads; a nested loop or a single
expression that runs for minutes does not check (Spark's documentation of spark.task.reaper). On a cluster Spark's
task reaper ends the executor. In a local Spark, where that setting does nothing, this module ends the JVM and the
server starts again (`serve/server`).
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.lake.spark.running_queries import QUERIES

POLL_SECONDS = 0.25
_group_numbers = itertools.count(1)
REAPER_CHECKS, REAPER_PAUSE = 20, 1.0
"""A cancelled task has this many checks, this many seconds apart, to end. Checks are counted rather than seconds, so
that a machine that was suspended does not end it early."""
REAPER = {"spark.task.reaper.enabled": "true", "spark.task.reaper.killTimeout": f"{REAPER_CHECKS * REAPER_PAUSE:.0f}s"}
"""Spark's own task reaper, for a cluster: it ends the executor, whose other tasks run again elsewhere. In a local
Spark, where executor and driver are one process, it does nothing."""
log = logging.getLogger("penstock.lake")


class SparkTimeout(Exception):
    """The work was cancelled because its time was up."""

    def __init__(self, seconds: float):
        super().__init__(f"cancelled after {seconds:g} seconds")


class WorkCancelled(Exception):
    """The work was cancelled because a callback asked for it."""


class MemoryFull(Exception):
    """The work was cancelled because the memory of Spark was full."""


@contextmanager
def time_limit(spark: SparkSession, seconds: float) -> Iterator[None]:
    """Cancel the Spark jobs of this thread in the block once `seconds` have passed, also those it starts after that.
    Raises SparkTimeout instead of the error that the cancelled job raises."""
    until = time.monotonic() + seconds

    def reason() -> Exception | None:
        return SparkTimeout(seconds) if time.monotonic() >= until else None

    with _cancel_jobs(spark, reason):
        yield


@contextmanager
def query_limit(spark: SparkSession, seconds: float) -> Iterator[Callable[[], None]]:
    """Like `time_limit`, for a query, which is also cancelled if memory is short: then it raises MemoryFull. Gives a
    function that raises either once it applies, for the block's own loops."""
    until = time.monotonic() + seconds
    with QUERIES.running() as query:

        def reason() -> Exception | None:
            if query.chosen.is_set():
                return MemoryFull()
            return SparkTimeout(seconds) if time.monotonic() >= until else None

        with _cancel_jobs(spark, reason):
            yield partial(_raise_if_any, reason)


@contextmanager
def cancellable(spark: SparkSession, stops: Callable[[], bool]) -> Iterator[Callable[[], None]]:
    """Cancel the block's jobs once the callback `stops` returns true (it is called several times a second), or if
    memory is short. Raises WorkCancelled or MemoryFull. Gives a function that raises either once it applies, for the
    block's own loops."""
    with QUERIES.running() as query:

        def reason() -> Exception | None:
            if query.chosen.is_set():
                return MemoryFull()
            return WorkCancelled() if stops() else None

        with _cancel_jobs(spark, reason):
            yield partial(_raise_if_any, reason)


def raise_if_stopped(stops: Callable[[], bool]) -> None:
    """Raises WorkCancelled if the callback returns true."""
    if stops():
        raise WorkCancelled


def _raise_if_any(reason: Callable[[], Exception | None]) -> None:
    if (error := reason()) is not None:
        raise error


@contextmanager
def _cancel_jobs(spark: SparkSession, reason: Callable[[], Exception | None]) -> Iterator[None]:
    """Cancel the block's jobs once there is a reason, which is raised instead of what they raise then."""
    context, group = spark.sparkContext, f"limited {next(_group_numbers)}"
    ended, over = threading.Event(), list[Exception]()
    watched = (context, group, reason, ended, over)
    watcher = threading.Thread(target=_watch, args=watched, name=group, daemon=True)
    context.setJobGroup(group, group, interruptOnCancel=True)
    watcher.start()
    try:
        yield
    except Exception as error:
        if over:
            raise over[0] from error
        raise
    finally:
        ended.set()
        watcher.join()
        if over:
            end_spark_unless_cancelled(context, group)
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def _watch(
    context: SparkContext,
    group: str,
    reason: Callable[[], Exception | None],
    ended: threading.Event,
    over: list[Exception],
) -> None:
    """Cancel the jobs of a group from the moment on at which there is a reason, which is put into `over`, until `ended`
    is set: the block may start others."""
    while not over and not ended.wait(POLL_SECONDS):
        if (found := reason()) is not None:
            over.append(found)
    while not ended.wait(POLL_SECONDS):
        context.cancelJobGroup(group)


def end_spark_unless_cancelled(context: SparkContext, group: str) -> None:
    """In a local Spark, check in a thread of its own whether the group's tasks end, and kill the JVM if they do not."""
    if _is_local(context):
        threading.Thread(
            target=_kill_spark_if_running, args=(context, group), name=f"ends {group}", daemon=True
        ).start()


def _kill_spark_if_running(context: SparkContext, group: str) -> None:
    pause = threading.Event()
    for _ in range(REAPER_CHECKS):
        if not running_tasks(context, group):
            return
        pause.wait(REAPER_PAUSE)
    kill_spark(context, f"a cancelled task still runs after {REAPER_CHECKS * REAPER_PAUSE:.0f} s and occupies a core")


def _is_local(context: SparkContext) -> bool:
    """Whether the tasks run in this JVM; on a cluster, Spark replaces executors."""
    return (context.master or "").startswith("local")


def kill_spark(context: SparkContext, why: str) -> None:
    """End the JVM of a local Spark at once, with all that runs in it."""
    log.critical("%s: Spark's process is ended", why)
    gateway = context._gateway
    assert gateway is not None, "the context was opened here"
    gateway.proc.kill()


def running_tasks(context: SparkContext, group: str) -> int:
    """Number of running tasks of the job group; 0 if Spark has ended."""
    try:
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return sum(stage.numActiveTasks for stage in stages if stage is not None)
    except Exception as error:  # py4j raises many kinds while Spark ends or after that
        log.debug("the running tasks of %s are not known", group, exc_info=error)
        return 0
