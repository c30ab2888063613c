"""The versions of a project that the chaos tests deploy, and the rows they post.

`V1` and its successors are files by path; `row` gives a row by its number, and every version takes every such row,
but for each fiftieth, which goes to the quarantine.
"""

from __future__ import annotations

V1 = {
    "penstock.toml": '[spark]\nmaster = "local[2]"\ndriver_memory = "1g"\n',
    "datasources/events.datasource": """SCHEMA >
    `id` UInt64 `json:$.id`,
    `user` String `json:$.user`,
    `size` String `json:$.size`

ENGINE MergeTree
ENGINE_SORTING_KEY user
""",
    "datasources/per_user.datasource": """SCHEMA >
    `user` String,
    `events` AggregateFunction(count),
    `ids` AggregateFunction(sum, UInt64)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY user
""",
    "datasources/total.datasource": """SCHEMA >
    `one` UInt8,
    `events` AggregateFunction(count)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY one
""",
    "materializations/to_user.pipe": """NODE per_user
SQL >
    SELECT user, countState() AS events, sumState(id) AS ids FROM events GROUP BY user
TYPE materialized
DATASOURCE per_user
""",
    "materializations/to_total.pipe": """NODE total
SQL >
    SELECT toUInt8(1) AS one, countMergeState(events) AS events FROM per_user GROUP BY one
TYPE materialized
DATASOURCE total
""",
}
RETYPED = """SCHEMA >
    `id` UInt64 `json:$.id`,
    `user` String `json:$.user`,
    `size` UInt32 `json:$.size`

ENGINE MergeTree
ENGINE_SORTING_KEY id

FORWARD_QUERY >
    SELECT * REPLACE (toUInt32(size) AS size)
"""
V2 = V1 | {
    "penstock.toml": V1["penstock.toml"] + '[deploy.strategy]\nevents = "forward"\n',
    "datasources/events.datasource": RETYPED,
}
"""Version 2 copies the landing table through a forward query; both views go on from clones of live's."""
V3 = V1 | {
    "datasources/events.datasource": RETYPED,
    "datasources/per_user.datasource": V1["datasources/per_user.datasource"].replace(
        "UInt64)\n", "UInt64),\n    `last` AggregateFunction(max, UInt64)\n"
    ),
    "materializations/to_user.pipe": V1["materializations/to_user.pipe"].replace(
        "AS ids FROM", "AS ids, maxState(id) AS last FROM"
    ),
    "datasources/events_0_1.datasource": """SCHEMA >
    `id` UInt64,
    `user` String,
    `size` UInt32

ENGINE MergeTree
ENGINE_SORTING_KEY user, id
""",
    "materializations/move_events.pipe": """NODE moved
SQL >
    SELECT id, user, size FROM events
TYPE materialized
DATASOURCE events_0_1
""",
}
"""Version 3 bridges the column, makes the first view's target anew, goes on from a clone below it, and puts a
version of the landing table with another key beside it, which a view fills and keeps up to date."""

CHOSEN = V1 | {
    "penstock.toml": V1["penstock.toml"] + "[flow]\nmax_step_rows = 400\n[maintenance]\ncompact_files = 1000\n",
    "datasources/chosen.datasource": """SCHEMA >
    `id` UInt64,
    `user` String

ENGINE MergeTree
ENGINE_SORTING_KEY id
""",
    "materializations/choose.pipe": """NODE chosen
SQL >
    SELECT id, user FROM events
TYPE materialized
DATASOURCE chosen
""",
}
"""Version 1 with a view whose target has what tells its rows; it is copied in many slices."""
KEPT = CHOSEN | {
    "materializations/choose.pipe": CHOSEN["materializations/choose.pipe"].replace(
        "FROM events", "FROM events WHERE user != 'u3'"
    )
}
"""Its view gets a condition: those of the rows of its target are copied that it keeps."""

QUERIES = {
    "events": "SELECT count() AS rows, uniqExact(id) AS ids, sum(id) AS total FROM events",
    "per_user": "SELECT countMerge(events) AS rows, sumMerge(ids) AS total FROM per_user",
    "total": "SELECT countMerge(events) AS rows FROM total",
}


def row(number: int) -> dict[str, object]:
    """Every 50th row does not fit: its id is negative."""
    id = number if number % 50 else -number - 1
    return {"id": id, "user": f"u{number % 7}", "size": str(number % 100)}


KEYED = V1 | {
    "datasources/events.datasource": V1["datasources/events.datasource"]
    .replace("`json:$.size`\n", "`json:$.size`,\n    `place` Nullable(String) `json:$.place`\n")
    .replace("ENGINE_SORTING_KEY user", "ENGINE_SORTING_KEY id\nENGINE_PARTITION_KEY user"),
}
"""A version that changes the landing table in place: one more column, another sorting and partition key."""


def marked(number: int) -> dict[str, str]:
    """Version `number` of a project in which each row of each table carries the version's number, so that
    an answer from two tables shows whether both are of one version."""
    forward = f"\nFORWARD_QUERY >\n    SELECT * REPLACE (toUInt8({number}) AS v)\n" if number > 1 else ""
    strategy = '[deploy.strategy]\nevents = "forward"\n' if number % 2 else ""
    return {
        "penstock.toml": V1["penstock.toml"] + strategy,
        "datasources/events.datasource": "SCHEMA >\n    `id` UInt64 `json:$.id`,\n    `user` String `json:$.user`,\n"
        f"    `v` UInt8 `json:$.v` DEFAULT {number}\n\nENGINE MergeTree\nENGINE_SORTING_KEY user\n{forward}",
        "datasources/per_user.datasource": "SCHEMA >\n    `user` String,\n    `events` AggregateFunction(count),\n"
        "    `ids` AggregateFunction(sum, UInt64),\n    `low` AggregateFunction(min, UInt8),\n"
        "    `high` AggregateFunction(max, UInt8)\n\nENGINE AggregatingMergeTree\nENGINE_SORTING_KEY user\n",
        "materializations/to_user.pipe": MARKED_VIEW,
        "endpoints/summary.pipe": f"NODE summary\nSQL >\n{SUMMARY}\nTYPE endpoint\n",
    }


MARKED_VIEW = """NODE per_user
SQL >
    SELECT user, countState() AS events, sumState(id) AS ids, minState(v) AS low, maxState(v) AS high
    FROM events GROUP BY user
TYPE materialized
DATASOURCE per_user
"""
SUMMARY = """    SELECT
        (SELECT count() FROM events) AS rows,
        (SELECT min(v) FROM events) AS low,
        (SELECT max(v) FROM events) AS high,
        (SELECT minMerge(low) FROM per_user) AS user_low,
        (SELECT maxMerge(high) FROM per_user) AS user_high
    FROM (SELECT 1 AS one)"""
"""How many rows there are, and the version's number by two tables."""
