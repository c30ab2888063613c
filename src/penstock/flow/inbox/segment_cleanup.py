"""Remove unlogged segments at the start of a server: files that an earlier server wrote and died before logging.

In: the inbox folder and the batch log, before this server writes. Out: these files are removed; no rows are recovered,
since their callers got no acknowledgement. Invariant: nothing that was acknowledged is removed, nor a file of this or a
later server: only files that existed when the check began, once their writer can no longer write to the log.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from penstock.state.batches import BatchLog

MAX_NAMES = 50_000
"""File names held in memory at a time; for each such group the stream's log is read once."""

_SEGMENT_NAME = re.compile(r"[0-9a-f]{32}\.ndjson")
log = logging.getLogger("penstock.flow")


def remove_unlogged_segments(folder: Path, batches: BatchLog) -> int:
    """Remove segments that were never acknowledged. Returns how many. Raises OSError, Fenced."""
    began = _disk_time(folder)
    cut = sum(_clean_stream(folder, stream, began, batches) for stream in _list_streams(folder))
    if cut:
        log.warning("removed %d files from the inbox: they were being written when the server died", cut)
    return cut


def _clean_stream(folder: Path, stream: str, began: int, batches: BatchLog) -> int:
    cut = 0
    names = _list_segments(folder / stream)
    while lot := set(itertools.islice(names, MAX_NAMES)):
        logged = batches.find_logged(stream, {f"{stream}/{name}" for name in lot})
        unlogged = [name for name in lot if f"{stream}/{name}" not in logged]
        if unlogged:
            # This server still owns the store, so no earlier owner can log these files any more.
            batches.check_ownership()
            cut += _remove_older(folder / stream, unlogged, began)
    return cut


def _remove_older(folder: Path, names: Collection[str], began: int) -> int:
    removed = 0
    for name in names:
        with suppress(FileNotFoundError):
            if (folder / name).stat().st_mtime_ns < began:
                (folder / name).unlink()
                removed += 1
    return removed


def _list_streams(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]


def _list_segments(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if _SEGMENT_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                yield entry.name


def _disk_time(folder: Path) -> int:
    """The time in nanoseconds by the disk's own clock; this machine's clock may differ from a file server's, or
    jump."""
    os.utime(folder)
    return folder.stat().st_mtime_ns
