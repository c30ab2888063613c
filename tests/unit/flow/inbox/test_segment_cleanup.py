"""Torn tails: what no log names is cut, and nothing else."""

from __future__ import annotations

import os
import time
import tracemalloc
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa

from penstock.errors import Fenced
from penstock.flow.inbox import segment_cleanup
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segment_cleanup import remove_unlogged_segments
from penstock.flow.inbox.segments import Segments
from penstock.state.batches import BatchLog
from penstock.state.database import Database, open_database
from penstock.state.lease import Lease
from penstock.state.schema import batches as table

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.close()


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def keep(folder: Path, batches: BatchLog, stream: str) -> str:
    made = Segments(folder).write(stream, [b"{}"])
    return batches.append(stream, made.name, 1, made.bytes, NOW, (), made.digest).segment


def tear(folder: Path, stream: str, content: bytes = b"{}\n{") -> str:
    """As if a server had died before it could log it."""
    name = f"{stream}/{uuid.uuid4().hex}.ndjson"
    (folder / stream).mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    before = time.time_ns() - 10**9
    os.utime(folder / name, ns=(before, before))
    return name


def test_opening_cuts_what_the_log_does_not_name(tmp_path: Path, database: Database) -> None:
    folder, batches = tmp_path / "inbox", BatchLog(database)
    kept = {keep(folder, batches, "s"), keep(folder, batches, "s"), keep(folder, batches, "other")}
    tear(folder, "s")
    tear(folder, "s", b"")
    tear(folder, "never logged")
    for name in ("s/notes.txt", "s/UPPER.ndjson", "README"):
        (folder / name).write_text("somebody's own")
        kept.add(name)
    (folder / "s" / f"{uuid.uuid4().hex}.ndjson").mkdir()
    Inbox(folder, batches, lambda batch: None).close()
    assert files(folder) == kept


def test_both_layouts_are_cleaned(tmp_path: Path, database: Database) -> None:
    """Files of an earlier release lie in the stream's folder, ours in shards of it; an empty shard goes."""
    folder, batches = tmp_path / "inbox", BatchLog(database)
    kept = {keep(folder, batches, "s")}
    shard = Path(next(iter(kept))).parent.name
    old = f"s/{uuid.uuid4().hex}.ndjson"
    (folder / old).write_bytes(b"{}\n")
    batches.append("s", old, 1, 3, NOW, ())
    tear(folder, "s")
    tear(folder, f"s/{shard}")
    tear(folder, "s/01234567.d")
    assert remove_unlogged_segments(folder, batches) == 3
    assert files(folder) == kept | {old}
    assert [each.name for each in (folder / "s").iterdir() if each.is_dir()] == [shard]


def test_the_log_of_a_stream_is_read_once(tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_cleanup, "MAX_NAMES", 2)
    folder, batches, asked = tmp_path / "inbox", BatchLog(database), []
    for _ in range(9):
        keep(folder, batches, "s")
    ask = batches.logged_segments
    monkeypatch.setattr(batches, "logged_segments", lambda stream: asked.append(stream) or ask(stream))
    assert remove_unlogged_segments(folder, batches) == 0
    assert asked == ["s"]


def test_a_segment_of_the_same_name_in_another_stream_is_not_this_one(tmp_path: Path, database: Database) -> None:
    folder, batches = tmp_path / "inbox", BatchLog(database)
    kept = keep(folder, batches, "s")
    (folder / "t").mkdir()
    (folder / "t" / Path(kept).name).write_bytes(b"{}\n")
    os.utime(folder / "t" / Path(kept).name, ns=(0, 0))
    assert remove_unlogged_segments(folder, batches) == 1
    assert files(folder) == {kept}


def test_what_is_as_young_as_this_server_stays(tmp_path: Path, database: Database) -> None:
    """Whoever writes it, it may be logged yet. By the disk's clock: that of the machine may have jumped."""
    folder = tmp_path / "inbox"
    name = tear(folder, "s")
    later = time.time_ns() + 3600 * 10**9
    os.utime(folder / name, ns=(later, later))
    assert remove_unlogged_segments(folder, BatchLog(database)) == 0
    assert files(folder) == {name}


def test_a_server_that_lost_the_lease_cuts_nothing(tmp_path: Path, database: Database) -> None:
    folder, lease = tmp_path / "inbox", Lease(database)
    lease.take(lease.read(), {})
    other = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    Lease(other).take(Lease(other).read(), {})
    name = tear(folder, "s")
    with pytest.raises(Fenced):
        remove_unlogged_segments(folder, BatchLog(database))
    assert files(folder) == {name}
    assert remove_unlogged_segments(folder, BatchLog(other)) == 1
    other.close()


@pytest.mark.parametrize("lot", [1, 7, 50_000])
def test_lots_of_any_size_cut_the_same(
    tmp_path: Path, database: Database, lot: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_cleanup, "MAX_NAMES", lot)
    folder, batches = tmp_path / "inbox", BatchLog(database)
    kept = {keep(folder, batches, "s") for _ in range(20)}
    for _ in range(20):
        tear(folder, "s", b"{")
    assert remove_unlogged_segments(folder, batches) == 20
    assert files(folder) == kept


def test_many_files_in_bounded_memory(tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_cleanup, "MAX_NAMES", 5_000)
    folder, count = tmp_path / "inbox", 30_000
    (folder / "s").mkdir(parents=True)
    names = [f"s/{uuid.uuid4().hex}.ndjson" for _ in range(count)]
    for name in names:
        os.close(os.open(folder / name, os.O_CREAT | os.O_WRONLY))
    made = {"stream": "s", "rows": 1, "bytes": 0, "received_at": NOW}
    with database.write() as connection:
        rows = [{**made, "number": at, "segment": name} for at, name in enumerate(names[10:], 1)]
        connection.execute(sa.insert(table), rows)
    del names, rows
    time.sleep(0.02)
    tracemalloc.start()
    assert remove_unlogged_segments(folder, BatchLog(database)) == 10
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(os.listdir(folder / "s")) == count - 10
    assert peak < 4 * 2**20, "the names alone are more"
