"""Writes of many threads in few transactions: each made once, none undone by another, none lost with an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone

import pytest
from sqlalchemy.engine import Connection

from penstock.errors import Conflict, Fenced, PenstockError, Unavailable
from penstock.state.batch_keys import BodyKey
from penstock.state.batches import Batch, BatchLog
from penstock.state.database import Database

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
STREAMS = 40


class Gate:
    """Holds the first transaction back until the writes of all other threads wait behind it."""

    def __init__(self, database: Database, batches: BatchLog, waiting: int):
        self.transactions = 0
        self.fails: Callable[[int], PenstockError | None] = lambda transaction: None
        self._write = database.write
        self._batches, self._waiting = batches, waiting

    @contextmanager
    def write(self) -> Iterator[Connection]:
        self.transactions += 1
        number = self.transactions
        if number == 1:
            pause = threading.Event()
            while len(self._batches._appending._waiting) < self._waiting:
                pause.wait(0.01)
        with self._write() as connection:
            yield connection
        if (error := self.fails(number)) is not None:
            raise error


@pytest.fixture
def batches(database: Database) -> BatchLog:
    return BatchLog(database)


@pytest.fixture
def gate(database: Database, batches: BatchLog, monkeypatch: pytest.MonkeyPatch) -> Gate:
    made = Gate(database, batches, STREAMS - 1)
    monkeypatch.setattr(database, "write", made.write)
    return made


def append_everywhere(batches: BatchLog, key: str | None = None) -> list[Batch | PenstockError]:
    """One batch for each stream at once; with a key, all into one stream under that key."""

    def append(number: int) -> Batch | PenstockError:
        keys = [BodyKey(key)] if key is not None else []
        stream = "one" if key is not None else f"s{number}"
        try:
            return batches.append(stream, f"{stream}/{number}", 1, 10, NOW, keys)
        except PenstockError as error:
            return error

    with ThreadPoolExecutor(STREAMS) as pool:
        return list(pool.map(append, range(STREAMS)))


def test_those_that_wait_are_written_together(batches: BatchLog, gate: Gate) -> None:
    made = append_everywhere(batches)
    assert [(each.stream, each.number) for each in made if isinstance(each, Batch)] == [
        (f"s{number}", 1) for number in range(STREAMS)
    ]
    assert gate.transactions == 2
    assert len(batches.heads()) == STREAMS


def test_one_that_fails_undoes_no_other(batches: BatchLog, gate: Gate) -> None:
    made = append_everywhere(batches, key="same")
    assert sum(isinstance(each, Batch) for each in made) == 1
    assert sum(isinstance(each, Conflict) for each in made) == STREAMS - 1
    assert gate.transactions == 2
    assert batches.head("one") == 1


def test_a_lost_answer_doubles_and_loses_nothing(batches: BatchLog, gate: Gate) -> None:
    gate.fails = lambda number: Unavailable("the connection was lost") if number == 2 else None
    made = append_everywhere(batches)
    assert all(isinstance(each, Batch) and each.number == 1 for each in made)
    assert batches.heads() == {f"s{number}": 1 for number in range(STREAMS)}


def test_a_server_that_lost_the_store_tells_everybody(batches: BatchLog, gate: Gate) -> None:
    gate.fails = lambda number: Fenced("another server") if number == 2 else None
    made = append_everywhere(batches)
    assert sum(isinstance(each, Fenced) for each in made) == STREAMS - 1
    assert batches.append("later", "later/1", 1, 1, NOW).number == 1


def test_a_lost_answer_is_not_a_refusal_if_another_server_has_the_store_then(batches: BatchLog, gate: Gate) -> None:
    """The inbox removes the file of a batch that was refused; the other server would miss the file of a logged one."""

    def fails(number: int) -> PenstockError | None:
        if number < 2:
            return None
        return Unavailable("the connection was lost") if number == 2 else Fenced("another server")

    gate.fails = fails
    made = append_everywhere(batches)
    assert sum(isinstance(each, Unavailable) for each in made) == STREAMS - 1
    assert len(batches.heads()) == STREAMS


def test_the_same_without_others_that_wait(batches: BatchLog, gate: Gate) -> None:
    gate._waiting = 0
    errors = [Unavailable("the connection was lost"), Fenced("another server")]
    gate.fails = lambda number: errors[number - 1] if number <= len(errors) else None
    with pytest.raises(Unavailable, match="another server"):
        batches.append("s", "s/1", 1, 10, NOW)
    assert batches.heads() == {"s": 1}
