"""Views that leave rows out in other ways than by a condition: what they give is not what another table, or the view
of before, has."""

from __future__ import annotations

from itertools import pairwise

import pytest

from golden_cases import plan_files

Files = dict[str, str]
EVENTS: Files = {
    "datasources/events.datasource": "SCHEMA >\n    `id` UInt32 `json:$.id`,\n    `kind` String `json:$.kind`\n\n"
    "ENGINE MergeTree\nENGINE_SORTING_KEY id\n"
}
TOP = "SCHEMA >\n    `id` UInt32,\n    `kind` String\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"


def with_view(query: str, dialect: str = "clickhouse") -> Files:
    view = f"DIALECT {dialect}\nNODE n\nSQL >\n    {query}\n\nTYPE materialized\nDATASOURCE top\n"
    return {**EVENTS, "datasources/top.datasource": TOP, "pipes/top_mv.pipe": view}


def strategy(before: Files, after: Files) -> str:
    """What is done with `top`."""
    plan = plan_files(before, after)
    found = next(each for each in plan.resources if each.name == "top")
    return "clone" if "a clone" in found.reason else found.strategy


ALL = "SELECT id, kind FROM events"
CLICKHOUSE = (
    f"{ALL} ORDER BY id LIMIT 2",
    f"{ALL} ORDER BY id LIMIT 3 OFFSET 1",
    f"{ALL} ORDER BY id OFFSET 1 ROW FETCH FIRST 4 ROWS ONLY",
    f"{ALL} ORDER BY id LIMIT 1 BY kind",
    f"{ALL} ORDER BY id DESC LIMIT 1 BY kind",
    f"{ALL} QUALIFY row_number() OVER (PARTITION BY kind ORDER BY id) = 1",
    "SELECT id, kind FROM (SELECT * FROM events ORDER BY kind LIMIT 5) WHERE 1",
    "SELECT DISTINCT id, kind FROM events",
)
SPARK = (
    f"{ALL} ORDER BY id LIMIT 2",
    f"{ALL} TABLESAMPLE (10 PERCENT)",
    f"{ALL} TABLESAMPLE (50 PERCENT)",
    f"{ALL} TABLESAMPLE (3 ROWS)",
    f"{ALL} TABLESAMPLE (BUCKET 1 OUT OF 4)",
    f"{ALL} TABLESAMPLE (10 PERCENT) WHERE id > 1",
    f"{ALL} QUALIFY row_number() OVER (PARTITION BY kind ORDER BY id) = 1",
)
BOTH = [*((each, "clickhouse") for each in CLICKHOUSE), *((each, "spark") for each in SPARK)]


@pytest.mark.parametrize(("query", "dialect"), BOTH)
def test_a_new_target_is_no_clone_of_what_is_read(query: str, dialect: str) -> None:
    assert strategy(EVENTS, with_view(query, dialect)) == "create"
    assert strategy(EVENTS, with_view(ALL, dialect)) == "clone"


@pytest.mark.parametrize(("query", "dialect"), BOTH)
def test_a_target_is_filled_anew_when_a_view_begins_or_ends_to_leave_rows_out(query: str, dialect: str) -> None:
    assert strategy(with_view(ALL, dialect), with_view(query, dialect)) == "recompute"
    assert strategy(with_view(query, dialect), with_view(query, dialect)) == "none"
    # Every row is wanted again: the table that is read has them.
    assert strategy(with_view(query, dialect), with_view(ALL, dialect)) in ("clone", "reuse", "recompute")


@pytest.mark.parametrize("dialect", ["clickhouse", "spark"])
def test_a_target_is_filled_anew_when_a_view_leaves_other_rows_out(dialect: str) -> None:
    queries = CLICKHOUSE if dialect == "clickhouse" else SPARK
    for before, after in pairwise(queries):
        assert strategy(with_view(before, dialect), with_view(after, dialect)) == "recompute", (before, after)
