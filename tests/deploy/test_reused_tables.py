"""Tables that are reused below a changed table, because their views read nothing of the change: they keep their rows
and go on from them, each row once, while rows keep arriving.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import pytest

from deploy.conftest import Running

pytestmark = pytest.mark.slow

EVENTS = """SCHEMA >
    `id` UInt32 `json:$.id`,
    `user` String `json:$.user`,
    `size` String `json:$.size`,
    `at` DateTime `json:$.at`

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
SESSIONS = """SCHEMA >
    `user` String,
    `day` Date,
    `hits` UInt64,
    `ids` UInt64{more}

ENGINE MergeTree
ENGINE_SORTING_KEY user
"""
DAILY = """SCHEMA >
    `day` Date,
    `hits` AggregateFunction(sum, UInt64),
    `rows` AggregateFunction(count)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY day
"""
TOTAL = """SCHEMA >
    `one` UInt8,
    `hits` AggregateFunction(sum, UInt64)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY one
"""


def view(target: str, sql: str) -> str:
    return f"NODE made\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE {target}\n"


def project(name: str, sessions: str = "", more: str = "") -> dict[str, str | None]:
    """Events → sessions → days → one row; nothing below the sessions reads what is added to them."""
    by_user = (
        f"SELECT user, toDate(at) AS day, count() AS hits, sum(id) AS ids{sessions} FROM {name} GROUP BY user, day"
    )
    by_day = f"SELECT day, sumState(hits) AS hits, countState() AS rows FROM {name}_sessions GROUP BY day"
    in_all = f"SELECT toUInt8(1) AS one, sumMergeState(hits) AS hits FROM {name}_daily GROUP BY one"
    return {
        f"datasources/{name}.datasource": EVENTS,
        f"datasources/{name}_sessions.datasource": SESSIONS.format(more=more),
        f"datasources/{name}_daily.datasource": DAILY,
        f"datasources/{name}_total.datasource": TOTAL,
        f"pipes/{name}_to_sessions.pipe": view(f"{name}_sessions", by_user),
        f"pipes/{name}_to_daily.pipe": view(f"{name}_daily", by_day),
        f"pipes/{name}_to_total.pipe": view(f"{name}_total", in_all),
    }


def row(id: int) -> dict[str, object]:
    return {"id": id, "user": f"u{id % 7}", "size": str(id % 50), "at": f"2024-01-{1 + id % 9:02} 10:00:00"}


def tables(running: Running, name: str, version: str) -> Mapping[str, object]:
    """What each table of the chain says, finalized."""
    return {
        "events": running.ask(f"SELECT count(), sum(id) FROM {name}", version),
        "sessions": running.ask(f"SELECT sum(hits), sum(ids) FROM {name}_sessions", version),
        "daily": running.ask(f"SELECT sumMerge(hits) FROM {name}_daily", version),
        "days": running.ask(f"SELECT day, sumMerge(hits) FROM {name}_daily GROUP BY day ORDER BY day", version),
        "total": running.ask(f"SELECT sumMerge(hits) FROM {name}_total", version),
    }


def expected(posted: int) -> Mapping[str, object]:
    days: dict[int, int] = {}
    for id in range(posted):
        days[1 + id % 9] = days.get(1 + id % 9, 0) + 1
    total = sum(range(posted))
    return {
        "events": [(posted, total)],
        "sessions": [(posted, total)],
        "daily": [(posted,)],
        "days": [(date(2024, 1, day), count) for day, count in sorted(days.items())],
        "total": [(posted,)],
    }


CHANGES = {
    "added": (", max(id) AS last", ",\n    `last` UInt32"),
    "renamed": (", min(id) AS first", ",\n    `first` UInt32"),
}


@pytest.mark.parametrize("strategy", ["bridge", "forward"])
def test_tables_below_a_retyped_landing_table_are_reused(running: Running, strategy: str) -> None:
    name = f"reland_{strategy}"
    running.deploy(project(name))
    with running.posting(name, row) as posts:
        posts.wait_for(300)
        text = EVENTS.replace("`size` String", "`size` UInt16")
        text += "\nFORWARD_QUERY >\n    SELECT * REPLACE (toUInt16(size) AS size)\n"
        wish = f'[deploy.strategy]\n{name} = "{strategy}"\n'
        staged = running.deploy({f"datasources/{name}.datasource": text, "penstock.toml": wish}, promote=False)
        assert staged.state == "ready", staged.error
        found = {each: running.strategies(staged)[f"{name}{each}"] for each in ("", "_sessions", "_daily", "_total")}
        assert found == {"": strategy, "_sessions": "reuse", "_daily": "reuse", "_total": "reuse"}
        posts.wait_for()
        running.promote()
        posts.wait_for()
        running.rollback()
        running.promote()
        running.pipeline.deployer.retire(None)
        posts.wait_for()
    running.catch_up()
    assert tables(running, name, "live") == expected(posts.posted)
    assert running.ask(f"SELECT sum(size) FROM {name}") == [(sum(id % 50 for id in range(posts.posted)),)]


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_tables_below_a_view_with_another_column_are_reused(running: Running, change: str) -> None:
    name = f"again_{change}"
    running.deploy(project(name))
    with running.posting(name, row) as posts:
        posts.wait_for(300)
        staged = running.deploy(project(name, *CHANGES[change]), promote=False)
        assert staged.state == "ready", staged.error
        found = {each: running.strategies(staged)[f"{name}{each}"] for each in ("", "_sessions", "_daily", "_total")}
        assert found == {"": "none", "_sessions": "recompute", "_daily": "reuse", "_total": "reuse"}
        posts.wait_for()
        running.promote()
        posts.wait_for()
        running.rollback()
        posts.wait_for()
        running.promote()
        running.pipeline.deployer.retire(None)
        posts.wait_for()
    running.catch_up()
    assert tables(running, name, "live") == expected(posts.posted)


def test_a_view_reads_what_its_source_computes_from_now_on(running: Running) -> None:
    """The DEFAULT of the new column is what the view computed: the rows that are stored are those of the new view."""
    name = "computed"
    running.deploy(project(name))
    running.post(name, [row(id) for id in range(40)])
    before = tables(running, name, "live")
    events = EVENTS.replace("`at` DateTime `json:$.at`", "`at` DateTime `json:$.at`, `of` Date DEFAULT toDate(at)")
    files = {**project(name), f"datasources/{name}.datasource": events}
    sessions = f"pipes/{name}_to_sessions.pipe"
    files[sessions] = str(files[sessions]).replace("toDate(at) AS day", "of AS day")
    staged = running.deploy(files, promote=False)
    strategies = running.strategies(staged)
    assert (strategies[name], strategies[f"{name}_sessions"]) == ("in_place", "reuse")
    assert staged.plan["rows_moved"] == 0
    assert tables(running, name, "staging") == before == expected(40)
    running.post(name, [row(id) for id in range(40, 70)])
    assert tables(running, name, "staging") == tables(running, name, "live") == expected(70)
    running.promote()
    running.post(name, [row(id) for id in range(70, 80)])
    assert tables(running, name, "live") == expected(80)
    assert running.ask(f"SELECT count() FROM {name} WHERE of = toDate(at)") == [(80,)]
