"""Damage is decided once, for every table of the stream, and told once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from penstock.flow.inbox.segment_check import SegmentCheck
from penstock.flow.inbox.segments import Segments
from penstock.state.batches import Batch, BatchLog
from penstock.state.database import Database, open_database
from penstock.state.logs.operations import OperationsLog


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.close()


class Stream:
    """An inbox with some batches."""

    def __init__(self, folder: Path, database: Database):
        self.folder = folder / "inbox"
        self.batches = BatchLog(database)
        self.operations = OperationsLog(database)
        for number in range(4):
            made = Segments(self.folder).write("s", [b'{"a": %d}' % number])
            now = datetime.now(timezone.utc)
            self.batches.append("s", made.name, 1, made.bytes, now, (), made.digest)

    def path(self, number: int) -> Path:
        return self.folder / self.logged()[number - 1].segment

    def logged(self) -> tuple[Batch, ...]:
        return self.batches.read_after("s", 0, 2**62, 2**62)

    def checked(self) -> list[int]:
        """The numbers of those that are damaged, as a server that just started sees them."""
        intact = SegmentCheck(self.folder, self.batches, self.operations)
        return [batch.number for batch in intact.check(self.logged()) if batch.damage]


@pytest.fixture
def stream(tmp_path: Path, database: Database) -> Stream:
    return Stream(tmp_path, database)


def test_whole_segments_pass_as_they_are(stream: Stream, tmp_path: Path) -> None:
    intact = SegmentCheck(stream.folder, stream.batches, stream.operations)
    assert intact.check(stream.logged()) == stream.logged()
    assert stream.batches.list_condemned(10) == ()


def test_a_decision_stays_when_the_file_can_be_read_again(stream: Stream) -> None:
    """A disk's cable that came loose."""
    content = stream.path(2).read_bytes()
    stream.path(2).unlink()
    assert stream.checked() == [2]
    stream.path(2).parent.joinpath(stream.path(2).name).write_bytes(content)
    assert stream.checked() == [2]
    assert [(batch.number, batch.rows) for batch in stream.batches.list_condemned(10)] == [(2, 1)]
    named = stream.batches.list_condemned(10)[0]
    assert named.damage is not None
    assert named.damage.startswith(f"damaged segment {named.segment}: it cannot be read: No such file")


def test_it_is_told_once(stream: Stream, caplog: pytest.LogCaptureFixture) -> None:
    stream.path(3).write_bytes(b"")
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert stream.checked() == [3]
    assert len([record for record in caplog.records if "damaged segment" in record.message]) == 1
    told = [each for each in stream.operations.recent(10) if each.event_type == "damaged_segment"]
    assert [(each.datasource_name, each.result, each.rows) for each in told] == [("s", "error", 1)]
    assert told[0].error == stream.logged()[2].damage


def test_a_disk_that_is_not_mounted_condemns_nothing(stream: Stream, tmp_path: Path) -> None:
    stream.folder.rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError):
        stream.checked()
    (tmp_path / "elsewhere").rename(stream.folder)
    assert stream.checked() == []
