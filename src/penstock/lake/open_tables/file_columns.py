"""What each data file of a snapshot holds, from the manifests, or from the file itself where these do not say.

In: a table and field ids. Out: `FileColumns` values. Invariants: a file is read as little as possible and once, since
neither it nor a manifest changes; what cannot be found out is told as the case in which less is shown.

Iceberg keeps counts of a table's first hundred columns. A column without a count is not in the file only if the table
never had more.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import LongType

from penstock.lake.open_tables.shown_columns import FileColumns
from penstock.model.manifest import SEQ

COUNTED_COLUMNS = 100
MOST_FILES = 200_000
"""The most files that are remembered."""
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """The columns that are asked for."""

    seq: int
    """The field id of `_seq`."""
    fields: frozenset[int]
    is_counted: bool
    """Whether manifests count every column that a file has."""


_Key: TypeAlias = tuple[str, ColumnSelection]


class FileColumnsReader:
    """Reads what the files of snapshots hold, and remembers it by manifest. Thread-safe."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[FileColumns, ...]] = OrderedDict()
        self._files = 0
        self._guard = threading.Lock()

    def read(self, table: Table, snapshot: Snapshot, fields: frozenset[int]) -> tuple[FileColumns, ...]:
        """The data files of a snapshot, with the columns of these ids. Raises OSError for a file that cannot be
        read."""
        seq = table.schema().find_field(SEQ).field_id
        asked = ColumnSelection(seq, fields, table.metadata.last_column_id <= COUNTED_COLUMNS)
        found: list[FileColumns] = []
        for manifest in snapshot.manifests(table.io):
            key = (manifest.manifest_path, asked)
            with self._guard:
                known = self._known.get(key)
            if known is None:
                known = tuple(_read_manifest(table.io, manifest, asked))
                self._remember(key, known)
            found += known
        return tuple(found)

    def _remember(self, key: _Key, files: tuple[FileColumns, ...]) -> None:
        with self._guard:
            self._files += len(files) - len(self._known.pop(key, ()))
            self._known[key] = files
            while self._files > MOST_FILES:
                _, forgotten = self._known.popitem(last=False)
                self._files -= len(forgotten)


def _read_manifest(io: FileIO, manifest: ManifestFile, asked: ColumnSelection) -> Iterator[FileColumns]:
    seq, fields = asked.seq, asked.fields
    for entry in manifest.fetch_manifest_entry(io):
        file = entry.data_file
        if asked.is_counted or {seq, *fields} <= (file.value_counts or {}).keys():
            yield _from_counts(file, seq, fields)
        else:
            yield _from_footer(io, file, seq, fields)


def _from_counts(file: DataFile, seq: int, fields: frozenset[int]) -> FileColumns:
    counts, nulls = file.value_counts or {}, file.null_value_counts or {}
    # A column of which only the values were counted may have any number of NULLs.
    held = {field: nulls.get(field, min(1, file.record_count)) for field in fields if field in counts}
    low, high = (file.lower_bounds or {}).get(seq), (file.upper_bounds or {}).get(seq)
    if low is None or high is None or nulls.get(seq, 1):
        return FileColumns(file.file_path, file.record_count, None, None, held)
    return FileColumns(file.file_path, file.record_count, _whole(low), _whole(high), held)


def _whole(stored: bytes) -> int:
    return int(from_bytes(LongType(), stored))


def _from_footer(io: FileIO, file: DataFile, seq: int, fields: frozenset[int]) -> FileColumns:
    with io.new_input(file.file_path).open() as opened:
        footer = pq.read_metadata(pa.PythonFile(opened, mode="r"))
    places = _column_places(footer)
    nulls = {field: _count_nulls(footer, places.get(field)) for field in fields if field in _field_ids(footer)}
    low, high = _bounds(footer, places.get(seq))
    return FileColumns(file.file_path, file.record_count, low, high, nulls)


def _field_ids(footer: pq.FileMetaData) -> frozenset[int]:
    """The ids of the top-level columns of a file."""
    return frozenset(_ids_by_name(footer).values())


def _ids_by_name(footer: pq.FileMetaData) -> Mapping[str, int]:
    fields = footer.schema.to_arrow_schema()
    return {field.name: int(field.metadata[_FIELD_ID]) for field in fields if _FIELD_ID in (field.metadata or {})}


def _column_places(footer: pq.FileMetaData) -> Mapping[int, int]:
    """The places of the columns that are no structs or lists, by id."""
    by_name = _ids_by_name(footer)
    paths = (footer.schema.column(place).path for place in range(footer.num_columns))
    return {by_name[path]: place for place, path in enumerate(paths) if path in by_name}


def _count_nulls(footer: pq.FileMetaData, place: int | None) -> int:
    """The NULLs of a column; 1 if they were not counted."""
    found = 0
    for group in range(footer.num_row_groups):
        statistics = None if place is None else footer.row_group(group).column(place).statistics
        if statistics is None or not statistics.has_null_count:
            return 1
        found += statistics.null_count
    return found


def _bounds(footer: pq.FileMetaData, place: int | None) -> tuple[int | None, int | None]:
    """The least and the greatest value of a column; None if there is a NULL, or no statistics."""
    if place is None or _count_nulls(footer, place):
        return None, None
    found = [footer.row_group(group).column(place).statistics for group in range(footer.num_row_groups)]
    if not found or not all(each.has_min_max for each in found):
        return None, None
    return min(each.min for each in found), max(each.max for each in found)
