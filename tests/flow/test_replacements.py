"""Replaced rows: whatever the batches, the steps, the restarts and the crashes, the table has the rows since the last
replacement, and the views below have every appended row once and no replaced one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manual_pipeline import MakePipeline, ManualPipeline
from penstock import crash_points
from penstock.flow.landing.removal import Removal
from penstock.flow.stepper import StepLimits

FILES = {
    "datasources/prices.datasource": """SCHEMA >
    `id` Int32 `json:$.id`,
    `day` Date `json:$.day` DEFAULT '2024-01-01'

ENGINE MergeTree
ENGINE_PARTITION_KEY toYYYYMM(day)
ENGINE_SORTING_KEY id
""",
    "datasources/seen.datasource": "SCHEMA >\n    `id` Int32\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n",
    "datasources/counted.datasource": "SCHEMA >\n    `rows` UInt64\n\nENGINE MergeTree\n",
    "materializations/to_seen.pipe": "NODE n\nSQL SELECT id FROM prices\nTYPE materialized\nDATASOURCE seen\n",
    "materializations/to_counted.pipe": "NODE n\nSQL SELECT count() AS rows FROM prices\nTYPE materialized\n"
    "DATASOURCE counted\n",
}
DAYS = ("2024-01-01", "2024-02-01")
IDS = st.lists(st.integers(0, 9), max_size=3)
ACTIONS = st.lists(
    st.tuples(st.just("post"), IDS.filter(bool))
    | st.tuples(st.just("replace"), st.lists(IDS, min_size=1, max_size=3))
    | st.tuples(st.sampled_from(["step", "step", "restart"]), st.just([])),
    min_size=3,
    max_size=8,
)


def lines(ids: Sequence[int]) -> list[bytes]:
    return [json.dumps({"id": id, "day": DAYS[id % 2]}).encode() for id in ids]


def check(pipeline: ManualPipeline, kept: Sequence[int], appended: Sequence[int]) -> None:
    pipeline.drain()
    assert Counter(pipeline.ask("SELECT id FROM prices")) == Counter((id,) for id in kept)
    assert Counter(pipeline.ask("SELECT id FROM seen")) == Counter((id,) for id in appended)
    blocks = [rows for (rows,) in pipeline.ask("SELECT rows FROM counted")]
    assert sum(blocks) == len(appended)
    assert 0 not in blocks, "a view is not run for rows that were replaced"


@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(actions=ACTIONS, picks=st.randoms(use_true_random=False))
def test_a_table_has_the_rows_since_its_last_replacement(
    make_pipeline: MakePipeline, actions: list[tuple[str, list[object]]], picks: object
) -> None:
    pipeline = make_pipeline(FILES)
    pipeline.limits = StepLimits(rows=2, bytes=2**30, seconds_between=0.0)
    pipeline.restart()
    pipeline.post("prices", lines([3]))
    pipeline.drain()  # a view that has not begun begins with the rows that are there then
    kept, appended = [3], [3]
    for action, given_ids in actions:
        match action:
            case "post":
                pipeline.post("prices", lines(given_ids))  # type: ignore[arg-type]
                kept += given_ids  # type: ignore[arg-type]
                appended += given_ids  # type: ignore[arg-type]
            case "replace":
                pipeline.replace("prices", [lines(part) for part in given_ids])  # type: ignore[arg-type]
                kept = [id for part in given_ids for id in part]  # type: ignore[attr-defined]
            case "restart":
                pipeline.restart()
            case _:
                if works := pipeline.runnable():
                    pipeline.stepper.step(picks.choice(works))  # type: ignore[attr-defined]
    check(pipeline, kept, appended)


@pytest.mark.parametrize("point", ["lake.before", "landing.committed", "quarantine.committed"])
def test_a_crash_while_rows_are_replaced_leaves_the_old_rows_or_the_new(
    make_pipeline: MakePipeline, point: str
) -> None:
    pipeline = make_pipeline(FILES)
    pipeline.post("prices", lines([1, 2, 3]))
    pipeline.drain()
    pipeline.replace("prices", [[*lines([4]), b'{"id": "wrong"}'], lines([5])])
    pipeline.post("prices", lines([6]))
    [landing] = pipeline.runnable()
    crash_points.arm(point, 1 if point != "lake.before" else 2, lambda: None)  # the first is a property of the table
    with pytest.raises(crash_points.Crashed):
        pipeline.stepper.step(landing)
    crash_points.disarm()
    pipeline.restart()
    found = sorted(pipeline.ask("SELECT id FROM prices"))
    assert found == ([(1,), (2,), (3,)] if point == "lake.before" else [(4,), (5,)])
    check(pipeline, [4, 5, 6], [1, 2, 3, 6])
    assert pipeline.read("prices_quarantine", ["raw"]) == [('{"id": "wrong"}',)]


@pytest.mark.parametrize("point", ["lake.after", "rows.removed", "landing.committed"])
def test_a_crash_while_rows_are_removed_removes_them_once_and_no_later_row(
    make_pipeline: MakePipeline, point: str
) -> None:
    pipeline = make_pipeline(FILES)
    pipeline.post("prices", lines([1, 2, 3, 4]))
    pipeline.drain()
    pipeline.remove("prices", Removal({}, "`id` > 2", {"id": "INT"}))  # as of a version that was made later
    pipeline.post("prices", lines([5]))
    [work] = pipeline.runnable()
    crash_points.arm(point, 1, lambda: None)
    with pytest.raises(crash_points.Crashed):
        pipeline.stepper.step(work)
    crash_points.disarm()
    pipeline.restart()
    check(pipeline, [1, 2, 5], [1, 2, 3, 4, 5])
    assert pipeline.read("prices_quarantine", ["raw"]) == []
