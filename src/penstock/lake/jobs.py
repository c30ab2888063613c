"""Spark work of one thread that ends when its time is up.

In: a session and seconds. Out: the work's end, or `TookTooLong`. Called by flow and lake/query.
Invariant: what is cancelled frees its cores; jobs of other threads are not touched.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_numbers = itertools.count(1)


class TookTooLong(Exception):
    """The work was cancelled."""

    def __init__(self, seconds: float):
        super().__init__(f"cancelled after {seconds:g} seconds")


@contextmanager
def limited(spark: SparkSession, seconds: float) -> Iterator[None]:
    """Cancel the Spark jobs that this thread starts in the block, once `seconds` have passed; also those
    it starts after that. Raises TookTooLong in place of what the block raises for being cancelled."""
    context, group = spark.sparkContext, f"limited {next(_numbers)}"
    over, ended = threading.Event(), threading.Event()

    def watch() -> None:
        if not ended.wait(seconds):
            over.set()
            while not ended.wait(0.5):
                context.cancelJobGroup(group)

    watcher = threading.Thread(target=watch, name=group, daemon=True)
    context.setJobGroup(group, group, interruptOnCancel=True)
    watcher.start()
    try:
        yield
    except Exception as error:
        if over.is_set():
            raise TookTooLong(seconds) from error
        raise
    finally:
        ended.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
