"""A target is not made anew, unasked, from a table of which expired rows were deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.plan import Live, Plan, Size
from penstock.plan.planner import PlanOptions, make_plan

EVENTS = (
    "SCHEMA >\n    `ts` DateTime `json:$.ts`,\n    `user` String `json:$.user`\n"
    'ENGINE "MergeTree"\nENGINE_SORTING_KEY "ts"\nENGINE_TTL "ts + INTERVAL 1 DAY"\n'
)
USERS = (
    "SCHEMA >\n    `user` String,\n    `hits` AggregateFunction(count)\n"
    'ENGINE "AggregatingMergeTree"\nENGINE_SORTING_KEY "user"\n'
)
VIEW = (
    "NODE n\nSQL >\n    SELECT user, countState() AS hits FROM events GROUP BY user\n"
    "TYPE materialized\nDATASOURCE users\n"
)
FILES = {"events.datasource": EVENTS, "users.datasource": USERS, "users_mv.pipe": VIEW}
CHANGED = {**FILES, "users_mv.pipe": VIEW.replace("FROM events", "FROM events WHERE ts > '2001-01-01 00:00:00'")}


def plan(shortened: frozenset[str], files: dict[str, str], allow: bool = False) -> Plan:
    project = load_files(FILES).project
    made = make_plan(None, project, PlanOptions("d1"))
    live = Live(project, made.manifest, {table.id: Size(1000, 50_000) for table in made.manifest.tables})
    changed = load_files(files)
    assert changed.problems == ()
    live = replace(live, shortened=shortened)
    return make_plan(live, changed.project, PlanOptions("d2", allow_destructive=allow))


def test_what_it_had_counted_is_not_lost_unasked() -> None:
    codes = [each.code for each in plan(frozenset({"events__d1"}), CHANGED).errors]
    assert codes == ["history-lost"]
    assert "`users` would be recomputed from `events`" in plan(frozenset({"events__d1"}), CHANGED).errors[0].message


@pytest.mark.parametrize("shortened", [frozenset(), frozenset({"users__d1"})])
def test_while_every_row_is_there_it_is_made_anew(shortened: frozenset[str]) -> None:
    assert plan(shortened, CHANGED).errors == ()


def test_who_wants_it_gets_it_of_the_rows_there_are() -> None:
    made = plan(frozenset({"events__d1"}), CHANGED, allow=True)
    assert made.errors == ()
    assert [view.starts for view in made.manifest.views] == ["beginning"]


def test_a_new_target_takes_the_rows_there_are() -> None:
    more = {"more.datasource": USERS, "more_mv.pipe": VIEW.replace("DATASOURCE users", "DATASOURCE more")}
    assert plan(frozenset({"events__d1"}), {**FILES, **more}).errors == ()
