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


def found(last_attnum: int, operations: list[Operation], mark: TableMark | None) -> tuple[int, TableMark | None]:
    """How many migrations the table has, and where it surely is."""
    now: ReplicatedTable = replace(BEFORE, last_attnum=last_attnum)
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


def test_a_name_that_is_given_back_is_not_told() -> None:
    assert found(1, RENAMED, TableMark(None, 1)) == (2, None)


def test_a_table_that_fits_one_place_is_marked() -> None:
    assert found(1, [ADD], None) == (0, TableMark(None, 1))
    assert found(1, [], None)[1] is None
