"""Watch the heap of Spark's JVM, and end queries before nothing else can run.

In: the heap, and the running queries. Out: queries that are cancelled, one after the other while the heap stays full.
Invariant: only what is still in use after a full collection counts, and a collection is asked for at most a tenth of
the time, or a third while the heap fills and a query runs that may be why.

Spark bounds what sorts, joins and hash tables hold (uniqExact is one), and spills the rest to disk. What it does not
count are the objects of aggregates (groupArray), single large values, and the rows of an answer. A JVM in which a
thread gets no memory ends (`session.JAVA_DEFAULTS`), with all flows and queries in it, so it must not come to that.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import Protocol

from penstock.lake.spark.cancellation import kill_spark
from penstock.lake.spark.running_queries import QUERIES, RunningQueries
from penstock.lake.spark.session import Lake

POLL_SECONDS = 0.25
SUSPICIOUS = 0.7
"""The share of the heap in old objects, garbage among them, at which a full collection is asked for."""
FULL = 0.75
"""The share of the heap in use after a collection at which a query is cancelled. Spark's own limit for sorts, joins and
hash tables is 0.6 of the heap (spark.memory.fraction), beside which Spark itself needs some 200 MB."""
LEAST_REST, REST_FACTOR = 5.0, 10.0
"""Seconds between two collections: so many, and so many times as long as the last one took."""
FILLING, FILLING_FACTOR = 1 / 3, 2.0
"""Once old objects have taken this part of what the last collection left free, the rest is only so many times as long
as that collection: in ten times as long, a query would fill the heap."""
REST_AFTER_CANCEL = 1.0
"""Seconds after which it is looked whether the query that was cancelled has given its memory back; longer if the
collection took longer."""
log = logging.getLogger("penstock.lake")


class JvmHeap(Protocol):
    """What is watched; `SparkHeap` is it."""

    def old_share(self) -> float:
        """The share of the heap in old objects, garbage among them."""

    def share_after_collection(self) -> float:
        """The share of the heap in use after a full collection, which this call makes."""

    def has_scheduler(self) -> bool:
        """Whether Spark can run a job: its context is not stopped, and the thread is alive without which none ends."""

    def end(self, why: str) -> None:
        """End the JVM."""


class SparkHeap:
    """The heap of a local Spark. Asks the JVM, so its calls may take long or raise what py4j raises."""

    def __init__(self, lake: Lake):
        self._lake = lake
        java = lake.spark.sparkContext._jvm
        assert java is not None, "the session was opened here"
        self._system = java.java.lang.System
        beans = java.java.lang.management.ManagementFactory
        self._memory = beans.getMemoryMXBean()
        pools = {str(each.getName()): each for each in beans.getMemoryPoolMXBeans()}
        self._old = next((pool for name, pool in pools.items() if "Old" in name or "Tenured" in name), self._memory)
        self._most = float(self._memory.getHeapMemoryUsage().getMax())

    def old_share(self) -> float:
        usage = self._old.getHeapMemoryUsage() if self._old is self._memory else self._old.getUsage()
        return float(usage.getUsed()) / self._most

    def share_after_collection(self) -> float:
        self._system.gc()
        return float(self._memory.getHeapMemoryUsage().getUsed()) / self._most

    def has_scheduler(self) -> bool:
        context = self._lake.spark.sparkContext._jsc.sc()
        return not context.isStopped() and bool(context.dagScheduler().eventProcessLoop().isActive())

    def end(self, why: str) -> None:
        kill_spark(self._lake.spark.sparkContext, why)


class MemoryWatch:
    """Looks at the heap several times a second, in a thread of its own."""

    def __init__(self, heap: JvmHeap, queries: RunningQueries = QUERIES):
        self._heap = heap
        self._queries = queries
        self._next_collection = self._next_if_filling = 0.0
        self._filling_from = 1.0
        self._full_since: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():  # unless the JVM hangs
            self._thread.join(LEAST_REST)

    def look(self, now: float) -> None:
        """Look once; `now` is by the monotonic clock."""
        if not self._heap.has_scheduler():
            self._heap.end("its scheduler has ended")
            self._stop.set()
        elif (old := self._heap.old_share()) < SUSPICIOUS:
            self._full_since = None
        elif now >= (self._next_if_filling if self._fills(old) else self._next_collection):
            began = time.monotonic()
            share = self._heap.share_after_collection()
            took = time.monotonic() - began
            cancelled = self._cancel_if_full(share, began)
            rest = max(REST_AFTER_CANCEL, 2 * took) if cancelled else max(LEAST_REST, REST_FACTOR * took)
            self._next_collection = now + rest
            self._next_if_filling = now + max(REST_AFTER_CANCEL, FILLING_FACTOR * took)
            self._filling_from = share + (1 - share) * FILLING

    def _fills(self, old: float) -> bool:
        """Whether the heap fills, and a query runs that could be cancelled for it."""
        return old >= self._filling_from and self._queries.can_choose(self._blamed_before)

    @property
    def _blamed_before(self) -> float:
        """A query that began after the heap was full is not what fills it."""
        return math.inf if self._full_since is None else self._full_since

    def _cancel_if_full(self, share: float, now: float) -> bool:
        """Choose a query to be cancelled if the heap is full; returns whether there was one. A query that began when it
        was full already is not what fills it: that is a step, or all that Spark keeps in a heap that is too small. Such
        a query may find no memory itself, and then ends by that."""
        if share < FULL:
            self._full_since = None
            return False
        begins, self._full_since = self._full_since is None, now if self._full_since is None else self._full_since
        chosen = self._queries.choose(self._full_since)
        if chosen is not None:
            seconds = time.monotonic() - chosen.began
            log.warning("Spark's memory is %.0f %% full: a query of %.0f s is cancelled", share * 100, seconds)
        elif begins:
            log.warning("Spark's memory is %.0f %% full, not with queries: raise driver_memory", share * 100)
        return chosen is not None

    def _run(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            try:
                self.look(time.monotonic())
            except Exception as error:  # Spark ends, or has ended: then the server starts again
                log.debug("the memory of Spark is not known", exc_info=error)
                self._stop.wait(LEAST_REST)
