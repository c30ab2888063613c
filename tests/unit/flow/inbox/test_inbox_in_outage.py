"""The store is away while rows are posted: every caller gets its answer in time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import Unavailable
from penstock.flow.inbox import admission, inbox, writer
from penstock.flow.inbox.admission import Backlog
from penstock.flow.inbox.inbox import Inbox
from penstock.model.settings import InboxSettings
from penstock.state import database as module
from penstock.state.batches import Batch, BatchLog
from penstock.state.database import Database, make_engine, open_database
from waiting import wait_until


class StoreThatLeaves(BatchLog):
    """A batch log whose heads are known until `away`, and asked for once at a time."""

    away = False
    asked = 0

    def head(self, stream: str) -> int:
        self.asked += 1
        if self.away:
            raise Unavailable("the state store does not answer")
        return 2

    def first(self, stream: str) -> int:
        return 1

    def bytes_between(self, stream: str, after: int, upto: int) -> int:
        return 100 * (upto - after)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.close()


def test_posts_are_answered_though_the_store_never_does(
    tmp_path: Path, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that wait behind others; without the limit this test would take hours."""
    batches = BatchLog(store)
    store._engine = make_engine("postgresql://nobody@127.0.0.1:1/none")  # from now on the store is away
    store._writing = store._engine.execution_options(penstock_writes=True)
    monkeypatch.setattr(module, "RETRY_SECONDS", 3_600.0)
    for place, name in ((writer, "ANSWER_SECONDS"), (writer, "LEAST_SECONDS"), (inbox, "ADMISSION_SECONDS")):
        monkeypatch.setattr(place, name, 0.3)
    monkeypatch.setattr(inbox, "remove_unlogged_segments", lambda *given: None)
    opened = Inbox(tmp_path, batches, lambda batch: None, InboxSettings(min_free_bytes=0))
    with ThreadPoolExecutor(8) as callers:
        answers = [callers.submit(opened.append, "s", [b"{}"], None) for _ in range(8)]
        for each in answers:
            with pytest.raises(Unavailable):
                each.result(60)
    opened.close()


class LogWhoseAnswersAreLost(BatchLog):
    """A batch log that logs, and then does not answer until it is back."""

    away = True

    def append(self, *given: Any, **named: Any) -> Batch:
        made = super().append(*given, **named)
        if self.away:
            raise Unavailable("the connection was lost")
        return made

    def find(self, stream: str, segment: str) -> Batch | None:
        if self.away:
            raise Unavailable("the state store does not answer")
        return super().find(stream, segment)


def test_a_batch_whose_answer_was_lost_lands_though_nothing_follows(
    tmp_path: Path, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are answered if they are posted again under their key, and no later batch announces it."""
    monkeypatch.setattr(writer, "ASK_AGAIN_SECONDS", 0.05)
    batches, arrived = LogWhoseAnswersAreLost(store), list[int]()
    opened = Inbox(tmp_path, batches, lambda batch: arrived.append(batch.number), InboxSettings(min_free_bytes=0))
    with pytest.raises(Unavailable):
        opened.append("s", [b"{}"], "key")
    batches.away = False
    assert opened.append("s", [b"{}"], "key") == 1
    wait_until(lambda: arrived == [1])
    opened.close()


def test_a_known_backlog_stays_while_the_store_is_away(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "CHECK_VALID_SECONDS", 0.0)
    batches = StoreThatLeaves(store)
    backlog = Backlog(batches, lambda stream: 1)
    assert backlog.bytes("s") == 100
    batches.away = True
    assert backlog.bytes("s") == 100
    assert backlog.waiting_bytes(0) == {"s": 100}


def test_an_unknown_backlog_is_asked_for_once(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each caller would wait for the store, one after the other."""
    monkeypatch.setattr(admission, "CHECK_VALID_SECONDS", 3_600.0)
    batches = StoreThatLeaves(store)
    batches.away = True
    backlog = Backlog(batches, lambda stream: 0)
    for _ in range(5):
        with pytest.raises(Unavailable):
            backlog.bytes("s")
    assert batches.asked == 1
