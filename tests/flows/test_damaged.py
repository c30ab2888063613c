"""A damaged segment: none of its rows is taken, what is left of it is quarantined once, everything else goes on."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from by_hand import ByHand
from penstock import crash_points
from penstock.flow.inbox.segment_check import SegmentCheck
from penstock.flow.landing.landing import (
    LandingResult,
    LandingTable,
    land_batches,
    repair_quarantine,
    unquarantined_step,
)
from penstock.flow.work_items import collect_work
from penstock.lake.spark.names import qualified_table
from penstock.model.cursor import BatchCursor as BatchCursor
from penstock.state.operations import OperationsLog

SCHEMA = """SCHEMA >
    `id` UInt32 `json:$.id`

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
_numbers = itertools.count(1)
MakeByHand = Callable[[Mapping[str, str]], ByHand]


class Landings:
    """Lands as the stepper does, a step a call; a new one is a new life of the server."""

    def __init__(self, hand: ByHand):
        hand.restart()
        self.hand = hand
        self.intact = SegmentCheck(hand.inbox, hand.batches, OperationsLog(hand.database))

    def target(self, stream: str) -> LandingTable:
        runs = [work.run for work in collect_work(self.hand.deployments)]
        return next(run for run in runs if isinstance(run, LandingTable) and run.stream == stream)

    def land(self, target: LandingTable) -> LandingResult:
        cursor = self.hand.registry.cursor(target.table, target.flow)
        after = cursor.number if isinstance(cursor, BatchCursor) else 0
        batches = self.intact.checked(self.hand.batches.after(target.stream, after, 2**62, 2**62))
        return land_batches(self.hand.lake, self.hand.registry, target, batches, self.hand.inbox)

    def mend(self, target: LandingTable) -> None:
        missing = unquarantined_step(self.hand.registry, target)
        if missing is not None:
            batches = self.intact.checked(self.hand.batches.after(target.stream, missing[0], 2**62, 2**62, missing[1]))
            repair_quarantine(self.hand.lake, self.hand.registry, target, batches, self.hand.inbox)

    def ids(self, target: LandingTable) -> list[int]:
        return sorted(row.id for row in self.hand.lake.spark.table(qualified_table(target.table)).collect())

    def quarantined(self, target: LandingTable) -> list[tuple[str, str, str]]:
        """(version, line, first problem), in the order of the log."""
        rows = self.hand.lake.spark.table(qualified_table(target.quarantine)).orderBy("_seq", "version").collect()
        return [(row.version, row.raw, row.problems[0]) for row in rows]


@pytest.fixture
def hand(by_hand: MakeByHand) -> Iterator[ByHand]:
    number = next(_numbers)  # quarantines are named after their stream, and the tests share a lake
    made = by_hand({f"datasources/{name}{number}.datasource": SCHEMA for name in ("damaged", "other")})
    yield made
    crash_points.disarm()


def post(hand: ByHand, ids: Sequence[object]) -> Path:
    """One batch; returns its segment."""
    stream = _stream(hand, "damaged")
    hand.post(stream, [b'{"id": %s}' % str(id).encode() for id in ids])
    return hand.inbox / hand.batches.after(stream, hand.batches.head(stream) - 1, 1, 1)[0].segment


def events(landings: Landings) -> LandingTable:
    return landings.target(_stream(landings.hand, "damaged"))


def _stream(hand: ByHand, name: str) -> str:
    return next(each.stream for each in hand.live.landings if each.stream.startswith(name))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b":") + 2] ^= 1
    path.write_bytes(content)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def test_each_kind_of_damage_takes_out_its_segment_and_nothing_else(hand: ByHand) -> None:
    segments = {number: post(hand, [f"{number}1", f"{number}2", f"{number}3"]) for number in range(1, 8)}
    post(hand, [81, '"not a number"'])
    flip(segments[2])
    os.truncate(segments[3], 21)
    segments[4].unlink()
    make_folder(segments[5])
    segments[6].write_bytes(segments[6].read_bytes() + b'{"id": 64}\n')
    landings = Landings(hand)
    target = events(landings)
    two = LandingTable((*target.landings, replace(target.landings[0], version="w")))
    landed = landings.land(two)
    assert landings.ids(target) == [11, 12, 13, 71, 72, 73, 81]
    left = landings.quarantined(target)
    assert (landed.rows, landed.rejected, landed.batch) == (7, len(left), 8)
    version = target.landings[0].version
    expected = [
        *('{"id": 31}', '{"id": 22}', '{"id": 23}'),  # a bit of the first line is another
        *('{"id": 31}', '{"id": 32}'),
        "",
        "",
        *('{"id": 61}', '{"id": 62}', '{"id": 63}'),
        '{"id": "not a number"}',
    ]
    assert [line for of, line, _ in left if of == version] == expected
    assert [line for of, line, _ in left if of == "w"] == expected
    assert all(problem.startswith("damaged segment ") for _, line, problem in left if "number" not in line)
    assert [batch.number for batch in hand.batches.condemned(10)] == [6, 5, 4, 3, 2]


def test_the_flow_goes_on_and_other_streams_are_not_touched(hand: ByHand) -> None:
    post(hand, [1, 2]).unlink()
    landings = Landings(hand)
    target = events(landings)
    other = _stream(hand, "other")
    hand.post(other, [b'{"id": 7}'])
    assert landings.land(target) == LandingResult(0, 1, 1)
    post(hand, [3])
    assert landings.land(target) == LandingResult(1, 0, 2)
    assert landings.land(landings.target(other)) == LandingResult(1, 0, 1)
    assert (landings.ids(target), landings.ids(landings.target(other))) == ([3], [7])
    assert landings.quarantined(landings.target(other)) == []


def test_a_file_that_comes_back_after_a_crash_changes_nothing(hand: ByHand) -> None:
    """A disk's cable: gone when the step landed, there again when the next life mends the quarantine."""
    path = post(hand, [1, 2])
    post(hand, [3])
    path.rename(path.with_suffix(".away"))
    crash_points.arm("landing.committed", 1, lambda: None)
    landings = Landings(hand)
    with pytest.raises(crash_points.Crashed):
        landings.land(events(landings))
    crash_points.disarm()
    path.with_suffix(".away").rename(path)
    for _ in range(2):
        again = Landings(hand)
        target = events(again)
        again.mend(target)
        assert again.ids(target) == [3]
        assert [line for _, line, _ in again.quarantined(target)] == ['{"id": 1}', '{"id": 2}']


def test_a_segment_that_is_damaged_after_its_rows_were_taken(hand: ByHand) -> None:
    """The server dies before the quarantine of a step, and then the file does too: what was taken stays, once,
    and the quarantine says that the rest is not known."""
    path = post(hand, [1, '"x"', 2])
    crash_points.arm("landing.committed", 1, lambda: None)
    landings = Landings(hand)
    with pytest.raises(crash_points.Crashed):
        landings.land(events(landings))
    crash_points.disarm()
    flip(path)
    for _ in range(2):
        again = Landings(hand)
        target = events(again)
        again.mend(target)
        assert again.ids(target) == [1, 2]
        [(_, line, problem)] = again.quarantined(target)
        assert line == ""
        assert problem.endswith("it was taken before, but for rows that did not fit")


def test_damage_between_the_check_and_the_reading_fails_the_step_and_the_next_decides(hand: ByHand) -> None:
    path = post(hand, [1, 2])
    post(hand, [3])
    landings = Landings(hand)
    target = events(landings)
    checked = landings.intact.checked(hand.batches.after(target.stream, 0, 2**62, 2**62))
    flip(path)
    with pytest.raises(Exception, match="DamagedSegment"):
        land_batches(hand.lake, hand.registry, target, checked, hand.inbox)
    hand.registry.refresh(target.table)
    assert landings.ids(target) == []
    assert landings.land(target) == LandingResult(1, 2, 2)
    assert landings.ids(target) == [3]
