"""Answers of endpoints that say `cache_ttl`, kept in memory to be given again.

In: what an answer depends on, and the answer. Out: the same answer and its age, until its time is up. Invariants: an
answer is found only by the same version, endpoint, parameters (those that a token fixes among them) and filters of
rows, and not after a promotion if it was kept before; its age is that of the moment before its query read anything; all
together take MOST_BYTES. Thread-safe.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from penstock.deploy.queries.queryable_project import EndpointCall
from penstock.lake.read.packed_rows import estimate_bytes
from penstock.lake.read.query_execution import QueryResult

MOST_BYTES = 2**26
LARGEST = 2**22
"""Larger answers are not kept."""
SMALLEST = 2_000
"""What an answer takes beside its rows and the texts of its call, at least."""
SIZE_OF_COLUMN = 300
"""A name and a type, if no compiled call shares them."""
SIZE_OF_OBJECTS = 10
"""What a value takes as an object of Python, for each byte that it has pickled, at most."""


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What an answer depends on, beside the rows."""

    deployment: int
    call: EndpointCall
    filters: tuple[tuple[str, str], ...]
    """Of the caller's token, by data source."""
    promoted: bool = True
    """Whether the deployment is or was live: what it answered before may be from rows of long ago."""

    @property
    def size(self) -> int:
        """About the bytes that it takes."""
        texts = [*(str(value) for _, value in self.call[1]), *(condition for _, condition in self.filters)]
        return SMALLEST + 4 * sum(map(len, texts))


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer whose query began at a moment of the monotonic clock, for so many seconds."""

    answer: QueryResult
    began: float
    seconds: int
    size: int


class KeptAnswers:
    """The answers that may be given again; those that were used least recently go when there are too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[AnswerKey, KeptAnswer] = OrderedDict()
        self._bytes = 0
        self._guard = threading.Lock()

    def get(self, key: AnswerKey, now: float) -> KeptAnswer | None:
        """The answer of a key; None if there is none or its time is up."""
        with self._guard:
            found = self._kept.get(key)
            if found is None:
                return None
            if not 0 <= now - found.began < found.seconds:
                self._drop(key)
                return None
            self._kept.move_to_end(key)
            return found

    def add(self, key: AnswerKey, answer: QueryResult, began: float, seconds: int) -> None:
        """Keep an answer. One that was made from later rows stays."""
        if answer.size > LARGEST:
            return
        answer.rows.pack()
        size = key.size + answer.size + SIZE_OF_COLUMN * len(answer.columns)
        size += SIZE_OF_OBJECTS * estimate_bytes(answer.totals) if answer.totals is not None else 0
        if size > LARGEST:
            return
        with self._guard:
            before = self._kept.get(key)
            if before is not None and before.began > began:
                return
            if before is not None:
                self._drop(key)
            self._kept[key] = KeptAnswer(answer, began, seconds, size)
            self._bytes += size
            while self._bytes > MOST_BYTES:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: AnswerKey) -> None:
        self._bytes -= self._kept.pop(key).size
