"""Cut the rows of one snapshot of a table into slices of `_seq` with about the wanted size.

In: a table, one of its snapshots, and the `_seq` up to which a reader has read. Out: the next `HistorySlice`.
Invariant: a slice depends on nothing but the snapshot, the position and the size limits; together the slices hold each
row once, whatever the limits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.types import LongType

from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.seq_ranges import NO_SEQ, read_seq_ranges
from penstock.model.manifest import SEQ


@dataclass(frozen=True, slots=True)
class SliceLimits:
    """The most that one slice has, except that it has at least one file."""

    rows: int
    bytes: int

    def after_crashes(self, crashes: int) -> SliceLimits:
        """An eighth of them for each time that Spark's process ended in such a slice."""
        return SliceLimits(max(1, self.rows >> 3 * crashes), max(1, self.bytes >> 3 * crashes))


@dataclass(frozen=True, slots=True)
class HistorySlice:
    """The rows after the reader's position with `_seq` <= `upto`."""

    upto: int
    rows: int
    bytes: int
    """Rows and bytes of the slice's files, an upper bound for the slice."""
    last: bool
    """Whether no row is left after the slice."""


@dataclass(frozen=True, slots=True)
class FileExtent:
    """Total rows and bytes of data files."""

    rows: int
    bytes: int


def next_slice(lake: Lake, table: str, snapshot: int, after: int, most: SliceLimits) -> HistorySlice:
    """The next slice after the position `after`. It ends where a data file ends (in `_seq`), so that slices read whole
    files as long as files are in the order of arrival."""
    files = _files_by_seq(lake, table, snapshot)
    first = bisect_right(files, after, key=lambda file: file.end)
    if first == len(files):
        return HistorySlice(max(after, 0), 0, 0, True)
    rows = size = 0
    for position in range(first, len(files) - 1):
        file, following = files[position], files[position + 1]
        rows, size = rows + file.rows, size + file.bytes
        full = rows + following.rows > most.rows or size + following.bytes > most.bytes
        if full and following.end > file.end:
            return HistorySlice(file.end, rows, size, False)
    return HistorySlice(files[-1].end, rows + files[-1].rows, size + files[-1].bytes, True)


def extent_up_to(lake: Lake, table: str, snapshot: int, seq: int) -> FileExtent:
    """Size of the files of a snapshot up to a position."""
    files = [file for file in _files_by_seq(lake, table, snapshot) if file.end <= seq]
    return FileExtent(sum(file.rows for file in files), sum(file.bytes for file in files))


def snapshot_extent(lake: Lake, table: str, snapshot: int) -> FileExtent:
    """Size of all files of a snapshot."""
    return extent_up_to(lake, table, snapshot, 2**63)


def column_sizes(lake: Lake, table: str) -> Mapping[str, int]:
    """The stored bytes of each physical column of a table, from Iceberg's metadata."""
    found = physical_tables.load_table(lake, table)
    if found is None:
        return {}
    names = [field.name for field in found.schema().fields]
    total: dict[str, int] = {}
    for task in found.scan().plan_files():
        for id, size in (task.file.column_sizes or {}).items():
            name = _column_of(found.schema().find_column_name(id) or "", names)
            total[name] = total.get(name, 0) + size
    return total


def _column_of(path: str, names: Sequence[str]) -> str:
    """The column that a path leads into: `Events.Name.element` into `Events.Name`, which may be one name."""
    return next((name for name in names if path == name or path.startswith(f"{name}.")), "")


class _FileRange(NamedTuple):
    """A data file: its greatest `_seq`, its rows and bytes."""

    end: int
    rows: int
    bytes: int


@lru_cache(maxsize=64)
def _files_by_seq(lake: Lake, table: str, snapshot: int) -> tuple[_FileRange, ...]:
    """The data files of a snapshot, sorted by their greatest `_seq`. Cached: a snapshot never changes."""
    found = physical_tables.load_table(lake, table)
    if found is None:
        return ()
    seq = found.schema().find_field(SEQ).field_id
    files = [task.file for task in found.scan(snapshot_id=snapshot).plan_files() if task.file.record_count]
    ends = {file.file_path: _greatest_seq(file, seq) for file in files}
    read = read_seq_ranges(lake, table, snapshot, [path for path, end in ends.items() if end is None])
    ranges = (
        _FileRange(end if end is not None else read[file.file_path].high, file.record_count, file.file_size_in_bytes)
        for file in files
        for end in (ends[file.file_path],)
    )
    # Rows from outside have no `_seq`, so they are in no slice.
    return tuple(sorted(each for each in ranges if each.end != NO_SEQ.high))


def _greatest_seq(file: IcebergFile, seq: int) -> int | None:
    """The greatest `_seq` of a file by Iceberg's metrics; None if it kept none of the column."""
    bound = (file.upper_bounds or {}).get(seq)
    if bound is not None:
        return int(from_bytes(LongType(), bound))
    return None if (file.null_value_counts or {}).get(seq) is None else NO_SEQ.high
