"""What Iceberg's reader of Parquet files leaves in the heap of Spark's JVM, and its end.

In: a session. Out: nothing. Invariant: what a reader made is closed only after every stage has ended that ran when it
was found, so not under a task that reads. (It would go on: Java does not check that an allocator is open.)

For each file that a task reads, Iceberg makes an Arrow allocator and never closes it
(https://github.com/apache/iceberg/issues/13937, open as of Iceberg 1.12). One takes some hundred bytes of the heap: at
20 files a second, half a gigabyte a day. On a cluster those of the executors stay, which this cannot reach.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from penstock.lake.spark.session import Lake

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

SECONDS = 60.0
"""Seconds between two looks."""
log = logging.getLogger("penstock.lake")


class ReaderMemory:
    """The allocators of the readers of one JVM, and a thread that closes the unused ones every minute."""

    def __init__(self, lake: Lake):
        self._lake = lake
        self._context = lake.spark.sparkContext
        java = self._context._jvm
        assert java is not None, "the session was opened here"
        self._iceberg, self._clock = java.org.apache.iceberg, java.java.lang.System.currentTimeMillis
        self._found: JavaObject | None = None
        self._found_at = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory of readers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():  # unless the JVM hangs
            self._thread.join(SECONDS)

    @property
    def allocators(self) -> int:
        """How many allocators are open."""
        return int(self._open_allocators().size())

    def close_unused(self) -> None:
        """Close the allocators that an earlier call found, once all stages have ended that began before it; then find
        those that are open now. Raises what py4j raises once the JVM has ended."""
        if self._found is not None:
            if self._has_stage_of_before():
                return
            self._close(self._found)
        self._found = self._open_allocators()
        self._found_at = int(self._clock())

    def _has_stage_of_before(self) -> bool:
        """Whether a stage is active that began before the allocators were found."""
        tracker = self._context._jsc.sc().statusTracker()
        stages = (tracker.getStageInfo(id) for id in tracker.getActiveStageIds())
        return any(stage.isDefined() and stage.get().submissionTime() <= self._found_at for stage in stages)

    def _run(self) -> None:
        while not self._stop.wait(SECONDS) and not self._lake.has_ended:
            try:
                self.close_unused()
            except Exception as error:  # Spark ends, or has ended: then the server starts again
                log.debug("the memory of readers is not known", exc_info=error)

    def _open_allocators(self) -> JavaObject:
        """A set of its own, which does not change with what is opened later."""
        return self._iceberg.arrow.ArrowAllocation.rootAllocator().getChildAllocators()

    def _close(self, allocators: JavaObject) -> None:
        try:
            self._iceberg.shaded.org.apache.arrow.util.AutoCloseables.close(allocators)
        except Py4JJavaError as error:  # it closes all of them, and then names those that still had memory
            log.debug("a reader of Iceberg has left memory behind", exc_info=error)
