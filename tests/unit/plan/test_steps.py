"""The order of steps."""

from __future__ import annotations

from typing import get_args

from penstock.model.manifest import Table
from penstock.plan.steps import STEP_ORDER, Activate, CatchUp, CreateTable, PlaceCursors, SetSort, Step, sort_steps


def test_every_step_has_a_place_in_the_order() -> None:
    assert set(STEP_ORDER) == set(get_args(Step))


def test_steps_of_one_kind_stay_as_they_were() -> None:
    first, second = CreateTable(Table("b", ())), CreateTable(Table("a", ()))
    sort, place = SetSort("a", (), ()), PlaceCursors("a")
    found = sort_steps((CatchUp(), sort, Activate(), first, place, second))
    assert found == (first, second, sort, place, Activate(), CatchUp())
