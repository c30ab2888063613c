"""The pipeline while it opens, runs and stops, and the threads that HTTP calls run in.

In: an opened `Pipeline`. Out: its parts, whose blocking methods run in a limited number of threads. Invariant: each
kind of call has threads of its own, so many calls of one kind never keep the others waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

import anyio
from anyio import CapacityLimiter
from starlette.responses import Response

from penstock.errors import Overloaded, Unavailable
from penstock.model.servers.identity import ServerIdentity
from penstock.serve.http.access import FindToken
from penstock.serve.http.audited_call import RefusalBudget
from penstock.serve.http.json_web_tokens import SignedTokens
from penstock.serve.http.metrics import Metrics
from penstock.serve.http.pipeline_metrics import PipelineCollector
from penstock.serve.http.rendered_response import AnswerBudget
from penstock.serve.http.request_body import BodyBudget

if TYPE_CHECKING:  # importing it imports PySpark, which /health and the tests of the HTTP side do not need
    from penstock.deploy.health import HealthCheck
    from penstock.deploy.pipeline import Pipeline

MOST_WAITING = 256
MOST_ANSWER_BYTES = 2**29
T = TypeVar("T")

ThreadKind: TypeAlias = Literal["quick", "appends", "queries", "waits", "control", "answers", "status", "tables"]
"""`quick` is for work that waits for nothing (no disk, no lock, no other call): tokens, errors, /health; `answers`
renders the pieces of large answers; `status` must answer while all other calls wait for a store; `tables` loads
tables for other Iceberg readers; `control` is for all calls that are not listed."""


class ThreadLimits:
    """The most threads for each kind of call; up to MOST_WAITING more calls of the kind wait, others are refused."""

    def __init__(self) -> None:
        self.quick = CapacityLimiter(8)
        self.appends = CapacityLimiter(16)
        self.queries = CapacityLimiter(8)
        self.waits = CapacityLimiter(64)
        self.control = CapacityLimiter(16)
        self.answers = CapacityLimiter(4)
        self.status = CapacityLimiter(4)
        self.tables = CapacityLimiter(8)

    def of(self, kind: ThreadKind) -> CapacityLimiter:
        """The limit of the threads of a kind."""
        limit: CapacityLimiter = getattr(self, kind)
        return limit


@dataclass(frozen=True, slots=True)
class Continued:
    """The rest of a call, which runs in threads of another kind; its body is no longer in memory."""

    threads: ThreadKind
    run: Callable[[], Response]


class PipelineHost:
    """Holds the pipeline. `phase` says in words what the server is doing."""

    def __init__(self, bodies: BodyBudget | None = None, answers: AnswerBudget | None = None) -> None:
        self.threads = ThreadLimits()
        self.bodies = bodies or BodyBudget()
        self.answers = answers or AnswerBudget(MOST_ANSWER_BYTES)
        self.refusals = RefusalBudget()
        self.metrics = Metrics()
        self.phase = "starting Spark"
        self.stopping = False
        self.lacks_spark = False
        self.identity: ServerIdentity | None = None
        self.log_file: Path | None = None
        self.signed_tokens = SignedTokens()
        self.allowed_origins: tuple[str, ...] = ()
        self._since = time.monotonic()
        self._pipeline: Pipeline | None = None
        self._add_gauges()

    def opened(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.metrics.add(PipelineCollector(pipeline))
        if not self.stopping:
            self.phase = "running"

    def _add_gauges(self) -> None:
        """What is known here, and in memory."""
        self.metrics.add_gauge("penstock_ready", "1 while the pipeline runs", lambda: float(self.ready))
        self.metrics.add_gauge(
            "penstock_body_bytes", "Bytes of request bodies in memory", lambda: float(self.bodies.held)
        )
        self.metrics.add_gauge(
            "penstock_answer_bytes", "Bytes of rows that wait to be sent", lambda: float(self.answers.held)
        )
        for kind in get_args(ThreadKind):
            limit = self.threads.of(kind)
            self.metrics.show_threads(kind, partial(_running, limit), partial(_waiting, limit))

    def spark_ended(self) -> None:
        """From now on queries are refused, until a new server begins; rows are still taken."""
        self.lacks_spark = True
        self.phase = "restarting Spark"

    @property
    def find_token(self) -> FindToken:
        """A function that finds the token of a secret, or the one that a signed text is. Raises Unavailable while the
        pipeline opens; the function raises what `SignedTokens.find` raises."""
        find = self.pipeline.find_token
        return lambda secret: find(secret) or self.signed_tokens.find(secret, find)

    def require_spark(self) -> None:
        """Raises Unavailable while Spark is being restarted."""
        if self.lacks_spark:
            raise Unavailable("Spark is being restarted", hint="try again in some seconds")

    def running_calls(self) -> int:
        """Calls that run in threads now, without those that wait for rows to be queryable."""
        kinds: tuple[ThreadKind, ...] = ("appends", "queries", "control", "answers", "tables")
        return sum(self.threads.of(kind).borrowed_tokens for kind in kinds)

    def stop(self) -> None:
        """Take no more calls."""
        self.stopping = True
        self.phase = "stopping"

    @property
    def ready(self) -> bool:
        return self._pipeline is not None and self._pipeline.ready and not (self.stopping or self.lacks_spark)

    def checks(self) -> tuple[HealthCheck, ...]:
        """The health checks of the pipeline, from memory; none before it is opened."""
        return self._pipeline.monitor.health.checks() if self._pipeline is not None else ()

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


def _running(limit: CapacityLimiter) -> float:
    return float(limit.borrowed_tokens)


def _waiting(limit: CapacityLimiter) -> float:
    return float(limit.statistics().tasks_waiting)


async def run_in_thread(limit: CapacityLimiter, call: Callable[[], T]) -> T:
    """Run a blocking call in a thread, of which there are at most as many as `limit` allows. Raises Overloaded if too
    many calls wait already."""
    if limit.statistics().tasks_waiting >= MOST_WAITING:
        raise Overloaded("too many calls wait already", hint="try again in a second")
    return await anyio.to_thread.run_sync(call, limiter=limit)
