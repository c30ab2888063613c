"""Which rows wait at a change that a store carries out at its LSN, in whatever order Postgres commits its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.postgres.application.change_forms import ChangeForms, change_forms
from penstock.postgres.application.change_stop import ChangeStop, RowPlaces, stop_of
from penstock.postgres.application.source_state import SourceStage, SourceState
from penstock.postgres.catalog.replicated_table import (
    QualifiedName,
    ReplicatedColumn,
    ReplicatedTable,
    ReplicatedType,
)
from penstock.postgres.catalog.schema_form import schema_form
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    DropColumn,
    OldRowsValue,
    Operation,
    RenameColumn,
    RenameEnumValue,
    SwapColumns,
)

NAME = QualifiedName("public", "t")
TEXT, INTEGER = ReplicatedType("text"), ReplicatedType("integer")
ADD = AddColumn("b", TEXT, True, None, OldRowsValue(None))
SWAP, DROP = SwapColumns("a", "b"), DropColumn("b")


def table(**columns: ReplicatedType) -> ReplicatedTable:
    made = tuple(ReplicatedColumn(at, name, of) for at, (name, of) in enumerate(columns.items(), 1))
    return ReplicatedTable(1, NAME, made)


def at(lsn: int) -> RowPlaces:
    """Rows of one transaction."""
    return RowPlaces(lsn, lsn, lsn)


def migration(id: str, *operations: Operation) -> Migration:
    return Migration(id, NAME, "", "", False, operations)


def forms(now: ReplicatedTable, *migrations: Migration, reached: int = 0) -> dict[str, ChangeForms]:
    """The forms, where Postgres has so many of the migrations."""
    stages = {each.id: SourceStage.after if at < reached else SourceStage.before for at, each in enumerate(migrations)}
    return dict(change_forms(migrations, SourceState(stages, dict.fromkeys(stages, now), ())))


def form(**columns: str) -> str:
    return schema_form(NAME, columns.items())


def test_a_swap_with_its_column_and_what_is_dropped_later() -> None:
    found = forms(table(id=INTEGER, a=INTEGER), migration("1", ADD), migration("2", SWAP), migration("3", DROP))
    assert [*found] == ["2"]
    assert found["2"].before == {form(id="integer", a="integer"), form(id="integer", a="integer", b="text")}
    assert found["2"].after == {form(id="integer", b="integer", a="text"), form(id="integer", a="text")}
    assert found["2"].is_sure


def test_all_in_one_command_whatever_is_committed_in_between() -> None:
    found = forms(table(id=INTEGER, a=INTEGER), migration("1", ADD, SWAP, DROP))["1"]
    assert found.after == {form(id="integer", b="integer", a="text"), form(id="integer", a="text")}
    assert form(id="integer", a="integer", b="text") in found.before


def test_a_form_on_both_sides_is_not_told() -> None:
    """The last column, of the same type: once the old one is dropped the rows look as before."""
    found = forms(table(id=INTEGER, a=TEXT), migration("1", ADD, SWAP, DROP))["1"]
    assert found.after == {form(id="integer", b="text", a="text")}
    assert form(id="integer", a="text") not in found.before
    assert not found.is_sure


def test_what_postgres_has_already_is_not_sure() -> None:
    found = forms(table(id=INTEGER, b=TEXT), migration("1", RenameColumn("a", "b")), reached=1)
    assert found == {"1": ChangeForms(frozenset(), frozenset({form(id="integer", b="text")}), False)}


def test_what_rows_do_not_show_is_no_stop() -> None:
    assert forms(table(id=INTEGER, a=TEXT), migration("1", RenameEnumValue("a", "x", "y"))) == {}
    assert forms(table(id=INTEGER, a=TEXT), migration("1", DropColumn("a"))) == {}


def test_many_operations_are_tried_in_their_order() -> None:
    added = [replace(ADD, name=f"c{number}") for number in range(12)]
    found = forms(table(id=INTEGER, a=INTEGER), migration("1", *added, SwapColumns("a", "c3")))["1"]
    assert (len(found.before), len(found.after), found.is_sure) == (13, 1, True)


@pytest.mark.parametrize(
    ("form", "is_done", "passage"),
    [
        ("old", False, "goes"),
        ("part", False, "waits"),
        ("new", False, "waits"),
        ("unknown", False, "goes"),
        ("old", True, "late"),
        ("part", True, "late"),
        ("new", True, "goes"),
        ("unknown", True, "goes"),
    ],
)
def test_what_becomes_of_rows(form: str, is_done: bool, passage: str) -> None:
    stop = ChangeStop("s", "1", frozenset({"old", "part"}), frozenset({"part", "new"}), True, is_done)
    assert stop.passage(form, at(7)) == passage
    assert replace(stop, behind=8).passage(form, at(7)) == passage


def test_the_first_stop_that_is_not_lifted_is_the_one() -> None:
    one = ChangeStop("s", "1", frozenset({"a"}), frozenset({"b", "c"}), True, True)
    two = ChangeStop("s", "2", frozenset({"a", "b"}), frozenset({"c"}), True)
    assert stop_of([one, two], "a", at(7)) == one
    assert stop_of([one, two], "b", at(7)) is None
    assert stop_of([one, two], "c", at(7)) == two
    back = ChangeStop("s", "3", frozenset({"b"}), frozenset({"a"}), True, True)
    assert stop_of([one, back], "a", at(7)) is None, "a later change led back to this form"


def test_a_form_of_before_that_a_later_change_gives_again() -> None:
    """From an LSN on that is known to be behind the change no row is from before it."""
    stop = ChangeStop("s", "1", frozenset({"a"}), frozenset({"b"}), is_sure=True, is_done=True, behind=8)
    assert [stop_of([stop], "a", at(lsn)) for lsn in (7, 8)] == [stop, None]
    assert stop_of([replace(stop, is_done=False)], "b", at(9)) is not None, "it waits all the same"


def test_a_transaction_that_was_open_when_postgres_was_seen_to_have_a_change() -> None:
    """No table changes while a transaction that is open has rows of it: what it commits later is from behind."""
    stop = ChangeStop("s", "1", frozenset({"a"}), frozenset({"b"}), is_sure=True, is_done=True, seen=8)
    assert stop_of([stop], "a", RowPlaces(7, 8, 9)) is None
    assert stop_of([stop], "a", RowPlaces(7, 7, 9)) == stop


def test_rows_of_before_both_changes_are_not_behind_the_second() -> None:
    """Whatever was committed before the second was announced is from before it; what is not known waits."""
    first = ChangeStop("s", "1", frozenset({"a"}), frozenset({"b"}), True)
    second = ChangeStop("s", "2", frozenset({"b"}), frozenset({"a", "c"}), True, since={"a": 8})
    stops = [first, second]
    assert stop_of(stops, "a", at(7)) is None
    assert stop_of(stops, "a", at(8)) == second
    assert stop_of(stops, "a", RowPlaces(7, 9, 9)) == second, "a transaction that was open then"
    assert stop_of(stops, "a", RowPlaces(7, 7, None)) == second
    assert stop_of(stops, "c", at(7)) == second, "a form for which no place is known"
    assert stop_of(stops, "b", at(7)) == first


def test_rows_of_before_a_change_are_from_before_every_later_one() -> None:
    """A later one for which no place is known does not keep them: whoever stood there would release the first, too."""
    first = ChangeStop("s", "1", frozenset({"a"}), frozenset({"b"}), is_sure=True, announced=5)
    third = ChangeStop("s", "3", frozenset(), frozenset({"a"}), is_sure=False)
    assert stop_of([first, third], "a", at(4)) is None
    assert stop_of([first, third], "a", at(5)) == third
    assert stop_of([first], "b", at(4)) is None, "a form that is known as one behind it only later"
