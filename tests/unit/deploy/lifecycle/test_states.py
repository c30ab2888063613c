"""The table of legal moves."""

from __future__ import annotations

from typing import get_args

from penstock.deploy.lifecycle.states import MOVES, UNFINISHED, states_before
from penstock.model.deployment import DeploymentState


def test_every_state_is_in_the_table() -> None:
    assert set(MOVES) == set(get_args(DeploymentState))
    assert {to for moves in MOVES.values() for to in moves} <= set(MOVES)


def test_every_state_can_be_reached_and_ends() -> None:
    reached, ends = {"planned"}, {state for state, moves in MOVES.items() if not moves}
    while more := {to for state in reached for to in MOVES[state]} - reached:  # type: ignore[index]
        reached |= more
    assert reached == set(MOVES)
    assert ends == {"discarded", "retired"}


def test_only_what_nobody_reads_can_be_discarded() -> None:
    assert states_before("discarded") == (*UNFINISHED, "ready", "failed")
    assert states_before("live") == ("ready", "previous")
