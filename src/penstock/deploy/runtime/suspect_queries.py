"""The queries that may be why Spark's process ended: they run one at a time, and what ends Spark again is refused.

In: queries, endpoint calls and copies, as they begin and end. Out: nothing, or RefusedQuery. Invariant: the same call
ends Spark at most twice, and then once an hour; any other call is suspected only until it has run once more.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from penstock.errors import Overloaded, PenstockError, Timeout, TooLarge
from penstock.lake.read.query_execution import OutOfMemory
from penstock.lake.spark.errors import SparkEnded, spark_ended
from penstock.redaction import redact_start
from penstock.state.crash_counts import QueryCrashes

REFUSED_FOR = timedelta(hours=1)
CRASHES_TO_REFUSE = 2
LINGER_SECONDS = 30.0
"""What a cancelled query left running may end Spark so long after the query has ended: a task that does not stop is
given 20 seconds (`lake/spark/cancellation`)."""
TURN_SECONDS = 20.0
"""A suspect that has run so long lets the next one begin beside it: most that end Spark do so sooner, and a copy may
run for hours, in which no other suspect would be answered."""
MOST_ENDED = 1_000
WAIT_SECONDS = 0.25
SHOWN_CHARACTERS = 200
log = logging.getLogger("penstock.deploy")


class RefusedQuery(TooLarge):
    """The query ended Spark's process each time it ran."""


@dataclass(frozen=True, slots=True)
class QueryCall:
    """What was asked, as far as it makes a difference: the same call does the same again."""

    deployment: int
    asked: str
    """SQL, or the name of an endpoint or a copy."""
    parameters: Mapping[str, object]

    @property
    def digest(self) -> str:
        """The same for the same call, and short whatever was asked."""
        text = f"{self.deployment}\0{self.asked}\0{sorted(self.parameters.items())!r}"
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


@dataclass(eq=False, slots=True)
class _Run:
    digest: str
    call: QueryCall
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    suspected: bool = False
    harmless: bool = False
    """Whether nothing of it can be left in Spark."""


class SuspectQueries:
    """Knows what runs, and what ran when Spark ended. Thread-safe."""

    def __init__(self, crashes: QueryCrashes):
        self._crashes = crashes
        self._guard = threading.Condition()
        self._running: set[_Run] = set()
        self._ended: deque[_Run] = deque(maxlen=MOST_ENDED)
        self._waiting: set[_Run] = set()
        self._turn: _Run | None = None
        self._next_turn = 0.0
        self._spark_ended_at: float | None = None
        self._restarts = False

    @contextmanager
    def running(self, call: QueryCall, check: Callable[[], None], most_waiting: float = math.inf) -> Iterator[None]:
        """The block runs the call. A suspected one waits until no other of them runs; `check` is called meanwhile, and
        raises when the caller waits no longer. Raises RefusedQuery, Overloaded if so many wait already, SparkEnded,
        and what `check` raises."""
        run = _Run(call.digest, call)
        run.suspected = self._crashes.count(run.digest) > 0
        if run.suspected:
            self._wait_for_turn(run, check, most_waiting)
        with self._guard:
            self._running.add(run)
        try:
            yield
            run.harmless = True
        except PenstockError as error:
            run.harmless = not isinstance(error, SparkEnded | Timeout | OutOfMemory)
            if isinstance(error, SparkEnded):
                self._note_end_of_spark()
            raise
        finally:
            self._end(run)
            if run.suspected and run.harmless:
                self._clear(run.digest)

    def record_crash(self) -> None:
        """Count a crash for each call that ran when Spark's process ended, or had been cancelled shortly before. Raises
        what the state store raises."""
        self._note_end_of_spark()
        with self._guard:
            self._restarts = True
            self._guard.notify_all()
            at = self._spark_ended_at or 0.0
            runs = [*self._running, *(each for each in self._ended if each.ended >= at - LINGER_SECONDS)]
            calls = {each.digest: each.call for each in runs if each.began <= at}
        for call in calls.values():
            log.warning("it ran when Spark ended: %s", redact_start(call.asked, SHOWN_CHARACTERS))
        self._crashes.record(calls)

    def _wait_for_turn(self, run: _Run, check: Callable[[], None], most_waiting: float) -> None:
        try:
            while self._crashes.count(run.digest):
                self._refuse(run.digest)
                if self._take_turn(run, most_waiting):
                    return
                check()
        finally:
            with self._guard:
                self._waiting.discard(run)

    def _take_turn(self, run: _Run, most_waiting: float) -> bool:
        """Whether it has its turn now; otherwise a moment has passed. Those that waited when Spark ended are told so:
        the server restarts, and would cut them off."""
        with self._guard:
            if self._restarts:
                raise spark_ended()
            now = time.monotonic()
            if (self._turn is None or now >= self._turn.began + TURN_SECONDS) and now >= self._next_turn:
                self._turn, run.began = run, now
                return True
            if run not in self._waiting and len(self._waiting) >= most_waiting:
                message = "this ran when Spark's process ended, and waits until others that ran then have run again"
                raise Overloaded(f"{message}; too many wait already", hint="try again in some seconds")
            self._waiting.add(run)
            self._guard.wait(WAIT_SECONDS)
            return False

    def _clear(self, digest: str) -> None:
        """It has run without harm. Its answer does not fail because the state store is away: then the call is only
        suspected again after the next start."""
        try:
            self._crashes.clear(digest)
        except PenstockError as error:
            log.warning("that a query ran without harm is not stored: %s", error.message)

    def _refuse(self, digest: str) -> None:
        last = self._crashes.last(digest)
        if last is None or self._crashes.count(digest) < CRASHES_TO_REFUSE:
            return
        until = last + REFUSED_FOR
        if abs(datetime.now(until.tzinfo) - last) < REFUSED_FOR:  # a clock that was ahead refuses nothing for days
            message = f"Spark's process ended each time this ran, so it is refused until {until:%H:%M:%S} UTC"
            hint = "it needs more memory than Spark has, or cannot be cancelled: read less, or join by equal keys"
            raise RefusedQuery(message, hint=hint)

    def _note_end_of_spark(self) -> None:
        with self._guard:
            now = time.monotonic()
            if self._spark_ended_at is None or now - self._spark_ended_at > LINGER_SECONDS:
                self._spark_ended_at = now

    def _end(self, run: _Run) -> None:
        with self._guard:
            run.ended = time.monotonic()
            self._running.discard(run)
            while self._ended and self._ended[0].ended < run.ended - 2 * LINGER_SECONDS:
                self._ended.popleft()
            if not run.harmless:
                self._ended.append(run)
                if run.suspected:
                    self._next_turn = run.ended + LINGER_SECONDS
            if self._turn is run:
                self._turn = None
            self._guard.notify_all()
