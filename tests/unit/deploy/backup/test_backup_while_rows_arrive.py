"""Backups one after the other while rows are posted and landed at full speed, without a JVM.

The landing is a small one on PyIceberg: it appends the rows of one batch at a time, with the batch's number in the
snapshot, and like Penstock's tables its table keeps few old metadata files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

from penstock.deploy.backup.backup import BackupSource, make_backup
from penstock.deploy.backup.restore import restore_backup
from penstock.deploy.ownership.storage_claim import claim_storage
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segments import read_segment
from penstock.lake.spark.catalog import pyiceberg_catalog_properties
from penstock.model.settings import Settings
from penstock.state.batches import BatchLog
from penstock.state.database import Database, open_database

SETTINGS = Settings()
STREAM, TABLE, WATERMARK = "events", ("penstock", "events"), "watermark"
ROWS = pa.schema([("id", pa.int64())])
FEW_FILES = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}
BACKUPS, MOST_BATCHES = 4, 100_000


def catalog_of(home: Path) -> Catalog:
    return load_catalog("lake", **{**pyiceberg_catalog_properties(SETTINGS, home), "init_catalog_tables": "true"})


class Project:
    """What a server does with posted rows."""

    def __init__(self, home: Path):
        self.home = home
        self.database: Database = open_database(f"sqlite:///{home / 'state.db'}")
        claim_storage(SETTINGS, home, self.database)
        self.log = BatchLog(self.database)
        self.inbox = Inbox(home / "inbox", self.log, lambda batch: None)
        self.catalog = catalog_of(home)
        self.posted = 0

    def post(self) -> None:
        self.inbox.append(STREAM, [str(self.posted).encode()], None)
        self.posted += 1

    def land(self) -> None:
        """Append the rows of the next batch, if there is one."""
        table = self.catalog.load_table(TABLE)
        for batch in self.log.read_after(STREAM, self.watermark(), 1, 1):
            lines = read_segment(self.home / "inbox" / batch.segment, batch.bytes, batch.digest)
            rows = pa.table({"id": [int(line) for line in lines]}, schema=ROWS)
            table.append(rows, snapshot_properties={WATERMARK: str(batch.number)})

    def watermark(self) -> int:
        snapshot = self.catalog.load_table(TABLE).current_snapshot()
        return int(snapshot.summary[WATERMARK] or 0) if snapshot is not None and snapshot.summary is not None else 0

    def ids(self) -> list[int]:
        return sorted(self.catalog.load_table(TABLE).scan().to_arrow()["id"].to_pylist())

    def close(self) -> None:
        self.inbox.close()
        self.database.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    home = tmp_path / "saved" / ".penstock"
    home.mkdir(parents=True)
    catalog = catalog_of(home)
    catalog.create_namespace("penstock")
    catalog.create_table(TABLE, ROWS, properties=FEW_FILES)
    made = Project(home)
    yield made
    made.close()


@contextmanager
def repeating(*actions: Callable[[], None]) -> Iterator[None]:
    """Do each action again and again, in a thread of its own, until the block ends. Raises what went wrong."""
    over, failures = threading.Event(), list[BaseException]()

    def run(action: Callable[[], None]) -> None:
        try:
            while not over.is_set():
                action()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(action,), daemon=True) for action in actions]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert failures == []


def test_each_backup_has_the_rows_acknowledged_before_it_once(project: Project, tmp_path: Path) -> None:
    source = BackupSource(SETTINGS, project.home, project.database, nullcontext)
    acknowledged = []
    with repeating(project.post, project.land):
        for number in range(BACKUPS):
            acknowledged.append(project.posted)
            make_backup(source, tmp_path / f"backup {number}")
    for number, before in enumerate(acknowledged):
        folder = tmp_path / f"restored {number}"
        restore_backup(tmp_path / f"backup {number}", folder, ".penstock")
        restored = Project(folder / ".penstock")
        landed = restored.ids()
        assert landed == list(range(len(landed))), "the rows of the table are not the first ones"
        assert restored.watermark() <= restored.log.head(STREAM), "the table knows a batch that the log does not"
        while restored.watermark() < restored.log.head(STREAM):
            restored.land()
        rows = restored.ids()
        assert rows == list(range(len(rows)))
        assert len(rows) >= before
        restored.close()
    assert acknowledged[-1] > 0
