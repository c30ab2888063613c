"""Rows that are taken in: durable, numbered without gaps, once a key."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock import crash_points
from penstock.errors import Failed, InvalidRequest, TooLarge, Unavailable
from penstock.flow.inbox import writer
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segments import read_segment
from penstock.model.manifest import ROWS_PER_BATCH
from penstock.state.batch_keys import ReusedKey
from penstock.state.batches import Batch
from unit.flow.inbox.kept_inbox import KeptInbox
from waiting import wait_until


class Kept(KeptInbox):
    """The inbox, and the lines that it has."""

    def lines(self) -> list[bytes]:
        found = self.batches.read_after("s", 0, 2**62, 2**62)
        return [
            line for batch in found for line in read_segment(self.folder / batch.segment, batch.bytes, batch.digest)
        ]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.inbox.close()
    made.database.close()


def test_rows_are_on_disk_and_in_the_log(kept: Kept) -> None:
    assert kept.inbox.append("s", [b'{"a": 1}', b"\xff"], None) == 1
    assert kept.inbox.append("s", [b"{}"], None) == 2
    assert kept.inbox.append("other", [b"{}"], None) == 1
    assert kept.lines() == [b'{"a": 1}', b"\xff", b"{}"]
    assert [(batch.stream, batch.number, batch.rows) for batch in kept.arrived] == [
        ("s", 1, 2),
        ("s", 2, 1),
        ("other", 1, 1),
    ]


def test_callers_at_once_share_batches_and_lose_nothing(kept: Kept) -> None:
    with ThreadPoolExecutor(16) as pool:
        numbers = list(pool.map(lambda number: kept.inbox.append("s", [b"%d" % number], None), range(400)))
    assert sorted(kept.lines()) == sorted(b"%d" % number for number in range(400))
    assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
    assert max(numbers) < 400


def test_callers_that_post_together_share_the_next_batch_too(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller that posts alone does not wait for others. Two whose rows were stored together wait for each other."""
    monkeypatch.setattr(writer, "GATHER_SECONDS", 3_600.0)
    going, told = threading.Event(), threading.Event()

    def note(batch: Batch) -> None:
        told.set()
        assert going.wait(60)

    inbox = Inbox(tmp_path / "held", kept.batches, note)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(inbox.append, "s", [b"1"], None)
        assert told.wait(60)
        both = [pool.submit(inbox.append, "s", [b"2"], None) for _ in range(2)]
        wait_until(lambda: inbox._writers["s"]._waiting.qsize() == 2)
        going.set()
        assert [first.result(), *(each.result() for each in both)] == [1, 2, 2]
        again = [pool.submit(inbox.append, "s", [b"3"], None) for _ in range(2)]
        assert [each.result() for each in again] == [3, 3]
    inbox.close()
    assert [kept.inbox.append("other", [b"alone"], None) for _ in range(3)] == [1, 2, 3]


def test_a_key_is_one_ingestion(kept: Kept) -> None:
    assert kept.inbox.append("s", [b"{}"], "k") == 1
    assert kept.inbox.append("s", [b"{}"], "k") == 1
    assert kept.inbox.append("s", [b"{}"], "other") == 2
    assert len(kept.lines()) == 2


def test_a_key_is_one_ingestion_also_at_once(kept: Kept) -> None:
    with ThreadPoolExecutor(16) as pool:
        numbers = set(pool.map(lambda _: kept.inbox.append("s", [b"{}"], "same"), range(50)))
    assert len(numbers) == 1
    assert kept.lines() == [b"{}"]


def test_what_cannot_be_kept_is_refused_and_the_writer_goes_on(kept: Kept) -> None:
    (kept.folder / "s").write_text("a file where the folder should be")
    with pytest.raises(Failed):
        kept.inbox.append("s", [b"{}"], None)
    (kept.folder / "s").unlink()
    assert kept.inbox.append("s", [b"{}"], None) == 1


def test_too_many_rows(kept: Kept) -> None:
    with pytest.raises(TooLarge):
        kept.inbox.append("s", [b"{}"] * (ROWS_PER_BATCH + 1), None)


def test_closing_keeps_what_waits(tmp_path: Path) -> None:
    made = Kept(tmp_path)
    threads = [threading.Thread(target=made.inbox.append, args=("s", [b"%d" % number], None)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made.inbox.close()
    assert len(made.lines()) == 20
    with pytest.raises(Unavailable):
        made.inbox.append("s", [b"{}"], None)
    made.database.close()


def test_a_key_with_another_body_is_a_conflict_and_nothing_is_kept(kept: Kept) -> None:
    assert kept.inbox.append("s", [b'{"a": 1}'], "k") == 1
    with pytest.raises(ReusedKey) as refused:
        kept.inbox.append("s", [b'{"a": 2}', b'{"a": 3}'], "k")
    assert (refused.value.status, refused.value.code) == (409, "reused-key")
    assert kept.inbox.append("s", [b'{"a": 1}'], "k") == 1
    assert kept.inbox.append("other", [b'{"a": 2}'], "k") == 1, "a key belongs to its stream"
    assert kept.lines() == [b'{"a": 1}']


def test_of_different_bodies_with_one_key_at_once_one_is_kept(kept: Kept) -> None:
    def post(number: int) -> int | str:
        try:
            return kept.inbox.append("s", [b"%d" % (number % 5)], "same")
        except ReusedKey as refused:
            return refused.code

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(post, range(50)))
    assert len(kept.lines()) == 1
    kept_body = int(kept.lines()[0])
    assert [answer != "reused-key" for answer in answers] == [number % 5 == kept_body for number in range(50)]


def test_no_rows_are_an_error_and_nobody_waits(kept: Kept) -> None:
    with pytest.raises(InvalidRequest):
        kept.inbox.append("s", [], None)


def test_who_is_told_of_a_batch_cannot_undo_it(tmp_path: Path) -> None:
    def fail(batch: Batch) -> None:
        raise ZeroDivisionError

    made = Kept(tmp_path)
    inbox = Inbox(made.folder, made.batches, fail)
    assert inbox.append("s", [b"{}"], None) == 1
    assert made.lines() == [b"{}"]
    inbox.close()
    made.inbox.close()
    made.database.close()


@pytest.mark.parametrize("point", ["inbox.written", "inbox.logged", "state.before", "state.after"])
def test_whoever_waits_gets_an_answer_when_the_writer_dies(kept: Kept, point: str) -> None:
    """In the life that ended nobody is acknowledged, and the next life takes what is sent again, once."""
    crash_points.arm(point, 1, lambda: None)
    try:
        with ThreadPoolExecutor(16) as pool:
            calls = [pool.submit(kept.inbox.append, "s", [b"%d" % number], f"k{number}") for number in range(40)]
            for call in calls:
                assert isinstance(call.exception(timeout=20), Unavailable)
    finally:
        assert crash_points.disarm()
    for number in range(40):
        assert kept.inbox.append("s", [b"%d" % number], f"k{number}")
    assert sorted(kept.lines()) == sorted(b"%d" % number for number in range(40))


def test_a_folder_that_is_gone_with_rows_is_not_made_anew(tmp_path: Path) -> None:
    """A disk that is not mounted: its rows are not given up behind the user's back."""
    made = Kept(tmp_path)
    made.inbox.append("s", [b"{}"], None)
    made.inbox.close()
    (made.folder / "s").rename(tmp_path / "elsewhere")
    landed = 0
    inbox = Inbox(made.folder, made.batches, made.arrived.append, landed=lambda stream: landed)
    with pytest.raises(Failed, match="the folder of `s` is missing in the inbox"):
        inbox.append("s", [b"{}"], None)
    (tmp_path / "elsewhere").rename(made.folder / "s")
    assert inbox.append("s", [b"{}"], None) == 2
    inbox.close()
    made.database.close()
