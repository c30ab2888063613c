"""The law of the scope: planning what the changes reach gives the plan of everything.

Over generated projects with odd names, both dialects, joins, samples, engine Null and edits that may be wrong.
`PENSTOCK_PLAN_EDITS=100000 pytest tests/properties/test_scope_law.py` looks further.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from odd_projects import OddProject, odd_edits, odd_projects
from penstock.plan.plan import Live, Plan, PlanOptions
from penstock.plan.planner import make_plan, plan_everything

EDITS = int(os.environ.get("PENSTOCK_PLAN_EDITS", "2000"))
LAW = settings(max_examples=EDITS, deadline=None, suppress_health_check=list(HealthCheck))
FIRST, NEXT = PlanOptions("d1"), PlanOptions("d2", allow_destructive=True)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[OddProject, OddProject]:
    before = draw(odd_projects())
    return before, draw(odd_edits(before))


@pytest.mark.slow
@pytest.mark.timeout(600 + EDITS)
@LAW
@given(pairs())
def test_the_scoped_plan_is_the_whole_plan(pair: tuple[OddProject, OddProject]) -> None:
    note(shown_files(*pair))
    before, after = (each.project for each in pair)
    assume(before is not None and after is not None)
    assert before is not None
    assert after is not None
    first = make_plan(None, before, FIRST)
    assume(not first.errors)
    live = Live(before, first.manifest, {})
    assert content(make_plan(live, after, NEXT)) == content(plan_everything(live, after, NEXT))


def content(plan: Plan) -> Mapping[str, object]:
    """What a plan does: all but the words of its reasons."""
    return {
        "errors": {(each.code, each.message, str(each.location)) for each in plan.errors},
        "resources": {(each.kind, each.name, each.strategy) for each in plan.resources},
        "tables": set(plan.manifest.tables),
        "bindings": {(each.name, each) for each in plan.manifest.bindings},
        "flows": set(plan.manifest.flows),
        "barriers": set(plan.manifest.meets),
    }


def shown_files(before: OddProject, after: OddProject) -> str:
    """A failing pair as the files of a golden folder."""
    old, new = before.files, after.files
    changed = {path: text for path, text in new.items() if old.get(path) != text}
    gone = [path for path in old if path not in new]
    parts = [f"--- before/{path}\n{text}" for path, text in old.items()]
    return "\n".join([*parts, *(f"--- after/{path}\n{text}" for path, text in changed.items()), f"removed: {gone}"])
