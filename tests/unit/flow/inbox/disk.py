"""A disk that can lose its power: it knows what was forced onto it, and gives what would be there after.

What a program wrote is on the disk only once it called fsync: on the file for its bytes, on the folder for its
entry. What it did not force may be there or not; three ways of that are tried.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

Rest: TypeAlias = Literal["lost", "written", "torn"]
"""What became of what was not forced: all of it lost; all of it written; entries there, bytes half there."""


class PowerCut(BaseException):
    """Nothing runs any more."""


class Disk:
    """Below `root`, which was there for ever. Each change of it, and each transaction, is a moment; at moment
    `cut` the power goes. `blind` is what this disk does not force though told to (files, or the folder of that
    name): a check of the check."""

    def __init__(self, root: Path, cut: int, blind: str = ""):
        self.root = root
        self.cut = cut
        self.blind = blind
        self.moments = 0
        self.bytes: dict[int, bytes] = {}
        self.entries: dict[int, dict[str, int]] = {root.stat().st_ino: {}}

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("open", "write", "mkdir", "unlink", "fsync"):
            monkeypatch.setattr(os, name, self._wrapped(getattr(os, name), getattr(self, f"_{name}", None)))
        monkeypatch.setattr("penstock.state.database.crash_point", lambda point: self.moment())

    def moment(self) -> None:
        self.moments += 1
        if self.moments >= self.cut:
            raise PowerCut

    def after(self, to: Path, rest: Rest) -> None:
        """What is there when the power is back. A transaction of SQLite that was committed is there whole, with
        `synchronous=FULL`; it forces the entries of its files itself."""
        self._copy(self.root, to, rest)
        home = to / ".penstock"
        if home.exists():
            with sqlite3.connect(self.root / ".penstock" / "state.db") as live:
                with sqlite3.connect(home / "state.db") as found:
                    live.backup(found)
                found.close()
            live.close()

    def _wrapped(self, real: Callable[..., object], note: Callable[..., None] | None) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            if real.__name__ == "open" and not int(str(given[1])) & os.O_CREAT:
                return real(*given, **named)
            self.moment()
            done = real(*given, **named)
            if note is not None:
                note(*given)
            return done

        return call

    def _fsync(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        name = Path(os.readlink(f"/proc/self/fd/{descriptor}")).name
        if stat.S_ISDIR(found.st_mode) and self.blind != name:
            listed = {name: os.stat(name, dir_fd=descriptor).st_ino for name in os.listdir(descriptor)}
            self.entries[found.st_ino] = listed
        elif stat.S_ISREG(found.st_mode) and self.blind != "files":
            self.bytes[found.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    def _copy(self, folder: Path, to: Path, rest: Rest) -> None:
        to.mkdir(exist_ok=True)
        forced = self.entries.get(folder.stat().st_ino, {})
        for path in folder.iterdir():
            inode = path.stat().st_ino
            if rest == "lost" and forced.get(path.name) != inode:
                continue
            if path.is_dir():
                self._copy(path, to / path.name, rest)
            elif not path.name.startswith("state.db"):
                (to / path.name).write_bytes(self._content(path, inode, rest))
                os.utime(to / path.name, (1, 1))

    def _content(self, path: Path, inode: int, rest: Rest) -> bytes:
        content = path.read_bytes()
        if rest == "written" or inode in self.bytes:
            return content
        return b"" if rest == "lost" else content[: len(content) // 2]


def wipe(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
