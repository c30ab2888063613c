"""Segments: the NDJSON files that hold raw rows, written once and forced to disk before they are logged.

In: lines. Out: a file below the inbox folder, `<stream>/<shard>.d/<name>.ndjson`, and its lines again; earlier releases
wrote `<stream>/<name>.ndjson`, which is read as well. Invariant: a file that the batch log names was
complete on disk, with its folder's entry, before it was logged; a file whose bytes have changed gives no row.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.lake.storage.durable_writes import sync_folder

CHUNK_BYTES = 2**20
SHARD_FILES = 4096
"""Files of a shard, a folder within the stream's: a folder of millions is slow in most file systems."""
SHARD_SUFFIX = ".d"
"""Of the name of a shard; no stream has a dot in its name."""
MAX_TRIES = 5


class DamagedSegment(Exception):
    """A segment whose bytes are not those in the batch log."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of raw rows on disk."""

    name: str
    """Its path below the inbox folder."""
    bytes: int
    digest: str
    """SHA-256 of its content, in hexadecimal."""


@dataclass(slots=True)
class _Shard:
    """The shard that a stream's next files go to."""

    path: str
    """Below the inbox folder."""
    files: int = 0


class Segments:
    """Writes segments below one folder. Thread-safe: no two files have one name, and the number of files of a shard is
    only about right."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._safe: set[str] = set()
        self._shards: dict[str, _Shard] = {}

    def write(self, stream: str, lines: Sequence[bytes]) -> Segment:
        """Write the lines to a new file and force it to disk. Raises OSError; then the file is removed or, if that
        fails too, stays without being logged."""
        self._open(stream)
        content = b"".join(line + b"\n" for line in lines)
        name = self._write_file(stream, content)
        return Segment(name, len(content), hashlib.sha256(content).hexdigest())

    def _write_file(self, stream: str, content: bytes) -> str:
        """Write a file into the stream's shard; returns its path below the inbox folder."""
        for attempt in range(MAX_TRIES):
            shard = self._open_shard(stream)
            name = f"{shard.path}/{uuid.uuid4().hex}.ndjson"
            try:
                _write_and_sync(self._folder / name, content)
                sync_folder(self._folder / shard.path)
            except FileNotFoundError:
                self._shards.pop(stream, None)  # all its files were trimmed, and so was the shard
                if attempt == MAX_TRIES - 1:
                    raise
            except OSError:
                self.remove(name)
                raise
            else:
                shard.files += 1
                break
        return name

    def _open_shard(self, stream: str) -> _Shard:
        """The shard that has room, whose own entry is on disk."""
        shard = self._shards.get(stream)
        if shard is None or shard.files >= SHARD_FILES:
            shard = _Shard(f"{stream}/{uuid.uuid4().hex[:8]}{SHARD_SUFFIX}")
            (self._folder / shard.path).mkdir(exist_ok=True)
            sync_folder(self._folder / stream)
            self._shards[stream] = shard
        return shard

    def remove(self, name: str) -> None:
        """Remove a file that the log does not name; if that fails, the next start of the server does."""
        with suppress(OSError):
            (self._folder / name).unlink()

    def _open(self, stream: str) -> None:
        """Create the stream's folder. Its entry and those of the folders above are forced to disk once per process,
        since an earlier process may have created them and died before it could."""
        if stream in self._safe:
            return
        (self._folder / stream).mkdir(parents=True, exist_ok=True)
        sync_folder(self._folder)
        sync_folder(self._folder.parent)
        with suppress(PermissionError):  # the project's folder: a process that may not read it did not create it
            sync_folder(self._folder.parent.parent)
        self._safe.add(stream)


def remove_segments(folder: Path, names: Iterable[str]) -> None:
    """Remove files that no flow needs, and the shards that are empty then. Raises OSError."""
    shards: set[Path] = set()
    for name in names:
        path = folder / name
        path.unlink(missing_ok=True)
        if path.parent.name.endswith(SHARD_SUFFIX):
            shards.add(path.parent)
    for shard in shards:
        remove_empty_shard(shard)


def remove_empty_shard(shard: Path) -> None:
    """Remove a shard if it is empty; a writer that is about to use it makes another one."""
    with suppress(OSError):
        shard.rmdir()


def find_damage(path: Path, size: int, digest: str | None) -> str | None:
    """What is wrong with a segment; None if it is intact. Raises OSError for an error that is not the file's."""
    try:
        with _open_file(path) as file:
            found = os.fstat(file).st_size
            if found != size:
                return f"it has {found} bytes, the batch log says {size}"
            if digest is not None and _sha256(_read_chunks(file, size)) != digest:
                return "its bytes are not those that were written"
    except OSError as error:
        return _describe_damage(path, error)
    return None


def read_segment(path: Path, size: int, digest: str | None) -> Iterator[bytes]:
    """The lines of an intact segment. Raises DamagedSegment, OSError."""
    with _open_file(path) as file:
        content = b"".join(_read_chunks(file, size + 1))
    if len(content) != size or (digest is not None and _sha256([content]) != digest):
        raise DamagedSegment(f"{path.name} is not what the batch log says: {size} bytes, {digest}")
    return iter(content[:-1].split(b"\n") if content else ())


def salvage_lines(path: Path, size: int) -> Iterator[bytes]:
    """The lines that can be read of a damaged segment: for the quarantine, never for tables."""
    read: list[bytes] = []
    with suppress(OSError), _open_file(path) as file:
        read.extend(_read_chunks(file, size))
    return iter(b"".join(read).removesuffix(b"\n").split(b"\n"))


def _write_and_sync(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _open_file(path: Path) -> Iterator[int]:
    """A descriptor of a regular file. Other kinds are refused, since reading a pipe would wait forever. Raises
    OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(f"{path.name} is not a file")
        yield descriptor
    finally:
        os.close(descriptor)


def _read_chunks(descriptor: int, most: int) -> Iterator[bytes]:
    while most > 0 and (chunk := os.read(descriptor, min(most, CHUNK_BYTES))):
        most -= len(chunk)
        yield chunk


def _sha256(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _describe_damage(path: Path, error: OSError) -> str:
    """The damage that an error means for the file. Raises the error again if it is about the machine or the whole
    folder: then the segment is intact, and can be read later."""
    shard = path.parent
    stream = shard.parent if shard.name.endswith(SHARD_SUFFIX) else shard
    if error.errno in _TRANSIENT_ERRNOS or not stream.is_dir():
        raise error
    return f"it cannot be read: {error.strerror or error}"


_TRANSIENT_ERRNOS = frozenset(
    {
        errno.EAGAIN,
        errno.EINTR,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOTCONN,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""Errors that do not mean that the file is damaged."""
