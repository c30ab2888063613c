"""Replacements: all of their batches are logged at one moment, in a row, once a key."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from penstock import crash_points
from penstock.errors import Failed, Unavailable
from penstock.flow.inbox import replacement as module
from penstock.flow.inbox.segments import read_segment
from penstock.model.cursor import SourceSpan
from penstock.state.batch_keys import BodyKey, ReusedKey
from penstock.state.positions.stream_positions import OtherPosition
from unit.flow.inbox.kept_inbox import KeptInbox


class Kept(KeptInbox):
    """The inbox, and what a landing would read of it."""

    def steps(self) -> list[tuple[bool, list[bytes]]]:
        """What a landing would read, step by step: whether it replaces, and the lines."""
        found, at = [], 0
        while step := self.batches.read_after("s", at, 2**62, 2**62):
            lines = [
                line for each in step for line in read_segment(self.folder / each.segment, each.bytes, each.digest)
            ]
            found.append((step[0].replaces is not None, lines))
            at = step[-1].number
        return found


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.inbox.close()
    made.database.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a batch."""
    monkeypatch.setattr(module, "ROWS_PER_BATCH", 2)


@pytest.mark.usefixtures("small")
def test_a_replacement_is_one_step_between_the_rows_before_and_after_it(kept: Kept) -> None:
    kept.inbox.append("s", [b"1"], None)
    kept.inbox.append("s", [b"2"], None)
    assert kept.inbox.replace("s", (b"%d" % number for number in range(10, 15)), BodyKey("k")) == 5
    kept.inbox.append("s", [b"3"], None)
    assert kept.steps() == [(False, [b"1", b"2"]), (True, [b"10", b"11", b"12", b"13", b"14"]), (False, [b"3"])]
    assert [(each.number, each.replaces) for each in kept.arrived] == [(1, None), (2, None), (5, 3), (6, None)]
    assert kept.batches.replacement_rows("s", 3) == 5
    assert kept.batches.replacement_rows("s", 4) == 0


def test_a_replacement_by_nothing_has_a_place_too(kept: Kept) -> None:
    kept.inbox.append("s", [b"1"], None)
    assert kept.inbox.replace("s", [], BodyKey("k")) == 2
    assert kept.steps() == [(False, [b"1"]), (True, [])]


def test_a_key_is_one_replacement_and_is_announced_again(kept: Kept) -> None:
    assert kept.inbox.replace("s", [b"1"], BodyKey("k")) == 1
    assert kept.inbox.replace("s", [b"1"], BodyKey("k")) == 1
    assert kept.inbox.replace("s", [b"1"], BodyKey("other")) == 2
    assert [each.number for each in kept.arrived] == [1, 1, 2]


@pytest.mark.usefixtures("small")
def test_two_replacements_that_follow_each_other_are_two_steps(kept: Kept) -> None:
    kept.inbox.replace("s", [b"1", b"2", b"3"], BodyKey("a"))
    kept.inbox.replace("s", [b"4", b"5", b"6"], BodyKey("b"))
    assert kept.steps() == [(True, [b"1", b"2", b"3"]), (True, [b"4", b"5", b"6"])]


@pytest.mark.usefixtures("small")
def test_no_limit_divides_a_replacement_and_rows_before_it_come_first(kept: Kept) -> None:
    kept.inbox.append("s", [b"0"], None)
    kept.inbox.replace("s", [b"%d" % number for number in range(9)], BodyKey("k"))
    assert [each.number for each in kept.batches.read_after("s", 0, 1, 1)] == [1]
    assert [each.number for each in kept.batches.read_after("s", 1, 1, 1)] == [2, 3, 4, 5, 6]


@pytest.mark.usefixtures("small")
def test_posts_at_the_same_time_never_come_between_its_batches(kept: Kept) -> None:
    stop = threading.Event()

    def post() -> None:
        while not stop.is_set():
            kept.inbox.append("s", [b"x"], None)

    poster = threading.Thread(target=post)
    poster.start()
    for number in range(20):
        kept.inbox.replace("s", [b"%d %d" % (number, row) for row in range(7)], BodyKey(str(number)))
    stop.set()
    poster.join()
    replaced = [lines for replaces, lines in kept.steps() if replaces]
    assert replaced == [[b"%d %d" % (number, row) for row in range(7)] for number in range(20)]
    logged = kept.batches.read_after("s", 0, 2**62, 2**62)
    assert all(two.number == one.number + 1 for one, two in pairwise(logged))


@pytest.mark.parametrize("point", ["inbox.written", "inbox.logged", "state.before", "state.after"])
def test_a_crash_leaves_all_of_it_or_nothing_and_the_same_call_completes_it(tmp_path: Path, point: str) -> None:
    made = Kept(tmp_path)
    made.inbox.append("s", [b"0"], None)
    crash_points.arm(point, 1, lambda: None)
    with pytest.raises(crash_points.Crashed):
        made.inbox.replace("s", [b"1", b"2"], BodyKey("k"))
    crash_points.disarm()
    made.database.close()
    again = Kept(tmp_path)
    logged = again.batches.head("s") == 2
    assert logged == (point in ("inbox.logged", "state.after"))
    assert again.inbox.replace("s", [b"1", b"2"], BodyKey("k")) == 2
    assert again.steps() == [(False, [b"0"]), (True, [b"1", b"2"])]
    assert len(list(again.folder.rglob("*.ndjson"))) == 2, "what was not logged is removed"
    again.inbox.close()
    again.database.close()


@pytest.mark.parametrize("point", ["inbox.written", "inbox.logged", "state.before", "state.after"])
def test_a_replacement_of_a_source_moves_its_position_or_nothing(tmp_path: Path, point: str) -> None:
    """So that it is there once, whatever key each try has, and nothing that follows it is stored without it."""
    made = Kept(tmp_path)
    made.inbox.append("s", [b"0"], None, SourceSpan("a", None, (1,)))
    span = SourceSpan("a", (1,), (2,))
    crash_points.arm(point, 1, lambda: None)
    with pytest.raises(crash_points.Crashed):
        made.inbox.replace("s", [], BodyKey("one"), span)
    crash_points.disarm()
    made.database.close()
    again = Kept(tmp_path)
    is_logged = point in ("inbox.logged", "state.after")
    assert again.batches.positions.of_stream("s")["a"].position == ((2,) if is_logged else (1,))
    if not is_logged:
        with pytest.raises(OtherPosition):
            again.inbox.append("s", [b"1"], None, SourceSpan("a", (2,), (3,)))
    assert again.inbox.replace("s", [], BodyKey("two"), span) == 2
    again.inbox.append("s", [b"1"], None, SourceSpan("a", (2,), (3,)))
    assert again.inbox.replace("s", [], BodyKey("three"), span) == 3, "it is behind what is stored"
    with pytest.raises(OtherPosition):
        again.inbox.replace("s", [], BodyKey("four"), SourceSpan("a", (2,), (4,)))
    assert again.steps() == [(False, [b"0"]), (True, []), (False, [b"1"])]
    again.inbox.close()
    again.database.close()


def test_a_key_that_was_used_for_something_else_is_refused(kept: Kept) -> None:
    kept.inbox.append("s", [b"1"], "k")
    kept.inbox.replace("s", [b"1"], BodyKey("m", "one"))
    for other in (BodyKey("k", "one"), BodyKey("m", "two")):
        with pytest.raises(ReusedKey):
            kept.inbox.replace("s", [b"1"], other)
        with pytest.raises(ReusedKey):
            kept.inbox.remove("s", b"{}", other)
    assert kept.batches.head("s") == 2


def test_a_removal_is_a_batch_of_its_own_without_rows(kept: Kept) -> None:
    kept.inbox.append("s", [b"1"], None)
    assert kept.inbox.remove("s", b"{}", BodyKey("k")) == 2
    assert kept.inbox.remove("s", b"{}", BodyKey("k")) == 2
    kept.inbox.append("s", [b"2"], None)
    steps, at = [], 0
    while step := kept.batches.read_after("s", at, 2**62, 2**62):
        steps.append([(each.number, each.rows, bool(each.removes)) for each in step])
        at = step[-1].number
    assert steps == [[(1, 1, False)], [(2, 0, True)], [(3, 1, False)]]
    assert [each.number for each in kept.arrived] == [1, 2, 2, 3]
    assert kept.batches.has_change("s", 1, 3)
    assert not kept.batches.has_change("s", 2, 3)


def test_what_cannot_be_written_is_refused_and_leaves_no_file(kept: Kept) -> None:
    (kept.folder / "s").write_text("a file where the folder should be")
    with pytest.raises(Failed):
        kept.inbox.replace("s", [b"{}"], BodyKey("k"))
    (kept.folder / "s").unlink()
    assert kept.inbox.replace("s", [b"{}"], BodyKey("k")) == 1


def test_a_closed_inbox_takes_no_replacement(tmp_path: Path) -> None:
    made = Kept(tmp_path)
    made.inbox.close()
    with pytest.raises(Unavailable):
        made.inbox.replace("s", [b"1"], BodyKey("k"))
    made.database.close()
