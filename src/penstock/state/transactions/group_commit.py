"""Group commit: the writes of several threads in one transaction, so that one wait for the disk serves all of them.

In: writes, each with a way to find its result. Out: their results. Invariant: each write is made once, as if it were a
transaction of its own: one that fails undoes nothing of the others, and none returns before it is on disk.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, NoReturn, TypeVar

from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from penstock.errors import PenstockError, Unavailable
from penstock.state.database import Database, unknown_outcome

MOST_TOGETHER = 64
"""The most writes in one transaction."""
log = logging.getLogger("penstock.state")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Write(Generic[T]):
    """A write that waits, and its result."""

    order: str
    write: Callable[[Connection], T]
    find: Callable[[Connection], T | None]
    result: Future[T] = field(default_factory=Future)


class GroupCommit(Generic[T]):
    """Collects the writes of threads. The first thread that finds nobody writing writes for all that wait."""

    def __init__(self, database: Database):
        self._database = database
        self._waiting: list[_Write[T]] = []
        self._guard = threading.Lock()
        self._writing = threading.Lock()

    def write_once(self, order: str, write: Callable[[Connection], T], find: Callable[[Connection], T | None]) -> T:
        """Write as `Database.write_once` does; returns what `write` returns and raises what it raises. Writes of one
        transaction run in the order of `order`, so that their locks are taken in the same order everywhere."""
        mine = _Write(order, write, find)
        with self._guard:
            self._waiting.append(mine)
        # Whoever waits here finds its write done by the thread before it, or writes for all.
        with self._writing:
            if not mine.result.done():
                self._write_group(self._take(mine))
        return mine.result.result()

    def _take(self, mine: _Write[T]) -> list[_Write[T]]:
        """Those that wait longest, and `mine` among them."""
        with self._guard:
            self._waiting.remove(mine)
            group = [mine, *self._waiting[: MOST_TOGETHER - 1]]
            del self._waiting[: MOST_TOGETHER - 1]
        return sorted(group, key=lambda each: each.order)

    def _write_group(self, group: list[_Write[T]]) -> None:
        if len(group) == 1:
            _finish(group[0], lambda: self._database.write_once(group[0].write, group[0].find))
            return
        try:
            with self._database.write() as connection:
                outcomes = [_attempt(each, connection) for each in group]
        except Unavailable as error:
            # The answer was lost, but perhaps not the commit: each of them is found, or written by itself.
            log.warning("%s; trying again, one write at a time", error.message)
            for each in group:
                _finish(each, lambda each=each: self._find_or_write(each))  # type: ignore[misc]
        except BaseException as error:
            for each in group:
                each.result.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            for each, outcome in zip(group, outcomes, strict=True):
                _finish(each, outcome)

    def _find_or_write(self, each: _Write[T]) -> T:
        def write(connection: Connection) -> T:
            found = each.find(connection)
            return each.write(connection) if found is None else found

        try:
            return self._database.write_once(write, each.find)
        except Unavailable:
            raise
        except PenstockError as error:
            raise unknown_outcome(error) from error


def _attempt(each: _Write[T], connection: Connection) -> Callable[[], T]:
    """Write within a savepoint. Returns a function that gives the result, or raises what the write raised."""
    try:
        with connection.begin_nested():
            made = each.write(connection)
    except IntegrityError as error:
        return partial(_raise, error)
    return lambda: made


def _raise(error: Exception) -> NoReturn:
    raise error


def _finish(each: _Write[T], run: Callable[[], T]) -> None:
    try:
        each.result.set_result(run())
    except Exception as error:
        each.result.set_exception(error)
