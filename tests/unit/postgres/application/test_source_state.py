"""Which of its migrations a table has, where its schema fits more than one place of their chain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.postgres.application.source_state import SourceStage, SourceState, source_state
from penstock.postgres.application.table_marks import SourceMemory, TableMark
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import (
    Catalog,
    EnumLabel,
    QualifiedName,
    ReplicatedTable,
    ReplicatedType,
)
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.operation import (
    ChangeKey,
    DropColumn,
    DropDefault,
    Operation,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
)
from penstock.postgres.migration.operation_effects import apply_operations
from unit.postgres.application.test_change_stops import ADD, INTEGER, NAME, table

BEFORE = table(id=INTEGER)
ADDED_AND_DROPPED = [ADD, DropColumn("b")]
RENAMED = [RenameColumn("id", "x"), RenameColumn("x", "id")]


def chain(*operations: Operation, table: ReplicatedTable = BEFORE) -> list[Migration]:
    """A migration of each operation."""
    made, now = [], table
    for at, each in enumerate(operations, 1):
        after = apply_operations(now, [each])
        made.append(Migration(str(at), now.name, fingerprint(now), fingerprint(after), False, (each,)))
        now = after
    return made


def state_of(
    last_attnum: int, operations: list[Operation], memory: SourceMemory | None, table: ReplicatedTable = BEFORE
) -> SourceState:
    now = replace(table, last_attnum=last_attnum)
    return source_state(Catalog((now,)), MigrationHistory(tuple(chain(*operations))), memory)


def found(
    last_attnum: int, operations: list[Operation], mark: TableMark | None, table: ReplicatedTable = BEFORE
) -> tuple[int, TableMark | None]:
    """How many migrations the table has, and what is marked."""
    memory = None if mark is None else SourceMemory({table.oid: mark})
    state = state_of(last_attnum, operations, memory, table)
    return [*state.stages.values()].count(SourceStage.after), state.marks.get(table.oid)


@pytest.mark.parametrize(
    ("last_attnum", "mark", "count"),
    [
        (1, TableMark(None, 1), 0),
        (2, TableMark(None, 1), 2),
        (2, TableMark("1", 2), 2),
        (2, TableMark("2", 2), 2),
        (3, TableMark("2", 2), 2),  # somebody has added a column, and dropped it
        (2, TableMark("0", 1), 0),  # the mark is of a migration whose file is gone
        (2, None, 0),
    ],
)
def test_a_column_that_is_added_and_dropped(last_attnum: int, mark: TableMark | None, count: int) -> None:
    assert found(last_attnum, ADDED_AND_DROPPED, mark) == (count, TableMark("2" if count else None, last_attnum))


@pytest.mark.parametrize(
    ("mark", "count"),
    [
        (TableMark(None, 1, {1: "70"}), 0),
        (TableMark(None, 1, {1: "60"}), 2),
        (TableMark("2", 1, {1: "70"}), 2),
        (TableMark("2", 1, {1: "60"}), 2),  # somebody gave a right on the column
        (TableMark(None, 1), 0),  # of a release that did not note it
    ],
)
def test_a_name_that_is_given_back(mark: TableMark, count: int) -> None:
    now = replace(BEFORE, columns=tuple(replace(each, mark="70") for each in BEFORE.columns))
    assert found(1, RENAMED, mark, now) == (count, TableMark("2" if count else None, 1, {1: "70"}))


def test_what_nothing_tells_is_not_taken_for_done() -> None:
    """What waits says so, and whoever knows better says it once."""
    state = state_of(2, ADDED_AND_DROPPED, None)
    assert ({*state.stages.values()}, state.alike) == ({SourceStage.before}, {"1", "2"})
    state = state_of(2, ADDED_AND_DROPPED, SourceMemory(had=frozenset({"1", "2"})))
    assert ({*state.stages.values()}, state.alike) == ({SourceStage.after}, set())


ENUM = replace(
    BEFORE,
    columns=(
        replace(
            BEFORE.columns[0],
            type=ReplicatedType("s.mood", labels=(EnumLabel(1, "sad"), EnumLabel(2, "ok"))),
            default="'sad'",
        ),
    ),
)
PAIRS: dict[str, tuple[list[Operation], dict[str, str]]] = {
    "a default": ([SetDefault("id", "'ok'"), SetDefault("id", "'sad'")], {"1": "60"}),
    "no default": ([DropDefault("id"), SetDefault("id", "'sad'")], {"1": "60"}),
    "a label": ([RenameEnumValue("id", "ok", "fine"), RenameEnumValue("id", "fine", "ok")], {"labels 1": "60"}),
    "the table": ([RenameTable(QualifiedName("public", "x")), RenameTable(NAME)], {"name": "60"}),
    "the key": ([ChangeKey((), "full", ("id",)), ChangeKey((), "default", ())], {"keys": "60"}),
    "two things": (
        [SetDefault("id", "'ok'"), RenameEnumValue("id", "ok", "fine"), RenameEnumValue("id", "fine", "ok"),
         SetDefault("id", "'sad'")],
        {"1": "60", "labels 1": "60"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("operations", "touched"), PAIRS.values(), ids=PAIRS.keys())
def test_what_is_given_back_leaves_a_trace(operations: list[Operation], touched: dict[str, str]) -> None:
    marks = {"name": "70", "keys": "70", "labels 1": "70", "release": "70"}
    now = replace(ENUM, last_attnum=1, marks=marks, columns=tuple(replace(each, mark="70") for each in ENUM.columns))
    migrations = chain(*operations, table=ENUM)

    def count(changed: dict[str, str]) -> int:
        mark = TableMark(None, 1, {1: changed.get("1", "70")}, {each: changed.get(each, "70") for each in marks})
        state = source_state(Catalog((now,)), MigrationHistory(tuple(migrations)), SourceMemory({now.oid: mark}))
        return [*state.stages.values()].count(SourceStage.after)

    assert (count({}), count(touched)) == (0, len(operations))
    assert count({**touched, "release": "60"}) == 0, "an upgrade of Postgres writes its whole catalog anew"
    for each in touched if len(touched) > 1 else ():
        assert count({each: "60"}) == 0, "a part of them alone is no change that is given back"


@pytest.mark.parametrize(("touched", "count"), [("", 1), ("id", 3), ("id b", 5)])
def test_two_pairs_of_different_columns(touched: str, count: int) -> None:
    """What was touched since the first migration says which of the others Postgres has."""
    table = apply_operations(BEFORE, [ADD])
    now = replace(table, columns=tuple(replace(each, mark="70") for each in table.columns))
    columns = {each.attnum: "60" if each.name in touched.split() else "70" for each in table.columns}
    operations = [ADD, *RENAMED, RenameColumn("b", "y"), RenameColumn("y", "b")]
    at, marked = found(2, operations, TableMark("1", 2, columns), now)
    assert at == count
    assert marked is not None


@pytest.mark.parametrize(("mark", "count"), [("70", 0), ("60", 3)])
def test_a_name_that_comes_back_by_way_of_two_others(mark: str, count: int) -> None:
    now = replace(BEFORE, columns=tuple(replace(each, mark="70") for each in BEFORE.columns))
    around = [RenameColumn("id", "x"), RenameColumn("x", "y"), RenameColumn("y", "id")]
    assert found(1, around, TableMark(None, 1, {1: mark}), now)[0] == count


def test_a_table_that_fits_one_place_is_marked() -> None:
    assert found(1, [ADD], None) == (0, TableMark(None, 1))
    assert found(1, [], None)[1] is None
