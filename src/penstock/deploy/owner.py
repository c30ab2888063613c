"""One server owns a project's warehouse: a lock on a file, and no leftovers of the owner before.

In: the folder of the embedded state. Out: `Owner`, held until the process ends. Called by serve/main
before anything is opened. Invariant: nobody opens the lake while the JVM of an earlier server still
runs, since a commit of its could come after the cursors were read.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import orjson
import psutil

from penstock.errors import Conflict

LOCK, RECORD = "owner.lock", "server.json"
JVM_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process; `started` (seconds since 1970) tells it from a later one with the same id."""

    id: int
    started: float

    @staticmethod
    def of(id: int) -> Process:
        return Process(id, psutil.Process(id).create_time())

    def find(self) -> psutil.Process | None:
        """The process if it still runs."""
        try:
            found = psutil.Process(self.id)
            alive = found.status() != psutil.STATUS_ZOMBIE
            return found if alive and abs(found.create_time() - self.started) < 0.01 else None
        except psutil.NoSuchProcess:
            return None


@dataclass(frozen=True, slots=True)
class Record:
    """What the owner says of itself: the server's process, its JVM's, its address."""

    server: Process
    jvm: Process | None
    url: str


class Owner:
    """Holds the lock; `record` says who and where to others."""

    def __init__(self, home: Path, lock: IO[bytes]):
        self._home = home
        self._lock = lock

    def record(self, jvm: int | None, url: str) -> None:
        made = Record(Process.of(os.getpid()), Process.of(jvm) if jvm is not None else None, url)
        fresh = self._home / f"{RECORD}.new"
        fresh.write_bytes(orjson.dumps(asdict(made)))
        fresh.replace(self._home / RECORD)

    def release(self) -> None:
        (self._home / RECORD).unlink(missing_ok=True)
        self._lock.close()


def own(home: Path, waiting: Callable[[Record | None], None] | None) -> Owner:
    """Take the warehouse. While another server has it, `waiting` is called once with what that
    says of itself and the call blocks; with None it raises Conflict instead."""
    home.mkdir(parents=True, exist_ok=True)
    lock = (home / LOCK).open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = read_record(home)
        if waiting is None:
            lock.close()
            raise Conflict(_told(owner)) from None
        waiting(owner)
        fcntl.flock(lock, fcntl.LOCK_EX)
    _end_jvm(read_record(home))
    return Owner(home, lock)


def read_record(home: Path) -> Record | None:
    """What the owner (or the last one) said of itself; None where nobody did."""
    try:
        read = orjson.loads((home / RECORD).read_bytes())
        jvm = Process(**read["jvm"]) if read["jvm"] else None
        return Record(Process(**read["server"]), jvm, read["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _told(owner: Record | None) -> str:
    return f"server {owner.server.id} at {owner.url} owns this project" if owner else "another server owns this project"


def _end_jvm(before: Record | None) -> None:
    """A JVM ends when its Python is gone; give it a moment, then end it."""
    process = before.jvm.find() if before and before.jvm else None
    if process is None:
        return
    try:
        process.wait(timeout=JVM_GRACE)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait()
    except psutil.NoSuchProcess:
        return
    while before is not None and before.jvm is not None and before.jvm.find() is not None:
        time.sleep(0.05)
