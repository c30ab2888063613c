"""What a plan moves is counted after it is decided; the sizes of columns are asked for only where data moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.unit.plan.test_planner import EVENTS, FILES, VIEW, events, first, project

from penstock.plan.plan import RejectedStrategy, Size
from penstock.plan.planner import PlanOptions, make_plan

WIDTHS = {"ts": 4_000, "user": 30_000, "note": 10_000, "n": 2_000}


class Columns:
    """Stored bytes of columns that remember which tables were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, table: str) -> Mapping[str, int]:
        self.asked.append(table)
        return WIDTHS


def test_a_view_that_is_recomputed_reads_the_bytes_of_its_columns() -> None:
    columns = Columns()
    live = replace(first(), column_bytes=columns)
    other = VIEW.replace("FROM events", "FROM events WHERE n > 1")
    plan = make_plan(live, project({**FILES, "users_mv.pipe": other}), PlanOptions("d2"))
    users = plan.resource("users")
    assert users is not None
    assert (users.strategy, users.moves) == ("recompute", Size(1000, 32_000))
    assert columns.asked == ["events__d1"]


def test_without_the_sizes_of_columns_a_view_reads_whole_rows() -> None:
    other = VIEW.replace("FROM events", "FROM events WHERE n > 1")
    plan = make_plan(first(), project({**FILES, "users_mv.pipe": other}), PlanOptions("d2"))
    users = plan.resource("users")
    assert users is not None
    assert users.moves == Size(1000, 50_000)


def test_sizes_of_columns_are_not_asked_for_where_nothing_moves() -> None:
    columns = Columns()
    live = replace(first(), column_bytes=columns)
    added = EVENTS.replace("`n` UInt16", "`more` Nullable(String) `json:$.more`,\n    `n` UInt16")
    plan = make_plan(live, project(events(added)), PlanOptions("d2"))
    assert plan.moves == Size(0, 0)
    assert columns.asked == []


def test_a_correct_strategy_that_moves_more_is_rejected_for_its_cost() -> None:
    bridge = EVENTS.replace("`n` UInt16 `json:$.n`", "`n` UInt8 `json:$.n`")
    forward = bridge.rstrip() + "\nFORWARD_QUERY >\n    SELECT ts, user, note, toUInt8(n % 256) AS n\n"
    plan = make_plan(first({"events.datasource": EVENTS}), project({"events.datasource": forward}), PlanOptions("d2"))
    found = plan.resource("events")
    assert found is not None
    assert found.strategy == "bridge"
    assert RejectedStrategy("forward", Size(1000, 50_000), "also correct, but moves more") in found.rejected
