"""The disk of a recorded program, at any moment of its life, and what a power cut at that moment could leave of it.

In: the log that disk_recorder.c writes. Out: `Disk`, moved on record by record; `remains` gives files as bytes by path.
Invariant: only POSIX is relied on: the bytes of a file survive if they were forced to disk (fsync of the file), its
name if its folder was; anything else may be on disk or not, each write and each name by itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, Union

import psutil

SOURCE = Path(__file__).with_name("disk_recorder.c")
COMPILERS = ("cc", "gcc", "clang")
HEAD = struct.Struct("<cQQII")
Left: TypeAlias = Literal["synced", "named", "all", "some"]
"""What a power cut leaves: only what was forced to disk; all names, with only such bytes; everything; or, of what was
not forced, some by chance."""
PAGE = 4096


def build_recorder(folder: Path) -> Path:
    """Compile the recorder. Raises RuntimeError without a C compiler."""
    made = folder / "disk_recorder.so"
    for compiler in COMPILERS:
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl", "-lpthread"]
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError:
            continue
        return made
    raise RuntimeError("the power cut tests need a C compiler: apt-get install gcc libc6-dev")


def end_session(session: int) -> None:
    """Kill the other processes of a session: Java, left behind, would go on to change files in the folder."""
    others = [each for each in psutil.process_iter() if each.pid != os.getpid()]
    left = [each for each in others if in_session(each, session)]
    for each in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    _, alive = psutil.wait_procs(left, timeout=60)
    assert not [each for each in alive if in_session(each, session)]


def in_session(process: psutil.Process, session: int) -> bool:
    """False for a process that is gone, also while nobody has taken its exit code."""
    try:
        return os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def end_recording(log: str) -> None:
    """Wait for the record of each change under way, and let no process make another one.

    Whoever changes a file holds the lock of the log until the record is written (disk_recorder.c). It is held from
    here to the end of this process, so that none is killed after a change and before its record.
    """
    fcntl.flock(os.open(log, os.O_RDONLY), fcntl.LOCK_EX)


@dataclass(frozen=True, slots=True)
class Record:
    """One call that changed the disk."""

    kind: str
    inode: int
    offset: int
    path: str
    data: bytes


def read_records(log: Path) -> Iterator[Record]:
    """The records in order."""
    content, at = log.read_bytes(), 0
    while at < len(content):
        kind, inode, offset, first, second = HEAD.unpack_from(content, at)
        at += HEAD.size
        path, data = content[at : at + first].decode(), content[at + first : at + first + second]
        at += first + second
        yield Record(kind.decode(), inode, offset, path, data)


def leave_out(records: Iterable[Record], root: Path, prefixes: tuple[str, ...]) -> Iterator[Record]:
    """The records without those of files and folders whose path below the root begins with a prefix."""
    left_out: set[int] = set()
    for each in records:
        if each.path.removeprefix(f"{root}/").startswith(prefixes):
            if each.kind in "CD":
                left_out.add(each.inode)
            continue
        if each.kind in "CD":
            left_out.discard(each.inode)
        if each.inode not in left_out:
            yield each


@dataclass(eq=False)
class File:
    """A file: its bytes as programs see them, those forced to disk, and the changes between the two."""

    content: bytearray = field(default_factory=bytearray)
    forced: bytearray = field(default_factory=bytearray)
    waiting: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and bytes of each write, or the new length and None."""

    def change(self, offset: int, data: bytes | None) -> None:
        _apply(self.content, offset, data)
        self.waiting.append((offset, data))

    def force(self) -> None:
        for offset, data in self.waiting:
            _apply(self.forced, offset, data)
        self.waiting.clear()

    def partly(self, chance: random.Random) -> bytes:
        """Its bytes, with each page that was not forced to disk either there or not."""
        made = bytearray(self.forced)
        for offset, data in self.waiting:
            if data is None:
                if chance.random() < 0.5:
                    _apply(made, offset, None)
                continue
            for start in range(0, len(data), PAGE):
                if chance.random() < 0.5:
                    _apply(made, offset + start, data[start : start + PAGE])
        return bytes(made)


@dataclass(eq=False)
class Folder:
    """A folder: its entries as programs see them, and those forced to disk."""

    entries: dict[str, Entry] = field(default_factory=dict)
    forced: dict[str, Entry] = field(default_factory=dict)

    def force(self) -> None:
        self.forced = dict(self.entries)

    def partly(self, chance: random.Random) -> dict[str, Entry]:
        """Its entries, with each change that was not forced to disk made or not; a rename within it wholly."""
        coins: dict[int, bool] = {}
        made: dict[str, Entry] = {}
        for name in {*self.entries, *self.forced}:
            now, before = self.entries.get(name), self.forced.get(name)
            changed = now if now is not None else before
            done = now is before or coins.setdefault(id(changed), chance.random() < 0.5)
            left = now if done else before
            if left is not None:
                made[name] = left
        return made


Entry: TypeAlias = Union[File, Folder]


class Disk:
    """The folder `root` with this inode, empty at first."""

    def __init__(self, root: Path, inode: int):
        self._root = str(root)
        self._top = Folder()
        self._by_inode: dict[int, Entry] = {inode: self._top}
        self.every: dict[str, File] = {}
        """Every file that ever had a name, by path: the last one of that name."""

    def apply(self, record: Record) -> None:
        """Move on by one record."""
        match record.kind:
            case "C":
                self._enter(record, made := File())
                self.every[self._inside(record.path)] = made
            case "D":
                self._enter(record, Folder())
            case "L" | "R":
                self._move(record)
            case "U":
                self._folder(record.path).entries.pop(_last(record.path), None)
            case "W" | "T":
                entry = self._by_inode.get(record.inode)
                if isinstance(entry, File):
                    entry.change(record.offset, record.data if record.kind == "W" else None)
            case "S":
                if (found := self._by_inode.get(record.inode)) is not None:
                    found.force()

    def content(self, path: str) -> bytes:
        """A file as programs see it; empty if there is none."""
        found = self._folder(f"{self._root}/{path}").entries.get(_last(path))
        return bytes(found.content) if isinstance(found, File) else b""

    def remains(self, left: Left, chance: random.Random) -> Mapping[str, bytes]:
        """By path below the root, the files that a power cut now would leave."""
        found: dict[str, bytes] = {}
        self._collect(self._top, "", (left, chance), found)
        return found

    def _collect(self, folder: Folder, prefix: str, how: tuple[Left, random.Random], found: dict[str, bytes]) -> None:
        left, chance = how
        entries = folder.forced if left == "synced" else folder.partly(chance) if left == "some" else folder.entries
        for name, entry in entries.items():
            if isinstance(entry, Folder):
                self._collect(entry, f"{prefix}{name}/", how, found)
            elif left == "some":
                found[prefix + name] = entry.partly(chance)
            else:
                found[prefix + name] = bytes(entry.content if left == "all" else entry.forced)

    def _enter(self, record: Record, made: Entry) -> None:
        self._by_inode[record.inode] = made
        self._folder(record.path).entries[_last(record.path)] = made

    def _move(self, record: Record) -> None:
        target, source = record.data.decode(), self._folder(record.path)
        entry = source.entries[_last(record.path)]
        if record.kind == "R":
            del source.entries[_last(record.path)]
        self._folder(target).entries[_last(target)] = entry
        if isinstance(entry, File):
            self.every[self._inside(target)] = entry

    def _folder(self, path: str) -> Folder:
        """The folder that a path leads to, without its last part."""
        folder = self._top
        for part in self._inside(path).split("/")[:-1]:
            entry = folder.entries[part]
            assert isinstance(entry, Folder), path
            folder = entry
        return folder

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._root).lstrip("/")


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files by path into a folder."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _last(path: str) -> str:
    return path.rpartition("/")[2]
