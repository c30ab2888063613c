"""The catalog reads a metadata file once, and never answers with another file than the one that is named now."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchTableError, ValidationError
from pyiceberg.serializers import FromInputFile

from penstock.lake.spark import cached_catalog as module
from penstock.lake.spark.cached_catalog import CachedSqlCatalog

ROWS = pa.table({"a": [1], "_seq": [1]})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "a folder of ünusual name"
    folder.mkdir()
    return folder


@pytest.fixture
def catalog(home: Path) -> Iterator[CachedSqlCatalog]:
    made = open_catalog(home)
    made.create_namespace("n")
    yield made
    made.engine.dispose()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The metadata files that are read from now on."""
    found: list[str] = []
    original = FromInputFile.table_metadata

    def count(file: object) -> object:
        found.append(file.location)  # type: ignore[attr-defined]
        return original(file)  # type: ignore[arg-type]

    monkeypatch.setattr(FromInputFile, "table_metadata", staticmethod(count))
    return found


def open_catalog(home: Path) -> CachedSqlCatalog:
    return CachedSqlCatalog("c", uri=f"sqlite:///{home / 'c.db'}", warehouse=(home / "w").as_uri())


def test_a_file_is_read_once_and_each_commit_is_seen(catalog: CachedSqlCatalog, read: list[str]) -> None:
    catalog.create_table("n.t", schema=ROWS.schema)
    for snapshots in range(1, 4):
        catalog.load_table("n.t").append(ROWS)
        read.clear()
        for _ in range(5):
            assert len(catalog.load_table(("n", "t")).metadata.snapshots) == snapshots
        assert len(read) <= 1
    assert catalog.load_table("n.t").scan().to_arrow().num_rows == 3


def test_commits_of_another_process_are_seen(catalog: CachedSqlCatalog, home: Path) -> None:
    catalog.create_table("n.t", schema=ROWS.schema)
    assert catalog.load_table("n.t").metadata.snapshots == []
    other = open_catalog(home)
    other.load_table("n.t").append(ROWS)
    assert len(catalog.load_table("n.t").metadata.snapshots) == 1
    other.drop_table("n.t")
    other.engine.dispose()
    with pytest.raises(NoSuchTableError):
        catalog.load_table("n.t")


@pytest.mark.parametrize("damage", ["empty", "gone"])
def test_damage_is_seen(catalog: CachedSqlCatalog, home: Path, damage: str) -> None:
    location = catalog.create_table("n.t", schema=ROWS.schema).metadata_location
    catalog.load_table("n.t")
    (path,) = home.parent.rglob(location.rpartition("/")[2])
    if damage == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
    with pytest.raises((ValidationError, FileNotFoundError)):
        catalog.load_table("n.t")


def test_a_file_that_was_put_back_is_read(catalog: CachedSqlCatalog, home: Path, read: list[str]) -> None:
    """From a backup that keeps the times of files: its size and its time of change are those of the damaged one."""
    location = catalog.create_table("n.t", schema=ROWS.schema).metadata_location
    (path,) = home.parent.rglob(location.rpartition("/")[2])
    whole, times = path.read_bytes(), path.stat()
    path.write_bytes(b"x" * len(whole))
    with pytest.raises(ValidationError):
        catalog.load_table("n.t")
    path.write_bytes(whole)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert catalog.load_table("n.t").metadata.snapshots == []
    before = path.stat()
    path.write_bytes(b"x" * len(whole))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ValidationError):
        catalog.load_table("n.t")


def test_a_remote_file_is_read_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    first = module._file_stamp("s3://bucket/t/metadata/1.json")
    assert first == module._file_stamp("s3://bucket/t/metadata/1.json")
    now[0] += module.REMOTE_SECONDS
    assert first != module._file_stamp("s3://bucket/t/metadata/1.json")


def test_the_files_used_last_are_kept(
    catalog: CachedSqlCatalog, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    for number in range(4):
        catalog.create_table(f"n.t{number}", schema=ROWS.schema)
        catalog.load_table(f"n.t{number}")
    catalog.load_table("n.t0")
    monkeypatch.setattr(module, "MOST_BYTES", catalog._bytes * 3 // 4)
    catalog.create_table("n.last", schema=ROWS.schema)
    catalog.load_table("n.last")
    read.clear()
    catalog.load_table("n.t0")
    assert read == []


def test_what_is_kept_is_bounded(catalog: CachedSqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        catalog.create_table(f"n.t{number}", schema=ROWS.schema)
        catalog.load_table(f"n.t{number}")
    assert len(catalog._files) == 10
    monkeypatch.setattr(module, "MOST_BYTES", catalog._bytes // 2)
    catalog.create_table("n.last", schema=ROWS.schema)
    catalog.load_table("n.last")
    assert len(catalog._files) < 7
    assert catalog._bytes == sum(each.bytes for each in catalog._files.values())
