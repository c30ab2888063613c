"""Count rows in the tasks of a job of Spark.

In: a job. Out: the sum of what its tasks counted. Invariant: a counter takes memory for as long as its job only.
PySpark keeps each accumulator until the process ends, and a landing makes one for every commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.accumulators import Accumulator, _accumulatorRegistry

from penstock.lake.spark.session import Lake


@contextmanager
def row_counter(lake: Lake) -> Iterator[Accumulator[int]]:
    """A counter for the jobs of the block. It is forgotten once these have ended; if the block raises it stays, since a
    task may still report to it, and PySpark's thread for reports ends at one to a counter that it does not know."""
    counter = lake.spark.sparkContext.accumulator(0)
    yield counter
    _accumulatorRegistry.pop(counter.aid, None)
