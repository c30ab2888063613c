"""A view that counts the rows of a table, and reads no column of it, is computed anew where these rows are others."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import PlanOptions

FILES = {
    "events.datasource": "SCHEMA >\n    `k` String `json:$.k`,\n    `n` UInt32 `json:$.n`\n",
    "copied.datasource": "SCHEMA >\n    `k` String,\n    `n` UInt32\n\nENGINE MergeTree\nENGINE_SORTING_KEY k\n",
    "copied_mv.pipe": "NODE n\nSQL >\n    SELECT k, n FROM events\nTYPE materialized\nDATASOURCE copied\n",
    "totals.datasource": "SCHEMA >\n    `one` UInt8,\n    `hits` AggregateFunction(count)\n\n"
    "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY one\n",
    "totals_mv.pipe": "NODE n\nSQL >\n    SELECT 1 AS one, countState() AS hits FROM copied GROUP BY one\n"
    "TYPE materialized\nDATASOURCE totals\n",
    "paired.datasource": "SCHEMA >\n    `k` String\n\nENGINE MergeTree\nENGINE_SORTING_KEY k\n",
    "paired_mv.pipe": "NODE n\nSQL >\n    SELECT e.k AS k FROM events AS e CROSS JOIN copied AS c\n"
    "TYPE materialized\nDATASOURCE paired\n",
}
SECOND = "NODE n\nSQL >\n    SELECT k, n FROM events WHERE n > 3\nTYPE materialized\nDATASOURCE copied\n"


def _strategies(changed: dict[str, str]) -> dict[str, str]:
    versions = [load_files(FILES), load_files(FILES | changed)]
    assert [each.problems for each in versions] == [(), ()]
    plan = plan_projects(versions[0].project, versions[1].project, {}, PlanOptions("d2", allow_destructive=True))
    assert plan.errors == ()
    return {each.name: each.strategy for each in plan.resources}


@pytest.mark.parametrize(
    "changed",
    [
        {"copied_mv.pipe": FILES["copied_mv.pipe"].replace("FROM events", "FROM events WHERE k != 'bot'")},
        {"copied_mv.pipe": FILES["copied_mv.pipe"].replace("FROM events", "FROM events ARRAY JOIN [1, 2] AS a")},
        {"copied_second.pipe": SECOND},
    ],
)
def test_what_counts_other_rows_is_computed_anew(changed: dict[str, str]) -> None:
    found = _strategies(changed)
    assert found["copied"] in ("forward", "recompute"), "a condition on stored columns copies the rows it keeps"
    assert [found[name] for name in ("totals", "paired")] == ["recompute"] * 2


def test_what_counts_as_many_rows_stays() -> None:
    changed = FILES["copied_mv.pipe"].replace("SELECT k, n", "SELECT lower(k) AS k, toUInt32(k) AS n")
    found = _strategies({"copied_mv.pipe": changed})
    assert [found[name] for name in ("copied", "totals", "paired")] == ["recompute", "reuse", "reuse"]
