from __future__ import annotations

import logging
from collections.abc import Iterable

from penstock.errors import Unavailable
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.serve.server.repeated_records import MOST_CAUSES, QUIET, REMINDER, RepeatedRecords

GONE = Unavailable("the state store does not answer: connection refused")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(
    message: str, *args: object, error: Exception | None = None, name: str = "penstock.flow"
) -> logging.LogRecord:
    trace = (type(error), error, None) if error is not None else None
    return logging.LogRecord(name, logging.WARNING, "x.py", 1, message, args, trace)


def texts(records: Iterable[logging.LogRecord]) -> list[str]:
    return [each.getMessage() for each in records]


def test_an_outage_is_one_line_whatever_part_notices_it_and_a_count_when_it_ends() -> None:
    clock = Clock()
    repeated = RepeatedRecords(clock)
    first = list(repeated.sift(record("lease heartbeat failed", error=GONE)))
    assert texts(first) == ["lease heartbeat failed: the state store does not answer: connection refused"]
    assert first[0].exc_info is None  # the traceback of an outage tells nothing more
    for number in range(244):
        clock.now = number / 4
        name = "penstock.deploy" if number % 2 else "penstock.flow"
        assert list(repeated.sift(record("step %d failed (attempt %d)", number, 9, error=GONE, name=name))) == []
    assert list(repeated.due()) == []
    clock.now += QUIET + 1
    assert texts(repeated.due()) == [
        "244 more times in 61 s (penstock.deploy, penstock.flow); this was the last time: "
        "the state store does not answer: connection refused"
    ]
    assert list(repeated.due()) == []
    assert texts(repeated.sift(record("again", error=GONE))) != []


def test_a_damaged_table_is_one_line_too() -> None:
    error = DamagedTable("events__d1", "its file is missing: /data/a%20b.json")
    written = list(RepeatedRecords(Clock()).sift(record("step of %s failed", "landing.events", error=error)))
    assert texts(written) == [f"step of landing.events failed: {error.message}"]
    assert written[0].exc_info is None


def test_one_that_goes_on_is_counted_now_and_then() -> None:
    clock = Clock()
    repeated = RepeatedRecords(clock)
    lines = 0
    for second in range(int(3 * REMINDER)):
        clock.now = float(second)
        lines += len(list(repeated.sift(record("x", error=GONE)))) + len(list(repeated.due()))
    assert lines == 1 + 2


def test_different_faults_are_different_causes_and_numbers_make_no_difference() -> None:
    repeated = RepeatedRecords(Clock())
    boom = [ValueError(f"task {number} of stage {number} failed") for number in range(9)]
    written = [each for error in boom for each in repeated.sift(record("step of a into t failed", error=error))]
    assert len(written) == 1
    assert written[0].exc_info is not None  # a fault keeps its traceback
    assert texts(repeated.sift(record("step of b into t failed", error=boom[0]))) == ["step of b into t failed"]


def test_news_is_never_held_back() -> None:
    repeated = RepeatedRecords(Clock())
    for level in (logging.INFO, logging.CRITICAL):
        for _ in range(3):
            one = logging.LogRecord("penstock.x", level, "x.py", 1, "the server is ready", (), None)
            assert list(repeated.sift(one)) == [one]


def test_the_causes_that_are_known_have_a_limit() -> None:
    clock = Clock()
    repeated = RepeatedRecords(clock)
    for number in range(MOST_CAUSES + 50):
        clock.now = float(number)
        name = "".join(chr(97 + int(digit)) for digit in str(number))
        assert len(list(repeated.sift(record(f"cause {name}")))) == 1
    assert len(repeated._causes) == MOST_CAUSES
