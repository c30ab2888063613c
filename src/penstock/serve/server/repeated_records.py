"""Write a cause once: in an outage the same error is logged by every part, several times a second.

In: log records in order. Out: the records to write. Invariant: the first record of a cause is written in full; those
that follow are counted, and the count is written every REMINDER seconds and once it was quiet for QUIET seconds.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from penstock.errors import PenstockError

REMINDER = 600.0
QUIET = 120.0
"""Longer than the longest pause between two tries of a flow, 60 seconds."""
MOST_CAUSES = 1_000
LONGEST_CAUSE = 500
PASSING = frozenset((408, 409, 413, 429, 503, 507))
"""Statuses of errors that say what is wrong outside: their traceback tells nothing more."""
DAMAGED = "damaged-table"
"""The code of another one that does."""
_DIGITS = re.compile(r"[0-9]+")
log = logging.getLogger("penstock.log")


@dataclass(slots=True)
class RepeatedCause:
    """A cause that was written, and what followed since it was last written."""

    text: str
    began: float
    shown: float
    """When it was last written, in seconds of the monotonic clock."""
    last: float
    hidden: int = 0
    """Records since then that were not written."""
    loggers: set[str] = field(default_factory=set)


class RepeatedRecords:
    """Decides for each record whether it is written. For one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._causes: dict[str, RepeatedCause] = {}

    def sift(self, record: logging.LogRecord) -> Iterator[logging.LogRecord]:
        """The records to write for this one: it, or none, and perhaps counts of earlier ones."""
        cause = cause_of(record)
        if cause is None:
            yield record
            return
        now, known = self._clock(), self._causes.get(cause)
        if known is not None:
            known.hidden, known.last = known.hidden + 1, now
            known.loggers.add(record.name)
            return
        if len(self._causes) >= MOST_CAUSES:
            yield from self._end(min(self._causes, key=lambda each: self._causes[each].last))
        self._causes[cause] = RepeatedCause(_first_line(record), now, now, now)
        yield without_needless_trace(record)

    def due(self) -> Iterator[logging.LogRecord]:
        """The counts that are to be written now: of causes that have ended, and of those that go on for long."""
        now = self._clock()
        for cause, known in tuple(self._causes.items()):
            if now - known.last > QUIET:
                yield from self._end(cause)
            elif known.hidden and now - known.shown > REMINDER:
                yield _count(known, "goes on")
                known.hidden, known.shown = 0, now

    def end(self) -> Iterator[logging.LogRecord]:
        """The counts of all causes, before the log is closed."""
        for cause in tuple(self._causes):
            yield from self._end(cause)

    def _end(self, cause: str) -> Iterator[logging.LogRecord]:
        known = self._causes.pop(cause)
        if known.hidden:
            yield _count(known, "was the last time")


def cause_of(record: logging.LogRecord) -> str | None:
    """What tells causes apart; None for a record that is always written. Numbers do not count: they are attempts,
    seconds, tasks and ports."""
    if record.levelno < logging.WARNING or record.levelno >= logging.CRITICAL:
        return None
    error = record.exc_info[1] if record.exc_info else None
    if (sentence := _sentence(record)) is not None:
        text = sentence
    elif error is not None:
        text = f"{record.name} {_first_line(record)} {type(error).__name__}: {str(error)[:LONGEST_CAUSE]}"
    else:
        text = f"{record.name} {_first_line(record)}"
    return _DIGITS.sub("#", text[: 2 * LONGEST_CAUSE])


def without_needless_trace(record: logging.LogRecord) -> logging.LogRecord:
    """The record with the error's sentence instead of its traceback, if the error says what is wrong outside."""
    sentence = _sentence(record)
    if sentence is not None:
        if sentence not in record.getMessage():
            record.msg, record.args = f"{record.getMessage()}: {sentence}", None
        record.exc_info = record.exc_text = None
    return record


def _first_line(record: logging.LogRecord) -> str:
    return (_sentence(record) or record.getMessage())[:LONGEST_CAUSE]


def _sentence(record: logging.LogRecord) -> str | None:
    """The sentence of the record's error, if that says what is wrong outside."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, PenstockError) and (error.status in PASSING or error.code == DAMAGED):
        return error.message
    return None


def _count(known: RepeatedCause, what: str) -> logging.LogRecord:
    seconds, parts = known.last - known.began, ", ".join(sorted(known.loggers))
    message = f"{known.hidden} more times in {seconds:.0f} s ({parts}); this {what}: {known.text}"
    return log.makeRecord(log.name, logging.WARNING, __file__, 0, message, (), None)
