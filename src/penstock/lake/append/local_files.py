"""New files of a table on this machine's disk, written as Spark's `DurableFiles` writes them.

In: a location and the bytes of a file. Out: the file, and beside it the file of checksums that Hadoop reads it by.
Invariant: once `sync` returns, all files and their names are on disk (fsync), so a catalog may name them; every
byte that is damaged later is noticed when Spark reads it. Source: ChecksumFileSystem of Hadoop 3.
"""

from __future__ import annotations

import io
import os
import struct
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

from pyiceberg.io import InputFile, OutputFile, OutputStream

from penstock.lake.storage.durable_writes import sync_folder
from penstock.lake.storage.local_paths import local_path

CHECKED_BYTES = 512
_MAGIC = b"crc\0"
_reachable: set[Path] = set()
"""Folders whose way from the top of their disk this process has forced to it."""
_guard = threading.Lock()
MOST_REMEMBERED = 10_000
MOST_OPEN = 64
"""Files that are written and not forced to disk yet, at most."""
_forcing = ThreadPoolExecutor(8, "append")
"""Forces files to disk at once, since a file system does several in the time that one takes."""


class LocalFiles:
    """The files of one commit."""

    def __init__(self) -> None:
        self._written: list[Path] = []
        self._open: list[int] = []
        self._folders: dict[Path, None] = {}

    def output(self, location: str) -> OutputFile:
        """A file that PyIceberg can write."""
        return _NewFile(location, self)

    def write(self, location: str, content: bytes | memoryview) -> None:
        """Write a file that does not exist yet. Raises OSError."""
        path = _path_of(location)
        _make_folder(path.parent)
        checksums = _checksums_beside(path)
        self._written.append(path)
        self._folders[path.parent] = None
        # The checksums first: beside a file without them nothing is checked.
        self._write(checksums, _checksums_of(content))
        self._write(path, content)

    def _write(self, path: Path, content: bytes | memoryview) -> None:
        if len(self._open) >= MOST_OPEN:
            self._sync_files()
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._open.append(file)
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]

    def sync(self) -> None:
        """Force all files and their names to disk. Raises OSError."""
        self._sync_files()
        folders = tuple(self._folders)
        list(_forcing.map(sync_folder, folders))
        for folder in folders:
            _make_reachable(folder)
        self._folders.clear()

    def _sync_files(self) -> None:
        forced = [_forcing.submit(os.fsync, each) for each in self._open]
        wait(forced)
        self._close()
        for each in forced:
            each.result()

    def _close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def remove(self) -> None:
        """Delete the files, of a commit that was refused."""
        self._close()
        for path in self._written:
            remove_file(path)


def remove_file(path: Path) -> None:
    """Delete a file and its checksums; what cannot be deleted is found as orphan files."""
    for each in (path, _checksums_beside(path)):
        with suppress(OSError):
            each.unlink(missing_ok=True)


def _checksums_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


class _NewFile(OutputFile):
    def __init__(self, location: str, files: LocalFiles):
        super().__init__(location)
        self._files = files
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def exists(self) -> bool:
        return _path_of(self.location).exists()

    def to_input_file(self) -> InputFile:
        raise NotImplementedError("what was just written is not read again")

    def create(self, overwrite: bool = False) -> OutputStream:  # noqa: FBT001, FBT002 - as PyIceberg calls it
        return _Content(self)

    def keep(self, content: bytes) -> None:
        self._length = len(content)
        self._files.write(self.location, content)


class _Content(io.BytesIO):
    """What is written to a file, which is made when this is closed."""

    def __init__(self, file: _NewFile):
        super().__init__()
        self._file = file

    def close(self) -> None:
        if not self.closed:
            self._file.keep(self.getvalue())
        super().close()


def _path_of(location: str) -> Path:
    path = local_path(location)
    if path is None:
        raise OSError(f"{location} is not on this machine's disk")
    return path


def _checksums_of(content: bytes | memoryview) -> bytes:
    view = memoryview(content)
    parts = [zlib.crc32(view[at : at + CHECKED_BYTES]) for at in range(0, len(view), CHECKED_BYTES)]
    return _MAGIC + struct.pack(f">I{len(parts)}I", CHECKED_BYTES, *parts)


def _make_folder(folder: Path) -> None:
    if not folder.exists():
        _reachable.discard(folder)  # it was there before, and somebody removed it
        folder.mkdir(parents=True, exist_ok=True)


def _make_reachable(folder: Path) -> None:
    """Force the entries of the folders that lead to this one to disk, once in this process: an earlier one may have
    made them and been killed before it could."""
    if folder in _reachable:
        return
    disk = folder.stat().st_dev
    for above in folder.parents:
        if above.stat().st_dev != disk:
            break
        with suppress(PermissionError):  # whoever may not read a folder did not make what is in it
            sync_folder(above)
    with _guard:
        if len(_reachable) >= MOST_REMEMBERED:
            _reachable.clear()
        _reachable.add(folder)
