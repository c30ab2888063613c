"""Spark work of one thread that ends when its time is up, or when somebody says so.

In: a session and seconds, or a question. Out: the work's end, or one of two exceptions. Called by flow, lines
and query.
Invariant: what is cancelled frees its cores (reaper.py); jobs of other threads are not touched.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from penstock.lake import reaper

LOOK = 0.5
_numbers = itertools.count(1)


class TookTooLong(Exception):
    """The work was cancelled."""

    def __init__(self, seconds: float):
        super().__init__(f"cancelled after {seconds:g} seconds")


class Stopped(Exception):
    """The work was cancelled because somebody said so."""


@contextmanager
def limited(spark: SparkSession, seconds: float) -> Iterator[None]:
    """Cancel the Spark jobs that this thread starts in the block, once `seconds` have passed; also those
    it starts after that. Raises TookTooLong in place of what the block raises for being cancelled."""
    ended = threading.Event()
    with _cancelled(spark, lambda: not ended.wait(seconds), ended, TookTooLong(seconds)):
        yield


@contextmanager
def stoppable(spark: SparkSession, stops: Callable[[], bool]) -> Iterator[None]:
    """The same, once `stops` says so; it is asked a few times a second. Raises Stopped."""
    ended = threading.Event()

    def wait() -> bool:
        while not ended.wait(LOOK):
            if stops():
                return True
        return False

    with _cancelled(spark, wait, ended, Stopped()):
        yield


@contextmanager
def _cancelled(
    spark: SparkSession, wait: Callable[[], bool], ended: threading.Event, raised: Exception
) -> Iterator[None]:
    """`wait` returns when the work is to be cancelled, or with False once `ended` is set."""
    context, group = spark.sparkContext, f"limited {next(_numbers)}"
    over = threading.Event()

    def watch() -> None:
        if wait():
            over.set()
            while not ended.wait(LOOK):
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
            reaper.watch(context, group)
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
