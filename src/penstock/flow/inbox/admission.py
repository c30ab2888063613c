"""Refuse rows early: while commits still have room on the disk, and before too many rows wait for their tables.

In: the size of a request body. Out: nothing, or an error. Invariant: a refused body is not kept; the disk and the
batch log are asked at most once a second.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Overloaded, StorageFull, Unavailable
from penstock.model.settings import InboxSettings
from penstock.state.batches import BatchLog

CHECK_VALID_SECONDS = 1.0
MIB = 2**20
MIN_FREE_FILES = 10_000
"""Files (inodes) that stay free on the disk of the inbox, so that tables can still commit what is waiting."""


@dataclass(frozen=True, slots=True)
class _BacklogCount:
    """The backlog of a stream at one moment."""

    asked: float
    """When it was counted, in seconds of the monotonic clock."""
    landed: int
    """The last batch that is in every table."""
    head: int
    """The last batch in the log."""
    bytes: int
    """The size of the batches after `landed`."""


class Backlog:
    """How many bytes of a stream are in the log and not yet in every table. `landed` gives the last batch that all
    tables have. Counts are updated by differences, so a long backlog is summed up only once."""

    def __init__(self, batches: BatchLog, landed: Callable[[str], int]):
        self._batches = batches
        self._landed = landed
        self._known: dict[str, _BacklogCount] = {}
        self._unanswered = float("-inf")
        self._guard = threading.Lock()

    def bytes(self, stream: str) -> int:
        """The bytes, as of at most a second ago; while one caller counts, the others get the count before. If the store
        does not answer, the last count stays: the log will refuse the rows. Raises Unavailable without one."""
        known = self._known.get(stream)
        if known is not None and time.monotonic() - known.asked < CHECK_VALID_SECONDS:
            return known.bytes
        if not self._guard.acquire(blocking=known is None):
            assert known is not None, "without a count the lock is waited for"
            return known.bytes
        try:
            return self._count_once(stream)
        finally:
            self._guard.release()

    def waiting_bytes(self, above: int) -> Mapping[str, int]:
        """The last counts of all streams; those above so many bytes are counted again. Raises Unavailable."""
        last = {stream: known.bytes for stream, known in tuple(self._known.items())}
        return {stream: self.bytes(stream) if size > above else size for stream, size in last.items()}

    def _count_once(self, stream: str) -> int:
        known = self._known.get(stream)
        if known is not None and time.monotonic() - known.asked < CHECK_VALID_SECONDS:
            return known.bytes
        if known is None and time.monotonic() - self._unanswered < CHECK_VALID_SECONDS:
            raise Unavailable("the state store does not answer", hint="nothing is lost: try again")
        try:
            known = self._known[stream] = self._count(stream, known)
        except Unavailable:
            self._unanswered = time.monotonic()
            if known is None:
                raise
        return known.bytes

    def _count(self, stream: str, before: _BacklogCount | None) -> _BacklogCount:
        now, head = time.monotonic(), self._batches.head(stream)
        landed = min(self._landed(stream), head)
        # Batches that were trimmed since the last count are in no sum: all is counted again, from what is left.
        if before is None or landed < before.landed or self._batches.first(stream) > before.landed + 1:
            return _BacklogCount(now, landed, head, self._batches.bytes_between(stream, landed, head))
        came = self._batches.bytes_between(stream, before.head, head)
        went = self._batches.bytes_between(stream, before.landed, landed)
        return _BacklogCount(now, landed, head, before.bytes + came - went)


class Admission:
    """Decides for one inbox whether a request body is accepted."""

    def __init__(self, folder: Path, settings: InboxSettings, backlog: Backlog | None):
        self._folder = folder
        self._settings = settings
        self._backlog = backlog
        self._guard = threading.Lock()
        self._free = 0
        self._free_files: int | None = None
        self._asked = float("-inf")

    def admit(self, stream: str, size: int) -> None:
        """Accept a body of `size` bytes. Raises StorageFull, Overloaded."""
        self.reserve(size)
        most = self._settings.max_pending_bytes
        if self._backlog is not None and self._backlog.bytes(stream) + size > most:
            raise Overloaded(
                f"more than {most // MIB:,} MiB of `{stream}` wait for its tables, none of the rows is kept",
                hint="send them again later; `penstock status` shows which flows lag or fail",
            )

    def reserve(self, size: int) -> None:
        """Take room on the disk for a file of `size` bytes. Raises StorageFull."""
        least = self._settings.min_free_bytes
        with self._guard:
            if time.monotonic() - self._asked >= CHECK_VALID_SECONDS:
                disk = os.statvfs(self._folder)
                self._free, self._asked = disk.f_bavail * disk.f_frsize, time.monotonic()
                # A file system that makes room for files as they come has no number of them.
                self._free_files = disk.f_favail if disk.f_files else None
            if self._free - size < least:
                raise StorageFull(
                    f"less than {least // MIB:,} MiB are free on the disk of the inbox, none of the rows is kept",
                    hint="free some space there; `[inbox] min_free_bytes` in penstock.toml is the limit",
                )
            if self._free_files is not None and self._free_files <= MIN_FREE_FILES:
                raise StorageFull(
                    f"the disk of the inbox takes {self._free_files:,} more files (inodes), none of the rows is kept",
                    hint="remove files there, or post more rows in one call: each batch is a file until it is trimmed",
                )
            self._free -= size
            self._free_files = self._free_files - 1 if self._free_files is not None else None
