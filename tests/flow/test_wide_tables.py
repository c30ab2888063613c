"""Tables of more columns than Iceberg keeps metrics of, made before the property that asks for those of `_seq`."""

from __future__ import annotations

import itertools

import pytest

from penstock.lake.maintenance.data_files import list_data_files
from penstock.lake.maintenance.rewrite import ColumnValues, FileLayout, materialize_columns
from penstock.lake.read.history_slices import SliceLimits, next_slice
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables.commit import append_rows
from penstock.lake.tables.new_tables import create_table
from penstock.lake.tables.snapshots import Progress, read_snapshots
from penstock.model.cursor import BatchCursor
from penstock.model.manifest import Field, Table
from penstock.model.types import Int

WIDTH = 150
METRICS = "write.metadata.metrics.column._seq"
numbers = itertools.count(1)


def made_table(lake: Lake, *, old: bool) -> str:
    table = f"wide__x{next(numbers)}"
    create_table(lake, Table(table, tuple(Field(f"c{each}", Int(32)) for each in range(WIDTH))))
    if old:
        lake.spark.sql(f"ALTER TABLE {qualified_table(table)} UNSET TBLPROPERTIES ('{METRICS}')")
    return table


def put(lake: Lake, table: str, first: int, batch: int) -> None:
    columns = ", ".join(f"{each} AS c{each}" for each in range(1, WIDTH))
    rows = lake.spark.sql(f"SELECT CAST(id AS INT) AS c0, {columns}, id AS _seq FROM range({first}, {first + 10})")
    now = read_snapshots(lake, table).current
    append_rows(rows, table, {"f": Progress(BatchCursor(batch), {"s": batch})}, now.id if now else None)


@pytest.mark.parametrize("old", [True, False])
def test_a_wide_table_is_sliced_and_materialized_and_keeps_its_progress(lake: Lake, old: bool) -> None:
    table = made_table(lake, old=old)
    for batch in range(1, 4):
        put(lake, table, batch * 100, batch)
    lake.spark.sql(f"INSERT INTO {qualified_table(table)} (c0) VALUES (7)")  # from outside: it has no `_seq`
    snapshot = read_snapshots(lake, table).line[-1].id
    assert [(file.low, file.high) for file in list_data_files(lake, table, snapshot)] == [
        (-1, -1),
        (100, 109),
        (200, 209),
        (300, 309),
    ]
    first = next_slice(lake, table, snapshot, -1, SliceLimits(10, 2**40))
    assert (first.upto, first.last) == (109, False)
    assert next_slice(lake, table, snapshot, 209, SliceLimits(10, 2**40)).last

    done = materialize_columns(lake, table, ColumnValues({"c1": "c0 * 2"}, 104, 205), FileLayout(("_seq",)))
    assert done is not None
    assert (done.files, done.rows, done.rows_after) == (2, 20, 20)
    rows = lake.spark.sql(f"SELECT c0, c1, _seq FROM {qualified_table(table)} WHERE _seq IS NOT NULL").collect()
    assert len(rows) == 30
    assert all(row.c1 == (row.c0 * 2 if 104 < row._seq <= 205 else 1) for row in rows)
    now = read_snapshots(lake, table)
    assert now.line[-1].progress == {"f": Progress(BatchCursor(3), {"s": 3})}, "no commit of ours lacks the cursors"
    assert not now.line[-1].appends
    assert materialize_columns(lake, table, ColumnValues({"c1": "c0"}, 5_000, 6_000), FileLayout(("_seq",))) is None
