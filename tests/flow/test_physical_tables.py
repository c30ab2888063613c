"""Physical tables: created, altered, cloned and dropped, each twice, because a restart runs a step again."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyspark.sql import DataFrame

from penstock.flow.table_registry import TableRegistry
from penstock.lake.read.history_slices import SliceLimits, next_slice
from penstock.lake.spark.names import NAMESPACE, qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.commit import CommitConflict, append_rows, commit_progress
from penstock.lake.tables.new_tables import create_table
from penstock.lake.tables.snapshots import Progress, read_snapshots
from penstock.model.cursor import BatchCursor, TailCursor
from penstock.model.manifest import Field, Table, Transform
from penstock.model.types import Decimal, Int, String

numbers = itertools.count(1)


@pytest.fixture
def table(lake: Lake) -> str:
    id = f"tables__x{next(numbers)}"
    made = Table(
        id, (Field("a", Int(32)), Field("b", String())), (Transform("identity", "b"),), (Transform("identity", "a"),)
    )
    for _ in range(2):
        create_table(lake, made)
    return id


def put(lake: Lake, table: str, values: list[int], batch: int) -> None:
    rows = ", ".join(f"({value}, 'x', CAST({value} AS BIGINT))" for value in values)
    frame = lake.spark.sql(f"SELECT * FROM VALUES {rows} AS t(a, b, _seq)")
    now = read_snapshots(lake, table).current
    append_rows(frame, table, {"f": Progress(BatchCursor(batch), {"s": batch})}, now.id if now else None)


def test_rows_and_progress_are_one_commit(lake: Lake, table: str) -> None:
    put(lake, table, [1, 2], 1)
    put(lake, table, [3], 2)
    known = read_snapshots(lake, table)
    assert [(each.appends, each.added) for each in known.line] == [(True, 2), (True, 1)]
    assert known.progress == {"f": Progress(BatchCursor(2), {"s": 2})}
    assert known.at(known.line[0].id) == {"f": Progress(BatchCursor(1), {"s": 1})}
    assert known.rows == 3


def step(lake: Lake, value: int) -> DataFrame:
    return lake.spark.sql(f"SELECT {value} AS a, 'x' AS b, CAST({value} AS BIGINT) AS _seq")


def test_a_step_that_another_server_made_is_not_made_again(lake: Lake, table: str) -> None:
    """Two that know the same cursor make the same step: the second is refused, and knows more then."""
    stopped, taker = TableRegistry(lake), TableRegistry(lake)
    made = {"f": Progress(BatchCursor(1), {"s": 1})}
    assert stopped.snapshots(table).current is None
    taker.commit(step(lake, 1), table, made)
    with pytest.raises(CommitConflict):
        stopped.commit(step(lake, 1), table, made)
    taker.commit(step(lake, 2), table, {"g": Progress(BatchCursor(2), {"s": 2})})
    with pytest.raises(CommitConflict):
        stopped.commit(step(lake, 1), table, made)
    assert read_snapshots(lake, table).rows == 2
    assert stopped.progress(table, "g") == Progress(BatchCursor(2), {"s": 2})


def test_a_foreign_commit_between_two_steps_does_not_stop_them(lake: Lake, table: str) -> None:
    registry = TableRegistry(lake)
    registry.commit(step(lake, 1), table, {"f": Progress(BatchCursor(1), {"s": 1})})
    lake.spark.sql(f"UPDATE {qualified_table(table)} SET b = 'settled' WHERE _seq <= 1")
    lake.spark.sql(f"INSERT INTO {qualified_table(table)} VALUES (7, 'outside', 7)")
    assert registry.commit(step(lake, 2), table, {"f": Progress(BatchCursor(2), {"s": 2})}) == 1
    lake.spark.sql(f"CALL lake.system.rewrite_data_files(table => 'penstock.{table}')")
    assert registry.commit(step(lake, 3), table, {"f": Progress(BatchCursor(3), {"s": 3})}) == 1
    rows = lake.spark.sql(f"SELECT a, b FROM {qualified_table(table)} ORDER BY a").collect()
    assert [tuple(row) for row in rows] == [(1, "settled"), (2, "x"), (3, "x"), (7, "outside")]


def test_progress_is_found_after_maintenance(lake: Lake, table: str) -> None:
    put(lake, table, [1], 1)
    put(lake, table, [2], 2)
    lake.spark.sql(
        f"CALL lake.system.rewrite_data_files(table => 'penstock.{table}', options => map('min-input-files', '2'))"
    )
    known = read_snapshots(lake, table)
    assert not known.line[-1].appends
    assert known.progress == {"f": Progress(BatchCursor(2), {"s": 2})}


def test_changes_in_place(lake: Lake, table: str) -> None:
    put(lake, table, [1], 1)
    for _ in range(2):
        physical_tables.add_fields(lake, table, [Field("c", Decimal(10, 2)), Field("d", String())])
        physical_tables.widen_field(lake, table, Field("a", Int(64)))
        physical_tables.widen_field(lake, table, Field("c", Decimal(12, 2)))
        physical_tables.set_sort_order(lake, table, [Transform("identity", "c")])
        physical_tables.set_partition_key(lake, table, [Transform("identity", "a")])
    columns = {field.name: field.dataType.simpleString() for field in lake.spark.table(qualified_table(table)).schema}
    assert columns == {"a": "bigint", "b": "string", "_seq": "bigint", "c": "decimal(12,2)", "d": "string"}
    put(lake, table, [2**31], 2)
    found = physical_tables.load_table(lake, table)
    assert found is not None
    assert [str(field.name) for field in found.spec().fields] == ["a"]
    for _ in range(2):
        physical_tables.drop_field(lake, table, "d")
        physical_tables.drop_field(lake, table, "c")
    assert set(lake.spark.table(qualified_table(table)).columns) == {"a", "b", "_seq", "c"}, "c is in the sorting key"
    assert sorted(row.a for row in lake.spark.table(qualified_table(table)).collect()) == [1, 2**31]


def test_a_clone_is_independent_of_its_original(lake: Lake, table: str) -> None:
    put(lake, table, [1, 2], 1)
    clone = f"{table}f1"
    for _ in range(2):
        physical_tables.clone_table(lake, table, clone)
    assert read_snapshots(lake, clone) == read_snapshots(lake, table)
    put(lake, clone, [3], 2)
    for number in range(8):
        put(lake, table, [10 + number], 2 + number)
    physical_tables.drop_table(lake, table)
    assert sorted(row.a for row in lake.spark.table(qualified_table(clone)).collect()) == [1, 2, 3]
    physical_tables.drop_table(lake, clone)
    assert clone not in physical_tables.list_tables(lake)


@pytest.mark.parametrize("most_rows", [1, 3, 100])
def test_slices_hold_each_row_once(lake: Lake, table: str, most_rows: int) -> None:
    for batch, values in enumerate([[1, 2], [3], [4, 5, 6], [7]], 1):
        put(lake, table, values, batch)
    snapshot = read_snapshots(lake, table).line[-1].id
    put(lake, table, [8], 5)
    after, seen = -1, []
    while True:
        piece = next_slice(lake, table, snapshot, after, SliceLimits(most_rows, 2**40))
        rows = lake.spark.sql(
            f"SELECT a FROM {qualified_table(table)} VERSION AS OF {snapshot}"
            f" WHERE _seq > {after} AND _seq <= {piece.upto}"
        )
        seen += [row.a for row in rows.collect()]
        after = piece.upto
        if piece.last:
            break
    assert sorted(seen) == [1, 2, 3, 4, 5, 6, 7]


def test_a_table_without_snapshot(lake: Lake, table: str) -> None:
    assert read_snapshots(lake, table).current is None
    assert read_snapshots(lake, "no_such_table").current is None
    commit_progress(lake, table, {"v": Progress(TailCursor(-1))}, None)
    assert read_snapshots(lake, table).progress == {"v": Progress(TailCursor(-1))}


@pytest.fixture
def busy_table(lake: Lake, table: str) -> Iterator[str]:
    """A table to which somebody commits ten times a second, as maintenance may."""
    is_over, failed = threading.Event(), list[BaseException]()

    def commit() -> None:
        number = 0
        while not is_over.wait(0.1):
            number += 1
            found = lake.catalog.load_table((NAMESPACE, table))
            with contextlib.suppress(CommitFailedException), found.transaction() as changes:
                changes.set_properties({"number": str(number)})

    def run() -> None:
        try:
            commit()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield table
    is_over.set()
    thread.join()
    assert not failed


def test_a_table_is_changed_while_others_commit_to_it(lake: Lake, busy_table: str) -> None:
    """A change of the schema that comes second was an error: Iceberg makes it anew on what it knew before."""
    names = [f"n{number}" for number in range(12)]
    for name in names:
        physical_tables.add_fields(lake, busy_table, [Field(name, Int(32))])
        physical_tables.widen_field(lake, busy_table, Field(name, Int(64)))
    for name in names[6:]:
        physical_tables.drop_field(lake, busy_table, name)
    found = physical_tables.load_table(lake, busy_table)
    assert found is not None
    types = {each.name: str(each.field_type) for each in found.schema().fields}
    assert types == {"a": "int", "b": "string", "_seq": "long", **dict.fromkeys(names[:6], "long")}
