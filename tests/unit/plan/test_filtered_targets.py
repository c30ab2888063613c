"""When the rows that a changed view gives are those of its target that a condition keeps, and when they are not."""

from __future__ import annotations

import pytest

from penstock.model.manifest import Copy
from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import Plan, PlanOptions, Size

SIZES = {"events": Size(1000, 30_000), "chosen": Size(100, 2000)}
PLAIN = "SELECT at, kind, n FROM events"
GROUPED = "SELECT toDate(at) AS day, kind, countState() AS hits FROM events{} GROUP BY day, kind"
TABLES = {
    PLAIN: ("`at` DateTime, `kind` String, `n` UInt32", "MergeTree", "at"),
    GROUPED: ("`day` Date, `kind` String, `hits` AggregateFunction(count)", "AggregatingMergeTree", "day, kind"),
}


def _plan(
    query: str, added: str, table: tuple[str, str, str] | None = None, options: PlanOptions | None = None
) -> Plan:
    """The plan where a view's WHERE gets a condition."""
    columns, engine, key = table or TABLES[query]
    form = query if "{}" in query else f"{query}{{}}"
    versions = [
        load_files(
            {
                "events.datasource": "SCHEMA >\n    `at` DateTime `json:$.at`, `kind` String `json:$.kind`, "
                "`n` UInt32 `json:$.n`, `v` Float64 `json:$.v`, `other` String `json:$.other`\n",
                "chosen.datasource": f"SCHEMA >\n    {columns}\n\nENGINE {engine}\nENGINE_SORTING_KEY {key}\n",
                "chosen_mv.pipe": f"NODE rows\nSQL >\n    {form.format(where)}\nTYPE materialized\nDATASOURCE chosen\n",
            }
        )
        for where in (" WHERE other != 'x'", f" WHERE other != 'x' AND {added}")
    ]
    assert [each.problems for each in versions] == [(), ()]
    plan = plan_projects(versions[0].project, versions[1].project, SIZES, options or PlanOptions("d2", True))
    assert plan.errors == ()
    return plan


def _strategy(plan: Plan) -> str:
    return next(each.strategy for each in plan.resources if each.name == "chosen")


def _copied(plan: Plan) -> str | None:
    copies = [flow for flow in plan.manifest.flows if isinstance(flow, Copy)]
    return copies[0].where if copies else None


@pytest.mark.parametrize(
    ("query", "added", "where"),
    [
        (PLAIN, "kind != 'bot'", "('bot' <> `kind`)"),
        (PLAIN, "(n > 3 OR kind = 'a')", "(('a' = `kind`) OR (CAST(3 AS BIGINT) < `n`))"),
        (GROUPED, "kind != 'bot'", "('bot' <> `kind`)"),
        (GROUPED, "toDate(at) != '2024-01-01'", "(CAST('2024-01-01' AS DATE) <> `day`)"),
    ],
)
def test_the_rows_that_a_condition_keeps_are_copied(query: str, added: str, where: str) -> None:
    plan = _plan(query, added)
    assert (_strategy(plan), _copied(plan)) == ("forward", where)
    assert next(each.moves for each in plan.resources if each.name == "chosen") == SIZES["chosen"]


def test_the_view_goes_on_where_the_copy_ends() -> None:
    plan = _plan(PLAIN, "kind != 'bot'")
    (view,) = plan.manifest.views
    copy = next(flow for flow in plan.manifest.flows if isinstance(flow, Copy))
    assert (view.starts, dict(copy.cursors)[view.id]) == ("placed", view.id)
    assert "bot" in view.sql


@pytest.mark.parametrize(
    ("query", "added"),
    [
        (PLAIN, "v > 1"),
        (PLAIN, "other != 'y'"),
        (PLAIN, "rand() > 3"),
        (PLAIN, "at > now() - 100"),
        (PLAIN, "toUInt8(kind) > 3"),
        (GROUPED, "at > '2024-01-01 12:00:00'"),
        (GROUPED, "n > 3"),
    ],
)
def test_what_the_target_does_not_tell(query: str, added: str) -> None:
    plan = _plan(query, added)
    assert (_strategy(plan), _copied(plan)) == ("recompute", None)


@pytest.mark.parametrize(
    ("query", "columns", "engine", "key", "added"),
    [
        # the row that tells may be gone, or be one of several
        (PLAIN, TABLES[PLAIN][0], "ReplacingMergeTree", "kind", "n > 3"),
        (GROUPED, TABLES[GROUPED][0], "AggregatingMergeTree", "day", "kind != 'bot'"),
        (PLAIN, TABLES[PLAIN][0], "ReplacingMergeTree", "toDate(at)", "at > '2024-01-01 12:00:00'"),
        # keys that are equal and differ
        ("SELECT v, n FROM events", "`v` Float64, `n` UInt32", "ReplacingMergeTree", "v", "toString(v) != '-0'"),
        (
            "SELECT (kind, v) AS both, n FROM events",
            "`both` Tuple(String, Float64), `n` UInt32",
            "ReplacingMergeTree",
            "both",
            "toString((kind, v).2) != '-0'",
        ),
        (
            "SELECT v, count() AS n FROM events{} GROUP BY v",
            "`v` Float64, `n` UInt64",
            "MergeTree",
            "v",
            "toString(v) != '-0'",
        ),
        # hidden, or removed
        (PLAIN, TABLES[PLAIN][0], "MergeTree", "at\nENGINE_TTL at + INTERVAL 900 DAY", "n > 3"),
        # a value that depends on other rows, or on the moment
        (
            "SELECT kind, row_number() OVER (ORDER BY n) AS place FROM events",
            "`kind` String, `place` UInt64",
            "MergeTree",
            "kind",
            "kind != 'bot'",
        ),
        ("SELECT kind, rand() AS r FROM events", "`kind` String, `r` UInt32", "MergeTree", "kind", "rand() > 3"),
        ("SELECT DISTINCT kind FROM events", "`kind` String", "MergeTree", "kind", "n > 3"),
    ],
)
def test_rows_that_are_not_told(query: str, columns: str, engine: str, key: str, added: str) -> None:
    assert _strategy(_plan(query, added, (columns, engine, key))) == "recompute"


def test_rows_that_were_posted_are_not_left_out() -> None:
    plan = _plan(PLAIN, "kind != 'bot'", options=PlanOptions("d2", True, streams=frozenset({"chosen"})))
    assert _strategy(plan) == "recompute"
