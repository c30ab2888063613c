"""An Enum that gets a value keeps the rows only where no row can have been left out for want of that value."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.planner import Live, PlanOptions, make_plan

NARROW, WIDE = "Enum8('a' = 1, 'b' = 2)", "Enum8('a' = 1, 'b' = 2, 'c' = 3)"


def schema(type: str) -> str:
    return f"SCHEMA >\n    `id` UInt32,\n    `kind` {type}\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"


def files(source: str, target: str) -> dict[str, str]:
    node = "NODE n\nSQL >\n    SELECT id, kind FROM source\nTYPE materialized\nDATASOURCE target\n"
    return {
        "source.datasource": schema(source),
        "target.datasource": schema(target),
        "to_target.pipe": f"{node}ON_ERROR quarantine\n",
    }


@pytest.mark.parametrize(
    ("before", "after", "strategy"),
    [
        (("String", NARROW), ("String", WIDE), "recompute"),  # a row with c is in the quarantine of live
        (("String", NARROW), ("String", "String"), "recompute"),
        ((NARROW, NARROW), (WIDE, WIDE), "in_place"),  # no row of the source can have c
        ((NARROW, "String"), (WIDE, "String"), "none"),
    ],
)
def test_an_enum_below_a_view_that_leaves_rows_out(
    before: tuple[str, str], after: tuple[str, str], strategy: str
) -> None:
    old = load_files(files(*before)).project
    first = make_plan(None, old, PlanOptions("d1"))
    plan = make_plan(Live(old, first.manifest, {}), load_files(files(*after)).project, PlanOptions("d2"))
    assert not plan.errors
    assert next(each.strategy for each in plan.resources if each.name == "target") == strategy
