"""One server owns a project's folder: a lock on a file, which ends with the process that holds it.

In: the folder of the embedded state, and the lease's heartbeat. Out: a `FolderLock`, which renews the time of the
owner's record while its process lives. Invariant: no server opens the lake while an earlier server of this folder, or
its JVM, still runs. An owner is killed only if both signs of life were seen, and stood still for STALL seconds: a state
store that does not answer says nothing about the owner.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO

import orjson
import psutil

from penstock.errors import Conflict
from penstock.model.servers import processes

LOCK, RECORD = "owner.lock", "server.json"
JVM_GRACE = 5.0
STALL = 20.0
"""Seconds without a heartbeat after which an owner counts as dead or suspended."""
LOOK = 0.2
TOUCH = 2.0
"""Seconds between two renewals of the record's time. It needs neither the state store nor room on the disk."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process: its id and its start time, which distinguishes it from a later process with the same id."""

    id: int
    started: float

    @staticmethod
    def of(id: int) -> ProcessId:
        return ProcessId(id, processes.start_time(psutil.Process(id)))

    def find(self) -> psutil.Process | None:
        """The process if it still runs."""
        return processes.find_process(self.id, self.started)


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """What the owner writes about itself: the processes of the server and its JVM, its address, and its machine."""

    server: ProcessId
    jvm: ProcessId | None
    url: str
    host: str


class FolderLock:
    """A held lock; `record` writes the process ids and the address for other servers to read."""

    def __init__(self, home: Path, lock: IO[bytes]):
        self._home = home
        self._lock = lock
        self._released = threading.Event()
        self._guard = threading.Lock()
        threading.Thread(target=self._touch, name="folder lock", daemon=True).start()

    def record(self, jvm: int | None, url: str) -> ServerRecord:
        made = ServerRecord(ProcessId.of(os.getpid()), ProcessId.of(jvm) if jvm is not None else None, url, this_host())
        fresh = self._home / f"{RECORD}.new"
        fresh.write_bytes(orjson.dumps(asdict(made)))
        fresh.replace(self._home / RECORD)
        return made

    def release(self) -> None:
        with self._guard:  # from now on the record may be that of the next owner
            self._released.set()
            (self._home / RECORD).unlink(missing_ok=True)
        self._lock.close()

    def _touch(self) -> None:
        while not self._released.wait(TOUCH):
            with self._guard, suppress(OSError):
                if not self._released.is_set():
                    os.utime(self._home / RECORD)


def take_folder(
    home: Path, waiting: Callable[[ServerRecord | None], None] | None, sign: Callable[[], object | None]
) -> FolderLock:
    """Take the folder. While another server has it, the call blocks; `waiting` gets the owner's record, once. Raises
    Conflict if another server has it and `waiting` is None. `sign` returns the owner's heartbeat in the state store,
    None while that does not answer. If neither the heartbeat nor the record's time changes for STALL seconds and the
    owner runs on this machine, the owner is killed: it is suspended or hangs, and must not wake up as a second
    writer."""
    home.mkdir(parents=True, exist_ok=True)
    lock = (home / LOCK).open("ab")
    if not _try_lock(lock):
        owner = read_record(home)
        if waiting is None:
            lock.close()
            raise Conflict(_describe_owner(owner))
        waiting(owner)
        _wait_for_lock(home, lock, sign)
    end_jvm(read_record(home))
    return FolderLock(home, lock)


def _try_lock(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for_lock(home: Path, lock: IO[bytes], sign: Callable[[], object | None]) -> None:
    last, since = (sign(), last_touch(home)), time.monotonic()
    while not _try_lock(lock):
        time.sleep(LOOK)
        now = (sign(), last_touch(home))
        if now != last or None in now:
            # A sign that cannot be seen is no sign of death: wait STALL seconds again.
            last, since = now, time.monotonic()
        elif time.monotonic() - since > STALL:
            end_server(read_record(home))
            since = time.monotonic()


def last_touch(home: Path) -> int | None:
    """When the owner of a folder last renewed its record, in nanoseconds by the disk's clock; None if no record can be
    seen. A server of an earlier release renews none, so its record's time stands still."""
    try:
        return (home / RECORD).stat().st_mtime_ns
    except OSError:
        return None


def end_server(owner: ServerRecord | None) -> None:
    """End a server that sends no heartbeat, if it runs on this machine."""
    process = owner.server.find() if owner is not None and owner.host == this_host() else None
    if process is not None:
        process.kill()


def read_record(home: Path) -> ServerRecord | None:
    """The record of the present or last owner; None if there is no readable record."""
    try:
        read = orjson.loads((home / RECORD).read_bytes())
        jvm = ProcessId(**read["jvm"]) if read["jvm"] else None
        return ServerRecord(ProcessId(**read["server"]), jvm, read["url"], read["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _describe_owner(owner: ServerRecord | None) -> str:
    return f"server {owner.server.id} at {owner.url} owns this project" if owner else "another server owns this project"


def end_jvm(before: ServerRecord | None) -> None:
    """Wait until the JVM of an earlier server has ended; it is killed after JVM_GRACE seconds."""
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


BOOT = Path("/proc/sys/kernel/random/boot_id")
"""A random id that Linux makes at each boot; process ids of another boot mean nothing. Source: random(4)."""


PROCESS_NAMESPACE = Path("/proc/self/ns/pid")
"""Names the set of processes that this one can see; another container of this machine sees another set. Source:
pid_namespaces(7)."""


@cache
def this_host() -> str:
    """Names this machine's processes: the same text means that a process which is not found has ended."""
    boot = BOOT.read_text(encoding="ascii").strip() if BOOT.exists() else ""
    visible = os.readlink(PROCESS_NAMESPACE) if PROCESS_NAMESPACE.is_symlink() else ""
    return f"{socket.gethostname()}/{boot}/{visible}"
