"""Incremental = recomputed: whatever the batches, the order and the size of the steps and the restarts, every table
equals what plain Python computes from all rows at once.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manual_pipeline import MakePipeline, ManualPipeline
from penstock.flow.stepper import StepLimits

FILES = {
    "datasources/events.datasource": """SCHEMA >
    `id` UInt32 `json:$.id`,
    `user` String `json:$.user`,
    `amount` Nullable(Int32) `json:$.amount`,
    `day` Date `json:$.day`,
    `kind` String `json:$.kind` DEFAULT 'none'

ENGINE MergeTree
ENGINE_PARTITION_KEY toYYYYMM(day)
ENGINE_SORTING_KEY user, day
""",
    "datasources/daily.datasource": """SCHEMA >
    `day` Date,
    `user` String,
    `events` AggregateFunction(count),
    `total` AggregateFunction(sum, Nullable(Int32)),
    `least` AggregateFunction(min, Nullable(Int32)),
    `mean` AggregateFunction(avg, Nullable(Int32)),
    `kinds` AggregateFunction(uniq, String)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY user, day
""",
    "datasources/monthly.datasource": """SCHEMA >
    `month` Date,
    `events` AggregateFunction(count),
    `kinds` AggregateFunction(uniq, String)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY month
""",
    "datasources/big.datasource": """SCHEMA >
    `id` UInt32,
    `user` String

ENGINE MergeTree
ENGINE_SORTING_KEY id
""",
    "materializations/to_daily.pipe": """NODE daily
SQL >
    SELECT day, user, countState() AS events, sumState(amount) AS total, minState(amount) AS least,
        avgState(amount) AS mean, uniqState(kind) AS kinds
    FROM events GROUP BY day, user
TYPE materialized
DATASOURCE daily
""",
    "materializations/to_monthly.pipe": """NODE monthly
SQL >
    SELECT toStartOfMonth(day) AS month, countMergeState(events) AS events, uniqMergeState(kinds) AS kinds
    FROM daily GROUP BY month
TYPE materialized
DATASOURCE monthly
""",
    "materializations/to_big.pipe": """NODE big
SQL >
    SELECT id, user FROM events WHERE amount > 50
TYPE materialized
DATASOURCE big
""",
}

GOOD = st.fixed_dictionaries(
    {
        "id": st.integers(0, 2**32 - 1),
        "user": st.sampled_from(["a", "b", "ü", ""]),
        "day": st.sampled_from(["2024-01-01", "2024-01-31", "2024-02-01"]),
    },
    optional={"amount": st.none() | st.integers(-100, 100), "kind": st.sampled_from(["x", "y", ""])},
)
BAD = st.sampled_from([{"id": -1, "user": "a", "day": "2024-01-01"}, {"id": 1}, {"id": 2, "user": "a", "day": "no"}])
BATCHES = st.lists(st.lists(GOOD | BAD, min_size=1, max_size=12), min_size=1, max_size=4)
ACTIONS = st.lists(st.sampled_from(["post", "step", "restart"]), max_size=14)

Row = Mapping[str, object]


def fits(row: Row) -> bool:
    return "user" in row and row["id"] != -1 and row["day"] != "no"


def expected(rows: list[Row]) -> dict[str, Counter[tuple[object, ...]]]:
    """Each table, finalized, by plain Python."""
    groups: dict[tuple[object, object], list[Row]] = defaultdict(list)
    months: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[str(row["day"]), row["user"]].append(row)
        months[str(row["day"])[:7] + "-01"].append(row)
    daily = [(day, user, *_aggregates(group)) for (day, user), group in groups.items()]
    monthly = [
        (month, len(group), len({each.get("kind", "none") for each in group})) for month, group in months.items()
    ]
    big = [(each["id"], each["user"]) for each in rows if (each.get("amount") or 0) > 50]  # type: ignore[operator]
    return {"daily": Counter(daily), "monthly": Counter(monthly), "big": Counter(big)}


def _aggregates(group: list[Row]) -> tuple[object, ...]:
    amounts = [each["amount"] for each in group if each.get("amount") is not None]
    mean = sum(amounts) / len(amounts) if amounts else None  # type: ignore[arg-type]
    kinds = {each.get("kind", "none") for each in group}
    return len(group), sum(amounts) if amounts else None, min(amounts) if amounts else None, mean, len(kinds)  # type: ignore[arg-type, type-var]


def actual(pipeline: ManualPipeline) -> dict[str, Counter[tuple[object, ...]]]:
    """Each table through its endpoint-like query."""
    sql = {
        "daily": "SELECT toString(day), user, countMerge(events), sumMerge(total), minMerge(least), avgMerge(mean), "
        "uniqMerge(kinds) FROM daily GROUP BY day, user",
        "monthly": "SELECT toString(month), countMerge(events), uniqMerge(kinds) FROM monthly GROUP BY month",
        "big": "SELECT id, user FROM big",
    }
    return {name: Counter(pipeline.ask(text)) for name, text in sql.items()}


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    batches=BATCHES, actions=ACTIONS, picks=st.randoms(use_true_random=False), most_rows=st.sampled_from([1, 5, 1000])
)
def test_incremental_equals_recompute(
    make_pipeline: MakePipeline,
    batches: list[list[Row]],
    actions: list[str],
    picks: object,
    most_rows: int,
) -> None:
    pipeline = make_pipeline(FILES)
    pipeline.limits = StepLimits(rows=most_rows, bytes=2**30, seconds_between=0.0)
    pipeline.restart()
    waiting = list(batches)
    for action in actions:
        if action == "post" and waiting:
            pipeline.post("events", [json.dumps(row).encode() for row in waiting.pop(0)])
        elif action == "restart":
            pipeline.restart()
        elif works := pipeline.runnable():
            pipeline.stepper.step(picks.choice(works))  # type: ignore[attr-defined]
    for batch in waiting:
        pipeline.post("events", [json.dumps(row).encode() for row in batch])
    pipeline.drain()
    rows = [row for batch in batches for row in batch]
    assert actual(pipeline) == expected([row for row in rows if fits(row)])
    quarantined = [json.loads(str(raw)) for (raw,) in pipeline.read("events_quarantine", ["raw"])]
    key = lambda row: json.dumps(row, sort_keys=True)  # noqa: E731
    assert sorted(map(key, quarantined)) == sorted(key(row) for row in rows if not fits(row))
