"""Decisions about rows: each row once, in order, and gone when the flow has passed it."""

from __future__ import annotations

from penstock.state.condemned_rows import CondemnedRow, CondemnedRows
from penstock.state.database import Database
from penstock.state.made_tables import MadeTables

FLOW, OTHER = ("t", "view"), ("u", "view")


def test_numbers_grow_and_no_row_is_condemned_twice(database: Database) -> None:
    rows = CondemnedRows(database)
    first = rows.add(FLOW, [CondemnedRow(7, "a", "why", "{}"), CondemnedRow(7, "b", "why\0", "{}\0")])
    assert [each.number for each in first] == [1, 2]
    again = rows.add(FLOW, [CondemnedRow(7, "a", "other"), CondemnedRow(9, "", "why")])
    assert [(each.seq, each.number) for each in again] == [(9, 3)]
    rows.add(OTHER, [CondemnedRow(7, "a", "why")])
    found = CondemnedRows(database).of_flow(FLOW)
    assert [(each.seq, each.mark, each.problem, each.raw) for each in found] == [
        (7, "a", "why", "{}"),
        (7, "b", "why\ufffd", "{}\ufffd"),
        (9, "", "why", ""),
    ]


def test_numbers_go_on_after_what_is_forgotten(database: Database) -> None:
    rows = CondemnedRows(database)
    rows.add(FLOW, [CondemnedRow(number, "", "why") for number in range(1_200)])
    rows.forget(FLOW, range(1, 1_201))
    assert rows.of_flow(FLOW) == ()
    assert [each.number for each in rows.add(FLOW, [CondemnedRow(1, "", "why")], after=1_200)] == [1_201]


def test_they_go_with_their_table(database: Database) -> None:
    rows = CondemnedRows(database)
    for flow in (FLOW, OTHER):
        rows.add(flow, [CondemnedRow(1, "", "why")])
    MadeTables(database).forget(FLOW[0])
    assert [len(rows.of_flow(flow)) for flow in (FLOW, OTHER)] == [0, 1]


def test_where_a_row_was_left_out_is_kept(database: Database) -> None:
    rows = CondemnedRows(database)
    rows.add(FLOW, [CondemnedRow(number, "", "why") for number in range(3)])
    rows.leave_out(FLOW, [1, 3], "tail:7")
    rows.leave_out(FLOW, [3], "tail:8")
    assert [each.left_out_at for each in rows.of_flow(FLOW)] == ["tail:7", None, "tail:8"]


def test_a_smaller_step_from_the_same_position_does_not_pass_what_the_larger_one_left_out(database: Database) -> None:
    """The larger one was not committed. At the position after the smaller one, the row would count as passed: the view
    would read it, and the quarantine has it."""
    rows = CondemnedRows(database)
    rows.add(FLOW, [CondemnedRow(number, "", "why") for number in range(2)])
    rows.leave_out(FLOW, [1, 2], "tail:7")
    rows.leave_out(FLOW, [1], "tail:7")
    assert [each.left_out_at for each in rows.of_flow(FLOW)] == ["tail:7", None]
    rows.leave_out(FLOW, [], "tail:7")
    assert [each.left_out_at for each in rows.of_flow(FLOW)] == [None, None]
