"""The pipeline while it opens, runs and stops, and the threads that HTTP calls run in.

In: an opened `Pipeline`. Out: its parts, whose blocking methods run in a limited number of threads. Invariant: appends,
queries and control calls have threads of their own, so many calls of one kind never keep the others waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio import CapacityLimiter

from penstock.errors import Overloaded, Unavailable
from penstock.serve.http.metrics import Metrics

if TYPE_CHECKING:  # importing it imports PySpark, which /health and the tests of the HTTP side do not need
    from penstock.deploy.pipeline import Pipeline

MOST_WAITING = 256
T = TypeVar("T")


class ThreadLimits:
    """The most threads for each kind of call; up to MOST_WAITING more calls of the kind wait, others are refused."""

    def __init__(self) -> None:
        self.appends = CapacityLimiter(16)
        self.queries = CapacityLimiter(8)
        self.waits = CapacityLimiter(64)
        self.control = CapacityLimiter(16)


class PipelineHost:
    """Holds the pipeline. `phase` says in words what the server is doing."""

    def __init__(self) -> None:
        self.threads = ThreadLimits()
        self.metrics = Metrics()
        self.phase = "starting Spark"
        self.stopping = False
        self._since = time.monotonic()
        self._pipeline: Pipeline | None = None

    def opened(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        if not self.stopping:
            self.phase = "running"

    def stop(self) -> None:
        """Take no more calls."""
        self.stopping = True
        self.phase = "stopping"

    @property
    def ready(self) -> bool:
        return self._pipeline is not None and self._pipeline.ready and not self.stopping

    @property
    def seconds(self) -> float:
        """Seconds since the server started."""
        return time.monotonic() - self._since

    @property
    def pipeline(self) -> Pipeline:
        """The opened pipeline. Raises Unavailable while the server starts or stops."""
        if self._pipeline is None or self.stopping:
            raise Unavailable(f"the server is not ready: {self.phase}", hint="GET /health says when it is")
        return self._pipeline


async def run_in_thread(limit: CapacityLimiter, call: Callable[[], T]) -> T:
    """Run a blocking call in a thread, of which there are at most as many as `limit` allows. Raises Overloaded if too
    many calls wait already."""
    if limit.statistics().tasks_waiting >= MOST_WAITING:
        raise Overloaded("too many calls wait already", hint="try again in a second")
    return await anyio.to_thread.run_sync(call, limiter=limit)
