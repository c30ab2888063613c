from __future__ import annotations

import pytest

from penstock.errors import Conflict
from penstock.model.manifest import Manifest
from penstock.state.database import Database
from penstock.state.deployments import Deployments
from penstock.state.journal import MAY_FOLLOW, Journal, JournalEntry, StepMark


@pytest.fixture
def journal(database: Database) -> Journal:
    Deployments(database).create("d", None, {}, {}, Manifest(), ["create table a", "activate"])
    return Journal(database)


def test_steps_come_back_in_order_with_what_is_done(journal: Journal) -> None:
    journal.mark(1, 0, "intended")
    journal.mark(1, 0, "done")
    journal.mark(1, 1, "intended")
    assert journal.entries(1) == (JournalEntry(0, "create table a", "done"), JournalEntry(1, "activate", "intended"))
    assert [entry.done for entry in journal.entries(1)] == [True, False]


@pytest.mark.parametrize("mark", ["intended", "done", "undone"])
def test_saying_it_again_changes_nothing(journal: Journal, mark: StepMark) -> None:
    for each in dict.fromkeys(("intended", mark, mark)):
        journal.mark(1, 0, each)  # type: ignore[arg-type]
    journal.mark(1, 0, mark)
    assert journal.entries(1)[0].mark == mark


def test_what_was_never_intended_is_neither_done_nor_undone(journal: Journal) -> None:
    for mark in ("done", "undone"):
        with pytest.raises(Conflict, match="step 0 of deployment 1 cannot change from waiting"):
            journal.mark(1, 0, mark)  # type: ignore[arg-type]


def test_what_is_undone_does_not_run_again(journal: Journal) -> None:
    journal.mark(1, 0, "intended")
    journal.mark(1, 0, "undone")
    with pytest.raises(Conflict, match="cannot change from undone"):
        journal.mark(1, 0, "intended")


def test_a_step_that_is_not_in_the_journal_is_refused(journal: Journal) -> None:
    with pytest.raises(Conflict, match="unknown"):
        journal.mark(1, 7, "intended")
    assert Journal.entries(journal, 9) == ()


def test_no_mark_leads_back_from_undone() -> None:
    assert all("undone" not in before for mark, before in MAY_FOLLOW.items() if mark != "undone")


def test_several_steps_are_marked_together_or_not_at_all(journal: Journal) -> None:
    journal.mark_all(1, (0, 1), "intended")
    assert [entry.mark for entry in journal.entries(1)] == ["intended", "intended"]
    journal.mark(1, 1, "undone")
    with pytest.raises(Conflict, match="step 1 of deployment 1 cannot change from undone to done"):
        journal.mark_all(1, (0, 1), "done")
    assert [entry.mark for entry in journal.entries(1)] == ["intended", "undone"]
    with pytest.raises(Conflict, match="step 7 of deployment 1 cannot change from unknown"):
        journal.mark_all(1, (0, 7), "intended")
