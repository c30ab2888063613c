"""The edits of `edits.toml`: what the planner moves for each, and for how many it is no more than needed."""

from __future__ import annotations

import pytest

from edit_cases import EDITS, EditCase, outcome_of


@pytest.mark.parametrize("edit", EDITS, ids=[f"{each.group}: {each.edit}" for each in EDITS])
def test_what_it_moves(edit: EditCase) -> None:
    found = outcome_of(edit)
    assert found.errors == ()
    assert found.moves == edit.moves
    assert found.is_enough(edit) == (not edit.missing), f"{found.rows} rows move, clones of {sorted(found.clones)}"


def test_each_edit_is_written_once() -> None:
    assert len({(each.group, each.edit) for each in EDITS}) == len(EDITS)


def test_most_edits_move_no_more_than_needed() -> None:
    """Of the 110 edits at least 95 were to be right in the end; this is how many are so far, of those written here."""
    assert sum(not each.missing for each in EDITS) >= 122
