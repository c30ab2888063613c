"""Rows of a source that knows its positions are stored once and in order, whatever is sent again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.crash_points import Crashed, arm, disarm
from penstock.errors import Conflict
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segments import read_segment
from penstock.model.cursor import SourceSpan, parse_position, position_text
from penstock.state.positions.stream_positions import OtherPosition, StoredPosition
from unit.flow.inbox.kept_inbox import KeptInbox


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[KeptInbox]:
    made = KeptInbox(tmp_path)
    yield made
    made.inbox.close()
    made.database.close()


def span(after: int | None, upto: int, source: str = "a") -> SourceSpan:
    return SourceSpan(source, (after,) if after is not None else None, (upto,))


def numbers(kept: KeptInbox) -> list[int]:
    found: list[int] = []
    for batch in kept.batches.read_after("s", 0, 10**6, 10**9):
        found += [int(line) for line in read_segment(kept.folder / batch.segment, batch.bytes, batch.digest)]
    return found


@pytest.mark.parametrize("text", ["", "1.", ".1", "-1", "1.2.3.4.5", "a", "1..2", "1" * 21, "١"])
def test_what_is_no_position(text: str) -> None:
    assert parse_position(text) is None


def test_positions_are_compared_as_numbers() -> None:
    found = [parse_position(text) for text in ("9", "10", "10.0", "10.9", "10.10")]
    assert found == sorted(found, key=lambda each: each or ())
    assert [position_text(each) for each in found if each is not None] == ["9", "10", "10.0", "10.9", "10.10"]


def test_rows_that_are_sent_again_are_stored_once(kept: KeptInbox) -> None:
    assert kept.inbox.append("s", [b"1", b"2"], None, span(None, 2)) == 1
    assert kept.inbox.append("s", [b"1", b"2"], None, span(None, 2)) == 1
    assert kept.inbox.append("s", [b"3"], None, span(2, 3)) == 2
    assert kept.inbox.append("s", [b"2"], None, span(1, 2)) == 2, "it is behind what is stored"
    assert numbers(kept) == [1, 2, 3]
    assert kept.batches.positions.of_stream("s") == {"a": StoredPosition("a", (3,), 2)}
    assert kept.batches.positions.of_stream("other") == {}


@pytest.mark.parametrize(("after", "upto"), [(None, 4), (1, 4), (3, 4), (0, 3)])
def test_rows_that_do_not_follow_are_refused(kept: KeptInbox, after: int | None, upto: int) -> None:
    kept.inbox.append("s", [b"2"], None, span(None, 2))
    with pytest.raises(OtherPosition) as refused:
        kept.inbox.append("s", [b"9"], None, span(after, upto))
    assert (refused.value.status, refused.value.code) == (409, "other-position")
    assert "is at 2" in refused.value.message
    assert numbers(kept) == [2]
    with pytest.raises(OtherPosition):
        kept.inbox.append("other", [b"9"], None, span(2, 3))


def test_sources_at_once(kept: KeptInbox) -> None:
    """Each source sends its rows one after the other, and some of them twice at once."""

    def send(source: int) -> None:
        for number in range(1, 9):
            part = span(number - 1 or None, number, f"source {source}")
            line = b"%d" % (source * 100 + number)
            with ThreadPoolExecutor(2) as pool:
                twice = [pool.submit(kept.inbox.append, "s", [line], None, part) for _ in range(2)]
            outcomes = [each.exception() for each in twice]
            assert None in outcomes
            assert all(each is None or isinstance(each, OtherPosition) for each in outcomes)

    threads = [threading.Thread(target=send, args=(source,)) for source in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers(kept)) == [source * 100 + number for source in range(6) for number in range(1, 9)]
    assert {each.position for each in kept.batches.positions.of_stream("s").values()} == {(8,)}


def test_a_writer_that_thinks_otherwise_logs_nothing(kept: KeptInbox) -> None:
    kept.inbox.append("s", [b"1"], None, span(None, 1))
    batch = kept.arrived[0]
    for wrong in (span(None, 2), span(2, 3)):
        with pytest.raises(Conflict):
            kept.batches.append("s", "s/x", 1, 1, batch.received_at, spans=[wrong])
    assert kept.batches.head("s") == 1


@settings(max_examples=25, deadline=None)
@given(point=st.sampled_from(["inbox.written", "inbox.logged", "state.before", "state.after"]), at=st.integers(1, 4))
def test_a_crash_at_any_point_stores_no_row_twice_and_passes_none_over(
    tmp_path_factory: pytest.TempPathFactory, point: str, at: int
) -> None:
    kept = KeptInbox(tmp_path_factory.mktemp("inbox"))
    arm(point, at, lambda: None)
    try:
        for number in range(1, 6):
            kept.inbox.append("s", [b"%d" % number], None, span(number - 1 or None, number))
    except (Crashed, Exception):
        pass
    finally:
        disarm()
    again = Inbox(kept.folder, kept.batches, kept.arrived.append)
    stored = kept.batches.positions.of_stream("s")
    done = stored["a"].position[0] if stored else 0
    for number in range(max(done, 1), 6):
        again.append("s", [b"%d" % number], None, span(number - 1 or None, number))
    assert numbers(kept) == [1, 2, 3, 4, 5]
    again.close()
    kept.database.close()
