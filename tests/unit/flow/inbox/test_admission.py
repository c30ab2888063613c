"""Rows are refused before it is too late, and taken again when there is room."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from penstock.errors import Overloaded, StorageFull
from penstock.flow.inbox import admission
from penstock.flow.inbox.inbox import Inbox
from penstock.model.settings import InboxSettings
from penstock.state.batches import BatchLog
from penstock.state.database import open_database


@pytest.fixture
def batches(tmp_path: Path) -> Iterator[BatchLog]:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield BatchLog(database)
    database.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look each time instead of once a second."""
    monkeypatch.setattr(admission, "CHECK_VALID_SECONDS", 0.0)


def test_the_reserve_is_left_free(tmp_path: Path, batches: BatchLog) -> None:
    disk = os.statvfs(tmp_path)
    inbox = Inbox(
        tmp_path / "inbox", batches, lambda batch: None, InboxSettings(min_free_bytes=disk.f_blocks * disk.f_frsize)
    )
    with pytest.raises(StorageFull) as refused:
        inbox.append("s", [b"{}"], None)
    assert (refused.value.status, batches.heads()) == (507, {})
    assert [path for path in (tmp_path / "inbox").rglob("*") if path.is_file()] == []
    inbox.close()


def test_a_disk_that_takes_no_more_files_refuses(
    tmp_path: Path, batches: BatchLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "MIN_FREE_FILES", 2**62)
    inbox = Inbox(tmp_path / "inbox", batches, lambda batch: None)
    with pytest.raises(StorageFull, match="inodes"):
        inbox.append("s", [b"{}"], None)
    assert batches.heads() == {}
    inbox.close()


@pytest.mark.usefixtures("impatient")
def test_too_much_pending_is_refused_until_the_tables_have_it(tmp_path: Path, batches: BatchLog) -> None:
    landed = {"s": 0}
    settings = InboxSettings(min_free_bytes=0, max_pending_bytes=100)
    inbox = Inbox(tmp_path / "inbox", batches, lambda batch: None, settings, lambda stream: landed.get(stream, 0))
    line = b"x" * 39
    assert [inbox.append("s", [line], None), inbox.append("s", [line], None)] == [1, 2]
    with pytest.raises(Overloaded) as refused:
        inbox.append("s", [line], None)
    assert (refused.value.status, refused.value.code, batches.head("s")) == (429, "overloaded", 2)
    assert inbox.append("t", [line], None) == 1, "other streams go on"
    landed["s"] = 1
    assert inbox.append("s", [line], None) == 3
    landed["s"] = 0  # another version is live, which is not as far
    with pytest.raises(Overloaded):
        inbox.append("s", [b""], None)
    landed["s"] = 2**62
    assert inbox.append("s", [line], None) == 4
    inbox.close()


def test_the_backlog_is_asked_for_once_a_second_and_counts_on(tmp_path: Path, batches: BatchLog) -> None:
    asked: list[str] = []

    def landed(stream: str) -> int:
        asked.append(stream)
        return 0

    inbox = Inbox(tmp_path / "inbox", batches, lambda batch: None, InboxSettings(min_free_bytes=0), landed)
    for _ in range(50):
        inbox.append("s", [b"{}"], None)
    assert len(asked) < 10
    inbox.close()


@pytest.mark.usefixtures("impatient")
def test_batches_that_landed_and_were_trimmed_unseen_are_no_backlog(tmp_path: Path, batches: BatchLog) -> None:
    landed = {"s": 0}
    backlog = admission.Backlog(batches, lambda stream: landed[stream])
    now = datetime.now(timezone.utc)
    for number in range(10):
        batches.append("s", f"s/{number}", 1, 10, now)
    assert backlog.bytes("s") == 100
    landed["s"] = 8
    batches.trim("s", 7, now + timedelta(days=1), 100)
    assert backlog.bytes("s") == 20
    batches.append("s", "s/last", 1, 10, now)
    landed["s"] = 11
    batches.trim("s", 11, now + timedelta(days=1), 100)
    assert backlog.bytes("s") == 0
