"""A disk that is really full: nothing is acknowledged that is not kept, nothing is kept that was refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.errors import StorageFull
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segments import read_segment
from penstock.model.settings import InboxSettings
from penstock.state.batches import BatchLog
from penstock.state.database import Database, open_database

EAGER = InboxSettings(min_free_bytes=0)
LINE = b"x" * 10_000


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"needs root and `mount` for a small disk of its own: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def rows(folder: Path, batches: BatchLog) -> list[bytes]:
    found = batches.read_after("s", 0, 2**62, 2**62)
    return [line for each in found for line in read_segment(folder / each.segment, each.bytes, each.digest)]


def files(folder: Path) -> int:
    return sum(1 for path in folder.rglob("*.ndjson"))


def post_until_full(inbox: Inbox) -> list[bytes]:
    """What was acknowledged before the first refusal."""
    kept: list[bytes] = []
    for number in range(10_000):
        row = b"%d-" % number + LINE
        try:
            inbox.append("s", [row], f"k{number}")
        except StorageFull:
            return kept
        kept.append(row)
    raise AssertionError


def fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


@pytest.mark.parametrize("full", ["inbox", "store"])
def test_a_full_disk(tmp_path: Path, small: Path, full: str) -> None:
    """Of the inbox, or only of the state store: refused, and taken again when there is room."""
    folder = (small if full == "inbox" else tmp_path) / "inbox"
    database = open_database(f"sqlite:///{(tmp_path if full == 'inbox' else small) / 'state.db'}")
    batches = BatchLog(database)
    inbox = Inbox(folder, batches, lambda batch: None, EAGER)
    inbox.append("s", [b"first"], None)
    ballast = small / "ballast"
    if full == "store":
        fill(ballast)
    kept = [b"first", *post_until_full(inbox)]
    assert (rows(folder, batches), files(folder)) == (kept, len(kept))
    with pytest.raises(StorageFull):
        inbox.append("s", [b"y" * 2_000_000], None)
    ballast.unlink(missing_ok=True)
    _make_room(folder, database, full)
    assert inbox.append("s", [b"again"], "again") == len(kept) + 1
    assert rows(folder, batches)[-1] == b"again"
    inbox.close()
    database.close()


def _make_room(folder: Path, database: Database, full: str) -> None:
    """As an administrator would: a larger disk."""
    if full == "inbox":
        subprocess.run(["mount", "-o", "remount,size=8m", str(folder.parent)], check=True)


CHILD = """
import json, resource, sys
from pathlib import Path
from penstock.errors import StorageFull
from penstock.flow.inbox.inbox import Inbox
from penstock.model.settings import InboxSettings
from penstock.state.batches import BatchLog
from penstock.state.database import open_database

home = Path(sys.argv[1])
database = open_database(f"sqlite:///{home / 'state.db'}")
inbox = Inbox(home / "inbox", BatchLog(database), lambda batch: None, InboxSettings(min_free_bytes=0))
inbox.append("s", [b"before"], None)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
told = []
for number, size in enumerate([700_000, 10, 650_000, 10]):
    try:
        told.append(inbox.append("s", [b"%d-" % number + b"x" * size], None))
    except StorageFull as error:
        told.append(error.status)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
told.append(inbox.append("s", [b"x" * 700_000], None))
inbox.close()
print(json.dumps([told, sum(1 for path in (home / "inbox").rglob("*.ndjson")), BatchLog(database).head("s")]))
"""


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """EFBIG: as with a quota, some bodies fit and others do not."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout) == [[507, 2, 507, 3, 4], 4, 4]
