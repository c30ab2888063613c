"""New files of a table: on disk with their names, and with the checksums that Hadoop reads them by."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import zlib
from pathlib import Path

import pytest

from penstock.lake.append import local_files
from penstock.lake.append.local_files import CHECKED_BYTES, LocalFiles


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that are forced to disk, in their order."""
    found: list[Path] = []
    monkeypatch.setattr(local_files, "sync_folder", found.append)
    return found


def test_checksums_are_beside_a_file(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5
    LocalFiles().write(f"file:{tmp_path}/a.parquet", content)
    assert (tmp_path / "a.parquet").read_bytes() == content
    parts = [content[at : at + CHECKED_BYTES] for at in range(0, len(content), CHECKED_BYTES)]
    expected = b"crc\0" + struct.pack(">I3I", CHECKED_BYTES, *map(zlib.crc32, parts))
    assert (tmp_path / ".a.parquet.crc").read_bytes() == expected


def test_the_way_to_a_new_folder_is_on_disk(tmp_path: Path, synced: list[Path]) -> None:
    files, folder = LocalFiles(), tmp_path / "data" / "day=1"
    files.write(f"{folder}/a", b"1")
    files.sync()
    assert synced[:3] == [folder, folder.parent, tmp_path]
    synced.clear()
    files.write(f"{folder}/b", b"2")
    files.sync()
    assert synced == [folder], "the way to it is known"
    shutil.rmtree(folder)
    synced.clear()
    files.write(f"{folder}/c", b"3")
    files.sync()
    assert synced[:2] == [folder, folder.parent], "somebody removed the folder: its name is new"


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    LocalFiles().write(f"{tmp_path}/a", b"1")
    with pytest.raises(FileExistsError):
        LocalFiles().write(f"{tmp_path}/a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_the_files_of_a_refused_commit_are_removed(tmp_path: Path) -> None:
    files = LocalFiles()
    files.write(f"{tmp_path}/a", b"1")
    with files.output(f"{tmp_path}/b").create() as stream:
        stream.write(b"2")
    assert len(list(tmp_path.iterdir())) == 4
    files.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fails_is_told_once_all_files_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def fail(file: int) -> None:
        tried.append(file)
        raise OSError(errno.EIO, "the disk fails")

    files = LocalFiles()
    files.write(f"{tmp_path}/a", b"1")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the disk fails"):
        files.sync()
    assert len(tried) == 2, "the file and its checksums"


def test_many_files_are_not_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_files, "MOST_OPEN", 4)
    files, before = LocalFiles(), len(os.listdir("/proc/self/fd"))
    for number in range(20):
        files.write(f"{tmp_path}/{number}", b"1")
        assert len(os.listdir("/proc/self/fd")) <= before + 4
    files.sync()
    assert len(os.listdir("/proc/self/fd")) == before
