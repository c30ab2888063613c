"""Type the rows of small batches in this process, where Spark's workers do it for large ones.

In: the landings that share a table, and tasks. Out: the same rows as Arrow, or NotDirect. Invariant: the functions
that make rows are those that Spark's workers run, and defaults are evaluated by Spark; a row for which anything fails
here is left to Spark, whose errors are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from penstock.flow.landing.spark_workers import RECEIVED, MakeRows, Tasks, record_batches
from penstock.lake.append.arrow_schema import arrow_schema
from penstock.lake.append.direct_append import NotDirect, direct_table
from penstock.lake.spark.session import Lake
from penstock.model.manifest import REJECTS, SEQ
from penstock.state.batches import Batch

SMALL_ROWS, SMALL_BYTES = 10_000, 4 * 2**20
"""Rows, and bytes of segments, up to which a step is run in this process. It parses 40 rows in a millisecond, in which
no other thread runs; more go to Spark's workers, of which there may be as many as cores."""
_RECEIVED_FIELD = pa.field(RECEIVED, pa.timestamp("us", "UTC"))
QUARANTINE_ARROW = pa.schema(
    [
        pa.field(SEQ, pa.int64()),
        pa.field("version", pa.string()),
        pa.field("inserted_at", pa.timestamp("us", "UTC")),
        pa.field("raw", pa.string()),
        pa.field("problems", pa.list_(pa.string())),
    ]
)


@dataclass(slots=True)
class RowCount:
    """Counts rows, as an accumulator of Spark does."""

    value: int = 0

    def add(self, rows: int) -> None:
        self.value += rows


def are_small(batches: Sequence[Batch]) -> bool:
    """Whether so few rows are landed in this process."""
    return sum(each.rows for each in batches) <= SMALL_ROWS and sum(each.bytes for each in batches) <= SMALL_BYTES


def row_schema(lake: Lake, table: str, filled: Iterable[str], flags: Iterable[str]) -> pa.Schema:
    """The schema of parsed rows: with the columns that a landing fills, as the table stores them now, and the flags of
    absent values. Raises NotDirect."""
    found = direct_table(lake, table)
    if found is None:
        raise NotDirect(f"{table} is written by Spark")
    stored = arrow_schema(found.schema())
    wanted = {SEQ, REJECTS, *filled}
    fields = [field for field in stored if field.name in wanted]
    return pa.schema([*fields, _RECEIVED_FIELD, *(pa.field(flag, pa.bool_()) for flag in flags)])


def typed_rows(tasks: Tasks, schema: pa.Schema, make: MakeRows) -> pa.Table:
    """The rows that `make` makes of the segments. Raises NotDirect for a value that Arrow does not take, and what
    reading a segment raises."""
    batches: list[pa.RecordBatch] = []
    try:
        for task in tasks:
            batches += record_batches(make(task), schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
        raise NotDirect(f"a value is not taken: {error}") from error
    return pa.Table.from_batches(batches, schema)


def lacks_values(rows: pa.Table, flags: Mapping[str, str], defaults: Iterable[str]) -> bool:
    """Whether the DEFAULT of a column is wanted in some row. `flags` has the flag column of those whose null may be
    meant."""
    for physical in defaults:
        if physical in flags:
            if pc.any(rows.column(flags[physical])).as_py():
                return True
        elif rows.column(physical).null_count:
            return True
    return False
