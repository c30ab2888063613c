"""Which of its migrations a table has, where its schema fits more than one place of their chain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.postgres.application.source_state import SourceStage, source_state
from penstock.postgres.application.table_marks import TableMark
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import Catalog, ReplicatedTable
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.operation import DropColumn, Operation, RenameColumn
from penstock.postgres.migration.operation_effects import apply_operations
from unit.postgres.application.test_change_stops import ADD, INTEGER, NAME, table

BEFORE = table(id=INTEGER)
ADDED_AND_DROPPED = [ADD, DropColumn("b")]
RENAMED = [RenameColumn("id", "x"), RenameColumn("x", "id")]


def chain(*operations: Operation) -> list[Migration]:
    """A migration of each operation."""
    made, now = [], BEFORE
    for at, each in enumerate(operations, 1):
        after = apply_operations(now, [each])
        made.append(Migration(str(at), NAME, fingerprint(now), fingerprint(after), False, (each,)))
        now = after
    return made


def found(
    last_attnum: int, operations: list[Operation], mark: TableMark | None, table: ReplicatedTable = BEFORE
) -> tuple[int, TableMark | None]:
    """How many migrations the table has, and where it surely is."""
    now = replace(table, last_attnum=last_attnum)
    marks = {} if mark is None else {now.oid: mark}
    state = source_state(Catalog((now,)), MigrationHistory(tuple(chain(*operations))), marks)
    return [*state.stages.values()].count(SourceStage.after), state.marks.get(now.oid)


@pytest.mark.parametrize(
    ("last_attnum", "mark", "count", "is_sure"),
    [
        (1, TableMark(None, 1), 0, True),
        (2, TableMark(None, 1), 2, True),
        (2, TableMark("1", 2), 2, True),
        (2, TableMark("2", 2), 2, True),
        (3, TableMark("2", 2), 2, False),  # somebody has added a column, and dropped it
        (2, TableMark("0", 1), 2, False),  # the mark is of a migration whose file is gone
        (2, None, 2, False),
    ],
)
def test_a_column_that_is_added_and_dropped(
    last_attnum: int, mark: TableMark | None, count: int, *, is_sure: bool
) -> None:
    at, marked = found(last_attnum, ADDED_AND_DROPPED, mark)
    assert (at, marked is not None) == (count, is_sure)


@pytest.mark.parametrize(
    ("mark", "count", "is_sure"),
    [
        (TableMark(None, 1, {1: "70"}), 0, True),
        (TableMark(None, 1, {1: "60"}), 2, True),
        (TableMark("2", 1, {1: "70"}), 2, True),
        (TableMark("2", 1, {1: "60"}), 2, True),  # somebody gave a right on the column
        (TableMark(None, 1), 2, False),  # of a release that did not note it
    ],
)
def test_a_name_that_is_given_back(mark: TableMark, count: int, *, is_sure: bool) -> None:
    now = replace(BEFORE, columns=tuple(replace(each, mark="70") for each in BEFORE.columns))
    at, marked = found(1, RENAMED, mark, now)
    assert (at, marked is not None) == (count, is_sure)
    if marked is not None:
        assert marked.columns == {1: "70"}


@pytest.mark.parametrize(("touched", "count"), [("", 1), ("id", 3), ("id b", 5)])
def test_two_pairs_of_different_columns(touched: str, count: int) -> None:
    """What was touched since the first migration says which of the others Postgres has."""
    table = apply_operations(BEFORE, [ADD])
    now = replace(table, columns=tuple(replace(each, mark="70") for each in table.columns))
    columns = {each.attnum: "60" if each.name in touched.split() else "70" for each in table.columns}
    operations = [ADD, *RENAMED, RenameColumn("b", "y"), RenameColumn("y", "b")]
    at, marked = found(2, operations, TableMark("1", 2, columns), now)
    assert (at, marked is not None) == (count, True)


@pytest.mark.parametrize(("mark", "count"), [("70", 0), ("60", 3)])
def test_a_name_that_comes_back_by_way_of_two_others(mark: str, count: int) -> None:
    now = replace(BEFORE, columns=tuple(replace(each, mark="70") for each in BEFORE.columns))
    around = [RenameColumn("id", "x"), RenameColumn("x", "y"), RenameColumn("y", "id")]
    assert found(1, around, TableMark(None, 1, {1: mark}), now)[0] == count


def test_a_table_that_fits_one_place_is_marked() -> None:
    assert found(1, [ADD], None) == (0, TableMark(None, 1))
    assert found(1, [], None)[1] is None
