"""Cancel the Spark jobs of one thread after some seconds, or when a callback asks for it.

In: a session, and seconds or a callback. Out: the result of the work, or SparkTimeout or WorkCancelled. Invariant:
jobs of other threads are not touched, and a core that was to be freed becomes free within seconds, or Spark ends.

A cancelled task ends where Spark checks for it, which is between the rows that it reads; a nested loop or a single
expression that runs for minutes does not check (Spark's documentation of spark.task.reaper). On a cluster Spark's
task reaper ends the executor. In a local Spark, where that setting does nothing, this module ends the JVM and the
server starts again (`serve/server`).
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession

POLL_SECONDS = 0.5
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


@contextmanager
def time_limit(spark: SparkSession, seconds: float) -> Iterator[None]:
    """Cancel the Spark jobs of this thread in the block once `seconds` have passed, also those it starts after that.
    Raises SparkTimeout instead of the error that the cancelled job raises."""
    ended = threading.Event()
    with _cancel_jobs(spark, lambda: not ended.wait(seconds), ended, SparkTimeout(seconds)):
        yield


@contextmanager
def cancellable(spark: SparkSession, stops: Callable[[], bool]) -> Iterator[None]:
    """Like `time_limit`, once the callback `stops` returns true; it is called twice a second. Raises WorkCancelled."""
    ended = threading.Event()

    def wait() -> bool:
        while not ended.wait(POLL_SECONDS):
            if stops():
                return True
        return False

    with _cancel_jobs(spark, wait, ended, WorkCancelled()):
        yield


@contextmanager
def _cancel_jobs(
    spark: SparkSession, wait: Callable[[], bool], ended: threading.Event, raised: Exception
) -> Iterator[None]:
    """Cancel the block's jobs when `wait` returns True; it returns False once `ended` is set. Raises `raised`."""
    context, group = spark.sparkContext, f"limited {next(_group_numbers)}"
    over = threading.Event()

    def watch() -> None:
        if wait():
            over.set()
            while not ended.wait(POLL_SECONDS):
                context.cancelJobGroup(group)

    watcher = threading.Thread(target=watch, name=group, daemon=True)
    context.setJobGroup(group, group, interruptOnCancel=True)
    watcher.start()
    try:
        yield
    except Exception as error:
        if over.is_set():
            raise raised from error
        raise
    finally:
        ended.set()
        watcher.join()
        if over.is_set():
            end_spark_unless_cancelled(context, group)
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def end_spark_unless_cancelled(context: SparkContext, group: str) -> None:
    """In a local Spark, check in a thread of its own whether the group's tasks end, and kill the JVM if they do not."""
    if (context.master or "").startswith("local"):
        threading.Thread(
            target=_kill_spark_if_running, args=(context, group), name=f"ends {group}", daemon=True
        ).start()


def _kill_spark_if_running(context: SparkContext, group: str) -> None:
    pause = threading.Event()
    for _ in range(REAPER_CHECKS):
        if not running_tasks(context, group):
            return
        pause.wait(REAPER_PAUSE)
    log.critical(
        "a cancelled task still runs after %.0f s and occupies a core: Spark's process is ended",
        REAPER_CHECKS * REAPER_PAUSE,
    )
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
