"""Answers of the log that get lost: the rows are acknowledged if it has them, and else are nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import Failed, Fenced
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segments import read_segment
from penstock.state.batches import Batch, BatchLog
from penstock.state.database import Database, open_database
from penstock.state.lease import Lease


class Lossy(BatchLog):
    """The real log over a bad line: `before` a transaction, or after it, the next call of it fails."""

    before = after_it = False

    def append(self, *given: Any, **named: Any) -> Batch:
        if self.before:
            raise Failed("the line is down")
        made = super().append(*given, **named)
        if self.after_it:
            raise Failed("the answer was lost")
        return made


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.close()


def rows(folder: Path, batches: BatchLog) -> list[bytes]:
    found = batches.read_after("s", 0, 2**62, 2**62)
    return [line for each in found for line in read_segment(folder / each.segment, each.bytes, each.digest)]


def test_what_was_logged_is_acknowledged_though_the_answer_was_lost(tmp_path: Path, database: Database) -> None:
    batches = Lossy(database)
    arrived: list[Batch] = []
    inbox = Inbox(tmp_path / "inbox", batches, arrived.append)
    batches.after_it = True
    assert [inbox.append("s", [b"1"], "k"), inbox.append("s", [b"2"], None)] == [1, 2]
    assert rows(tmp_path / "inbox", batches) == [b"1", b"2"]
    assert [batch.number for batch in arrived] == [1, 2]
    inbox.close()


def test_what_was_not_logged_is_an_error_and_the_next_start_cuts_it(tmp_path: Path, database: Database) -> None:
    batches = Lossy(database)
    inbox = Inbox(tmp_path / "inbox", batches, lambda batch: None)
    batches.before = True
    with pytest.raises(Failed, match="the line is down"):
        inbox.append("s", [b"1"], "k")
    batches.before = False
    assert inbox.append("s", [b"1"], "k") == 1
    inbox.close()
    assert len(list((tmp_path / "inbox").rglob("*.ndjson"))) == 2, "nobody knows whether the log has it"
    Inbox(tmp_path / "inbox", batches, lambda batch: None).close()
    assert len(list((tmp_path / "inbox").rglob("*.ndjson"))) == 1
    assert rows(tmp_path / "inbox", batches) == [b"1"]


def test_a_server_that_lost_the_lease_acknowledges_nothing(tmp_path: Path, database: Database) -> None:
    lease = Lease(database)
    lease.take(lease.read(), {})
    inbox = Inbox(tmp_path / "inbox", BatchLog(database), lambda batch: None)
    assert inbox.append("s", [b"1"], None) == 1
    other = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    Lease(other).take(Lease(other).read(), {})
    with pytest.raises(Fenced):
        inbox.append("s", [b"2"], None)
    inbox.close()
    assert rows(tmp_path / "inbox", BatchLog(other)) == [b"1"]
    assert len(list((tmp_path / "inbox").rglob("*.ndjson"))) == 1
    other.close()
