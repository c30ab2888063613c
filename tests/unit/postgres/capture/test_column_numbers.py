"""Columns of a Relation are never taken for others: random changes of a table, looked at before and after."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.postgres.capture.schemas.column_numbers import TableDescription, column_numbers
from penstock.postgres.capture.stream.pgoutput import Relation, RelationColumn
from penstock.postgres.catalog.replicated_table import (
    QualifiedName,
    ReplicatedColumn,
    ReplicatedTable,
    ReplicatedType,
)

TEXT = ReplicatedType("text", -1, 25)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["add", "drop", "rename", "swap", "again", "generated", "plain"]),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    max_size=7,
)


@dataclass
class Catalog:
    """A table as Postgres keeps it."""

    table: ReplicatedTable
    made: int = 0

    def change(self, kind: str, one: int, other: int) -> None:
        self.made += 1
        columns = list(self.table.columns)
        at, to = (one % len(columns), other % len(columns)) if columns else (0, 0)
        match kind:
            case "add":
                self._add(f"n{self.made}")
            case "generated":
                last = self.table.last_attnum + 1
                self.table = replace(self.table, generated=self.table.generated | {last}, last_attnum=last)
            case "plain" if self.table.generated:
                number = min(self.table.generated)
                made = ReplicatedColumn(number, f"p{self.made}", TEXT, mark=str(self.made))
                kept = sorted([*columns, made], key=lambda each: each.attnum)
                self.table = replace(self.table, columns=tuple(kept), generated=self.table.generated - {number})
            case "drop" if columns:
                self._set(columns[:at] + columns[at + 1 :])
            case "again" if columns:
                self._set(columns[:at] + columns[at + 1 :])
                self._add(columns[at].name)
            case "rename" if columns:
                columns[at] = replace(columns[at], name=f"n{self.made}", mark=str(self.made))
                self._set(columns)
            case "swap" if columns:
                names = columns[at].name, columns[to].name
                columns[at] = replace(columns[at], name=names[1], mark=str(self.made))
                columns[to] = replace(columns[to], name=names[0], mark=str(self.made))
                self._set(columns)

    def _add(self, name: str) -> None:
        last = self.table.last_attnum + 1
        made = ReplicatedColumn(last, name, TEXT, mark=str(self.made))
        self.table = replace(self.table, columns=(*self.table.columns, made), last_attnum=last)

    def _set(self, columns: list[ReplicatedColumn]) -> None:
        self.table = replace(self.table, columns=tuple(columns))


def new_catalog() -> Catalog:
    columns = tuple(ReplicatedColumn(at, f"c{at}", TEXT, mark="0") for at in (1, 2, 3))
    return Catalog(ReplicatedTable(1, QualifiedName("s", "t"), columns, last_attnum=3))


def relation_of(table: ReplicatedTable) -> Relation:
    return Relation(1, "s", "t", "d", tuple(RelationColumn(each.name, 25, -1, False) for each in table.columns))


def version(table: ReplicatedTable, *, is_followed: bool = False) -> TableDescription:
    return TableDescription(table, 0, 0, is_followed)


@given(earlier=CHANGES, first=CHANGES, second=CHANGES)
def test_a_number_is_right_or_not_known(
    earlier: list[tuple[str, int, int]], first: list[tuple[str, int, int]], second: list[tuple[str, int, int]]
) -> None:
    catalog, found = new_catalog(), []
    for changes in (earlier, first, second):
        for each in changes:
            catalog.change(*each)
        found.append(catalog.table)
    before, then, after = found
    numbers = column_numbers(relation_of(then), version(before), version(after))
    truth = tuple(each.attnum for each in then.columns)
    assert all(number in (None, at) for number, at in zip(numbers, truth, strict=True))
    kinds = {kind for kind, _, _ in (*first, *second)}
    if kinds <= {"add", "rename", "swap"} and not before.generated:
        there = len(before.columns)
        assert numbers[:there] == truth[:there], "nothing was dropped, so that places tell all columns of before"
    if kinds <= {"add", "drop", "again"} and len([*first, *second]) < 5:
        sure = before.by_attnum().keys() & after.by_attnum().keys()
        known = {at for number, at in zip(numbers, truth, strict=True) if number == at}
        assert sure <= known, "columns that nobody touched are known by their names"


def test_where_each_change_is_in_the_log_the_last_one_tells() -> None:
    catalog = new_catalog()
    then = catalog.table
    catalog.change("again", 1, 0)
    catalog.change("again", 1, 0)
    after = catalog.table
    unsure = column_numbers(relation_of(then), version(then), version(after))
    sure = column_numbers(relation_of(then), version(then, is_followed=True), version(after, is_followed=True))
    lost = column_numbers(relation_of(then), version(then, is_followed=True), version(after))
    assert sure == (1, 2, 3)
    assert unsure == lost == (1, None, None)
    assert column_numbers(relation_of(then), None, version(after)) == (None, None, None)
