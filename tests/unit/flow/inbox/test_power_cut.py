"""The power goes at every write, fsync and commit: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import get_args

import pytest

from penstock.errors import PenstockError
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segments import find_damage, read_segment
from penstock.state.batches import BatchLog
from penstock.state.database import open_database
from unit.flow.inbox.disk import Disk, PowerCut, Rest, wipe

STREAMS = ("s", "t", "s")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new state store, made once."""
    path = tmp_path_factory.mktemp("store") / "state.db"
    open_database(f"sqlite:///{path}").close()
    return path


def live(disk: Disk, home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[bytes], bool]:
    """Post bodies until the power goes. Returns the rows that were acknowledged, and whether it went."""
    acknowledged: list[bytes] = []
    database = open_database(f"sqlite:///{home / 'state.db'}")
    gone = False
    with monkeypatch.context() as patched:
        disk.watch(patched)
        inbox: Inbox | None = None
        try:
            inbox = Inbox(home / "inbox", BatchLog(database), lambda batch: None)
            for number, stream in enumerate(STREAMS):
                rows = [b"%s-%d-%d" % (stream.encode(), number, row) for row in range(3)]
                inbox.append(stream, rows, f"k{number}")
                acknowledged += rows
        except (PowerCut, PenstockError):
            gone = True
    if inbox is not None:
        inbox.close()
    database.close()
    return acknowledged, gone


def check(home: Path, acknowledged: list[bytes]) -> None:
    """The next life: every acknowledged row once, every logged segment whole, no other file."""
    if not (home / "state.db").exists():
        assert not acknowledged, "the folder of the state itself was lost"
        return
    database = open_database(f"sqlite:///{home / 'state.db'}")
    batches = BatchLog(database)
    Inbox(home / "inbox", batches, lambda batch: None).close()
    logged = [batch for stream in set(STREAMS) for batch in batches.read_after(stream, 0, 2**62, 2**62)]
    found: list[bytes] = []
    for batch in logged:
        path = home / "inbox" / batch.segment
        assert find_damage(path, batch.bytes, batch.digest) is None
        found += read_segment(path, batch.bytes, batch.digest)
    database.close()
    assert len(found) == len(set(found))
    assert set(acknowledged) <= set(found)
    there = {str(path.relative_to(home / "inbox")) for path in (home / "inbox").rglob("*.ndjson")}
    assert there == {batch.segment for batch in logged}


def attack(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch, blind: str = "") -> int:
    """Cut the power at every moment there is. Returns how many there are."""
    for cut in itertools.count(1):
        root = tmp_path / "project"
        home = root / ".penstock"
        root.mkdir()
        disk = Disk(root, cut, blind)
        home.mkdir()
        shutil.copy(store, home / "state.db")
        acknowledged, gone = live(disk, home, monkeypatch)
        for rest in get_args(Rest):
            disk.after(tmp_path / rest, rest)
            check(tmp_path / rest / ".penstock", acknowledged)
            wipe(tmp_path / rest)
        wipe(root)
        if not gone:
            assert len(acknowledged) == 3 * len(STREAMS)
            return cut
    raise AssertionError


def test_what_was_acknowledged_survives_a_power_cut_at_any_moment(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert attack(tmp_path, store, monkeypatch) > 5 * len(STREAMS)


@pytest.mark.parametrize("blind", ["files", "s", "inbox", ".penstock", "project"])
def test_a_disk_that_ignores_fsync_is_noticed(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch, blind: str
) -> None:
    """The test above can fail: it does where the bytes, or the entries, are not forced to the disk."""
    with pytest.raises((AssertionError, FileNotFoundError)):
        attack(tmp_path, store, monkeypatch, blind)
