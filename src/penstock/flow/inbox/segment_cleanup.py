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

import numpy as np
from numpy.typing import NDArray

from penstock.flow.inbox.segments import SHARD_SUFFIX, remove_empty_shard
from penstock.state.batches import BatchLog

MAX_NAMES = 50_000
"""File names held in memory at a time."""

_SEGMENT_NAME = re.compile(r"([0-9a-f]{16})[0-9a-f]{16}\.ndjson")
log = logging.getLogger("penstock.flow")
Fingerprints = NDArray[np.uint64]
"""The first 64 bits of names, sorted: eight bytes a file, however many there are. Two random names with the same ones
are not to be expected; if there were, a file that nobody needs would stay."""


def remove_unlogged_segments(folder: Path, batches: BatchLog) -> int:
    """Remove segments that were never acknowledged. Returns how many. The log of each stream is read once. Raises
    OSError, Fenced."""
    began = _disk_time(folder)
    cut = sum(_clean_stream(folder / stream, stream, began, batches) for stream in _list_folders(folder))
    if cut:
        log.warning("removed %d files from the inbox: they were being written when the server died", cut)
    return cut


def _clean_stream(folder: Path, stream: str, began: int, batches: BatchLog) -> int:
    shards = [folder / name for name in _list_folders(folder) if name.endswith(SHARD_SUFFIX)]
    if next(itertools.chain.from_iterable(map(_list_segments, (folder, *shards))), None) is None:
        logged = np.empty(0, np.uint64)
    else:
        logged = _logged_fingerprints(batches, stream)
    cut = sum(_clean_folder(each, logged, began, batches) for each in (folder, *shards))
    for shard in shards:
        remove_empty_shard(shard)
    return cut


def _clean_folder(folder: Path, logged: Fingerprints, began: int, batches: BatchLog) -> int:
    cut = 0
    names = _list_segments(folder)
    while lot := list(itertools.islice(names, MAX_NAMES)):
        unlogged = [name for name, known in zip(lot, _are_logged(lot, logged), strict=True) if not known]
        if unlogged:
            # This server still owns the store, so no earlier owner can log these files any more.
            batches.check_ownership()
            cut += _remove_older(folder, unlogged, began)
    return cut


def _logged_fingerprints(batches: BatchLog, stream: str) -> Fingerprints:
    """Those of all files of a stream that the log names."""
    matches = (_SEGMENT_NAME.fullmatch(name.rpartition("/")[2]) for name in batches.logged_segments(stream))
    found = np.fromiter((int(match[1], 16) for match in matches if match is not None), np.uint64)
    found.sort()
    return found


def _are_logged(names: Collection[str], logged: Fingerprints) -> Iterator[bool]:
    """For each name, whether the log has it."""
    if not len(logged):
        return itertools.repeat(False, len(names))
    asked = np.fromiter((int(name[:16], 16) for name in names), np.uint64, len(names))
    places = np.minimum(np.searchsorted(logged, asked), len(logged) - 1)
    return map(bool, logged[places] == asked)


def _remove_older(folder: Path, names: Collection[str], began: int) -> int:
    removed = 0
    for name in names:
        with suppress(FileNotFoundError):
            if (folder / name).stat().st_mtime_ns < began:
                (folder / name).unlink()
                removed += 1
    return removed


def _list_folders(folder: Path) -> list[str]:
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
