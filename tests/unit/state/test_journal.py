from __future__ import annotations

import pytest

from penstock.errors import Conflict
from penstock.model.manifest import Manifest
from penstock.state.database import Database
from penstock.state.deployments import Deployments
from penstock.state.journal import Entry, Journal


@pytest.fixture
def journal(database: Database) -> Journal:
    Deployments(database).create("d", None, {}, {}, Manifest())
    return Journal(database)


def test_steps_come_back_in_order_with_what_is_done(journal: Journal) -> None:
    journal.intend(1, 1, "activate")
    journal.intend(1, 0, "create table a")
    journal.done(1, 0)
    assert journal.entries(1) == (Entry(0, "create table a", True), Entry(1, "activate", False))


def test_intending_again_changes_nothing(journal: Journal) -> None:
    journal.intend(1, 0, "activate")
    journal.done(1, 0)
    journal.intend(1, 0, "activate")
    assert journal.entries(1) == (Entry(0, "activate", True),)


def test_a_number_is_never_given_to_another_step(journal: Journal) -> None:
    journal.intend(1, 0, "activate")
    with pytest.raises(Conflict, match="is `activate` in the journal, not `catch up`"):
        journal.intend(1, 0, "catch up")


def test_what_was_never_intended_cannot_be_done(journal: Journal) -> None:
    with pytest.raises(Conflict):
        journal.done(1, 3)


def test_a_journal_of_nothing_is_empty_and_of_nobody_is_refused(journal: Journal) -> None:
    assert journal.entries(1) == ()
    with pytest.raises(Conflict):
        journal.intend(9, 0, "activate")
