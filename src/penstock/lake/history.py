"""Cut the rows of one snapshot of a table into slices of `_seq`, each about so many rows.

In: a table, one of its snapshots and how far a reader is. Out: the next `Piece`. Called by `view`
and `copy`. Invariant: the slices of a snapshot depend on nothing but the snapshot, the position
and the size asked for; together they hold each row once, whatever the sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.conversions import from_bytes
from pyiceberg.types import LongType

from penstock.lake import tables
from penstock.lake.session import Lake
from penstock.model.manifest import SEQ


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows with position < `_seq` <= upto; `last` if none is left after them; `rows` is how many
    rows the files of the slice hold, an upper bound."""

    upto: int
    rows: int
    last: bool


def next_slice(lake: Lake, table: str, snapshot: int, after: int, most_rows: int) -> Piece:
    """The next slice after a position. Its end is where a data file ends (in `_seq`), so that
    slices read whole files as long as the files are in the order of arrival."""
    ends = [(end, rows) for end, rows in _file_ends(lake, table, snapshot) if end > after]
    if not ends:
        return Piece(max(after, 0), 0, True)
    taken = 0
    for position, (end, rows) in enumerate(ends):
        taken += rows
        following = ends[position + 1][0] if position + 1 < len(ends) else None
        if following is None:
            return Piece(end, taken, True)
        if taken >= most_rows and following > end:
            return Piece(end, taken, False)
    raise AssertionError("the loop ends at the last file")


def column_bytes(lake: Lake, table: str) -> Mapping[str, int]:
    """The stored bytes of each physical column of a table, by Iceberg's own metadata."""
    found = tables.load(lake, table)
    if found is None:
        return {}
    names = {field.field_id: field.name for field in found.schema().fields}
    total: dict[str, int] = {}
    for task in found.scan().plan_files():
        for id, size in (task.file.column_sizes or {}).items():
            name = names.get(id) or found.schema().find_column_name(id) or ""
            total[name.split(".")[0]] = total.get(name.split(".")[0], 0) + size
    return total


def _file_ends(lake: Lake, table: str, snapshot: int) -> list[tuple[int, int]]:
    """(greatest `_seq`, rows) of each data file of a snapshot, in that order."""
    found = tables.load(lake, table)
    if found is None:
        return []
    seq = found.schema().find_field(SEQ)
    files = [task.file for task in found.scan(snapshot_id=snapshot).plan_files()]
    ends = [(file.upper_bounds[seq.field_id], file.record_count) for file in files if file.record_count]
    return sorted((int(from_bytes(LongType(), end)), rows) for end, rows in ends)
