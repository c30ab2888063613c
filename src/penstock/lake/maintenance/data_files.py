"""The data files of a table, and which of them are worth rewriting into one.

In: a table and one of its snapshots. Out: `DataFile` values and groups of them. Invariant: a group is of one
partition and adjacent in the order of `_seq`, so files stay ranges of `_seq` and slices of a history still end where
files end. No file of a group outweighs the others, so each row is rewritten only a few times, however long its
stream runs (size-tiered compaction).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pyspark.sql import Row

from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables.seq_ranges import NO_SEQ, SeqRange, read_seq_ranges
from penstock.model.manifest import SEQ


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table."""

    path: str
    spec: int
    partition: str
    rows: int
    bytes: int
    sequence: int
    """The sequence number of the last snapshot whose rows it holds."""
    low: int
    high: int
    """The least and the greatest `_seq` of its rows; -1 for rows written from outside, which have none."""


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """Which groups of files are compacted."""

    files: int
    """A group has at least this many files."""
    small: int
    """Each file of a group is smaller than this many bytes."""
    target: int
    """A group has at most this many bytes."""


MAX_FILE_SHARE = 3
"""The largest file of a group has at most 1/3 of the group's bytes."""


def list_data_files(lake: Lake, table: str, snapshot: int) -> tuple[DataFile, ...]:
    """The data files of a snapshot, from Iceberg's metadata."""
    entries = lake.spark.sql(
        f"SELECT * FROM {qualified_table(table)}.entries VERSION AS OF {snapshot} WHERE status < 2"
    )
    parted = "partition" in entries.select("data_file.*").columns
    rows = entries.selectExpr(
        "data_file.file_path",
        "data_file.spec_id",
        "to_json(data_file.partition)" if parted else "''",
        "data_file.record_count",
        "data_file.file_size_in_bytes",
        "sequence_number",
        f"readable_metrics.{SEQ}.lower_bound",
        f"readable_metrics.{SEQ}.upper_bound",
        f"readable_metrics.{SEQ}.null_value_count",
    ).collect()
    # Without a count of nulls Iceberg kept no metrics of the column: only the rows know.
    unknown = {path for path, *_, high, nulls in rows if high is None and nulls is None}
    ranges = read_seq_ranges(lake, table, snapshot, unknown)
    found = (_describe_file(row, ranges.get(row[0], NO_SEQ)) for row in rows)
    return tuple(sorted(found, key=_sort_key))


def _describe_file(row: Row, read: SeqRange) -> DataFile:
    path, spec, partition, rows, size, sequence, low, high, _ = row
    bounds = read if low is None or high is None else SeqRange(low, high)
    return DataFile(path, spec, partition, rows, size, sequence, bounds.low, bounds.high)


def compaction_runs(files: Iterable[DataFile], tiers: CompactionLimits) -> Iterator[tuple[DataFile, ...]]:
    """The groups of files to rewrite into one file each, partition by partition."""
    for _, within in groupby(sorted(files, key=_sort_key), key=lambda file: (file.spec, file.partition)):
        for small, adjacent in groupby(within, key=lambda file: file.bytes < tiers.small):
            if small:
                yield from _balanced_runs(tuple(adjacent), tiers)


def _balanced_runs(files: Sequence[DataFile], tiers: CompactionLimits) -> Iterator[tuple[DataFile, ...]]:
    """Groups of adjacent files in which no file outweighs the rest."""
    if len(files) < max(tiers.files, 2):
        return
    largest = max(range(len(files)), key=lambda at: files[at].bytes)
    if files[largest].bytes * MAX_FILE_SHARE > sum(file.bytes for file in files):
        yield from _balanced_runs(files[:largest], tiers)
        yield from _balanced_runs(files[largest + 1 :], tiers)
        return
    yield from _split_by_size(files, tiers)


def _split_by_size(files: Sequence[DataFile], tiers: CompactionLimits) -> Iterator[tuple[DataFile, ...]]:
    taken: list[DataFile] = []
    size = 0
    for file in files:
        if taken and size + file.bytes > tiers.target:
            yield tuple(taken)
            taken, size = [], 0
        taken.append(file)
        size += file.bytes
    if len(taken) >= max(tiers.files, 2):
        yield tuple(taken)


def _sort_key(file: DataFile) -> tuple[int, str, int, int, str]:
    return file.spec, file.partition, file.high, file.low, file.path
