"""Memory, garbage collection and threads of Spark's JVM.

In: a session. Out: `JvmFigures`. Invariant: asks the JVM, so it may hang with it: only background threads call this.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from penstock.lake.spark.session import Lake


@dataclass(frozen=True, slots=True)
class JvmFigures:
    """The JVM at one moment."""

    heap_used_bytes: int
    heap_max_bytes: int
    collections: int
    """Garbage collections since it started."""
    collection_seconds: float
    threads: int
    resident_bytes: int
    open_files: int


def read_jvm_figures(lake: Lake) -> JvmFigures:
    """Read the figures. Raises what py4j and psutil raise once the JVM has ended."""
    java = lake.spark.sparkContext._jvm
    assert java is not None, "the session was opened here"
    beans, process = java.java.lang.management.ManagementFactory, psutil.Process(lake.jvm)
    heap = beans.getMemoryMXBean().getHeapMemoryUsage()
    collectors = list(beans.getGarbageCollectorMXBeans())
    return JvmFigures(
        heap_used_bytes=int(heap.getUsed()),
        heap_max_bytes=int(heap.getMax()),
        collections=sum(max(int(each.getCollectionCount()), 0) for each in collectors),
        collection_seconds=sum(max(int(each.getCollectionTime()), 0) for each in collectors) / 1000,
        threads=int(beans.getThreadMXBean().getThreadCount()),
        resident_bytes=process.memory_info().rss,
        open_files=process.num_fds(),
    )
