"""docs/deployments.md says how deployments move."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from scripts.deployment_docs import MARK, PAGE, WHO, page

from penstock.cli.commands.deployment import group
from penstock.deploy.lifecycle.states import MOVES
from penstock.deploy.lifecycle.undo import INVERSES
from penstock.model.deployment import DeploymentState
from penstock.plan.steps import Step

TEXT = PAGE.read_text(encoding="utf-8")
ABOVE, BELOW = TEXT.split(MARK)


def test_states_and_steps_are_those_of_the_code() -> None:
    assert page(TEXT) == TEXT, "`make golden` writes it anew"


def test_every_move_has_an_actor() -> None:
    assert set(WHO) == {(state, to) for state, moves in MOVES.items() for to in moves}


def test_every_step_has_an_inverse() -> None:
    assert set(INVERSES) == set(get_args(Step))


@pytest.mark.parametrize("state", get_args(DeploymentState))
def test_each_state_is_explained(state: str) -> None:
    assert f"`{state}`" in ABOVE
    assert f"    {state} --> " in BELOW


def test_every_command_on_the_page_exists() -> None:
    told = set(re.findall(r"penstock deployment ([a-z]+)", TEXT))
    assert told == {command.name for command in group.registered_commands} - {"ls"}


def test_an_edited_diagram_is_written_anew() -> None:
    assert page(f"{ABOVE}{MARK}\nanything\n") == TEXT
