"""Which steps of a journal run together: those that create tables."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.deploy.lifecycle.executor import CREATED_AT_ONCE, group_steps
from penstock.model.manifest import Table
from penstock.plan.steps import Activate, AddFields, CatchUp, CreateTable, PlaceCursors, Step

STEPS = st.sampled_from(
    [CreateTable(Table("a", ())), CreateTable(Table("b", ())), AddFields("c", ()), PlaceCursors("d"), Activate()]
)


@given(st.lists(STEPS, max_size=12), st.integers(0, 3 * CREATED_AT_ONCE))
def test_each_step_runs_once_in_order(steps: list[Step], tables: int) -> None:
    planned = list(enumerate([*steps, *(CreateTable(Table(f"t{number}", ())) for number in range(tables)), CatchUp()]))
    groups = list(group_steps(planned))
    assert [each for group in groups for each in group.items()] == planned
    for group in groups:
        assert len(group) <= CREATED_AT_ONCE
        assert len(group) == 1 or all(isinstance(step, CreateTable) for step in group.values())


def test_tables_that_follow_each_other_are_created_together() -> None:
    created = [CreateTable(Table(f"t{number}", ())) for number in range(2 * CREATED_AT_ONCE)]
    groups = list(group_steps(enumerate([*created, CatchUp()])))
    assert [len(group) for group in groups] == [CREATED_AT_ONCE, CREATED_AT_ONCE, 1]
