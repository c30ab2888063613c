"""Views that look alike and give other rows: their targets are computed anew."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.planner import Live, PlanOptions, make_plan

LANDING = (
    "SCHEMA >\n    `a` Int32,\n    `b` Int32,\n    `fs` Array(Float64)\n\nENGINE MergeTree\nENGINE_SORTING_KEY a\n"
)
TARGET = "SCHEMA >\n    `b` Int64\n\nENGINE MergeTree\nENGINE_SORTING_KEY b\n"


def files(sql: str) -> dict[str, str]:
    node = f"NODE n\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE target\n"
    return {"t.datasource": LANDING, "u.datasource": LANDING, "target.datasource": TARGET, "to_target.pipe": node}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # aliases that are the numbers which names get when queries are compared
        (
            "SELECT t1.b - t2.b AS b FROM t AS t2 JOIN u AS t1 ON t1.a = t2.a",
            "SELECT t2.b - t1.b AS b FROM t AS t2 JOIN u AS t1 ON t1.a = t2.a",
        ),
        # [0.0] and [-0.0] are one key, and two texts
        ("SELECT count() AS b FROM t GROUP BY fs", "SELECT count() AS b FROM t GROUP BY fs, toString(fs)"),
        ("SELECT count() AS b FROM t GROUP BY fs", "SELECT count() AS b FROM t GROUP BY fs, toString(fs[1])"),
    ],
)
def test_a_view_that_gives_other_rows(before: str, after: str) -> None:
    old = load_files(files(before)).project
    first = make_plan(None, old, PlanOptions("d1"))
    plan = make_plan(Live(old, first.manifest, {}), load_files(files(after)).project, PlanOptions("d2"))
    assert not plan.errors
    assert next(each.strategy for each in plan.resources if each.name == "target") == "recompute"
