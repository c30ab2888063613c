"""The cases of the planner's benchmark are changes of its project, and the plans are what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import Plan, PlanOptions, Size

BENCH = Path(__file__).parents[3] / "bench"
sys.path.insert(0, str(BENCH))
from cases import Case, Edit, cases, graph  # noqa: E402
from events import BODY, HITS, bodies  # noqa: E402

SIZES = {
    "analytics_events": Size(1_000_000, 0),
    "pages_mv": Size(20_000, 0),
    "sessions_mv": Size(100_000, 0),
    "daily_mv": Size(30, 0),
    "orders": Size(100_000, 0),
    "orders_mv": Size(3_000, 0),
    "clicks": Size(10_000, 0),
    "clicks_mv": Size(600, 0),
}


def planned(case: Case) -> Plan:
    before, after = load_files(graph()), load_files(case.after(graph()))
    assert (before.problems, after.problems) == ((), ())
    return plan_projects(before.project, after.project, SIZES, PlanOptions("d2", case.leave))


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.number} {case.title}")
def test_a_case_is_right(case: Case) -> None:
    plan = planned(case)
    assert set(case.rewrites) | set(case.copies) <= set(SIZES)
    if case.refused:
        assert plan.errors
    if not plan.errors:
        assert plan.rows_moved is not None
        assert plan.rows_moved >= case.minimum, "nobody can move less than the minimum"


def test_all_cases_are_there() -> None:
    assert {case.number for case in cases()} == set(range(1, 25))


def test_an_edit_that_does_not_apply_is_an_error() -> None:
    case = Case(1, "", 0, "", (Edit("endpoints/trend.pipe", "no such text", ""),))
    with pytest.raises(ValueError, match="does not hold"):
        case.after(graph())


def test_sessions_are_within_a_body() -> None:
    assert BODY % HITS == 0
    sent = [(name, body) for name, body in bodies(2_000)]
    assert [name for name, _ in sent] == ["analytics_events", "orders", "clicks"]
    assert [body.count(b"\n") + 1 for _, body in sent] == [2_000, 200, 20]
