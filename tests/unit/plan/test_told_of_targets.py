"""What the plan says of a view's target beside its strategy: the others, a rollback, and rows that have expired."""

from __future__ import annotations

from penstock.parse.project_loader import load_files
from penstock.plan.plan import ResourcePlan
from penstock.plan.planner import Live, PlanOptions, make_plan

_EVENTS = "SCHEMA >\n    `at` DateTime `json:$.at`, `k` String `json:$.k`\n\nENGINE MergeTree\nENGINE_SORTING_KEY at\n"
_KEYED = "SCHEMA >\n    `at` DateTime, `k` String\n\nENGINE MergeTree\nENGINE_SORTING_KEY at\n"


def _files(target: str, query: str = "SELECT at, k FROM events", events: str = _EVENTS) -> dict[str, str]:
    return {
        "datasources/events.datasource": events,
        "datasources/t.datasource": target,
        "pipes/t_mv.pipe": f"NODE n\nSQL >\n    {query}\nTYPE materialized\nDATASOURCE t\n",
    }


def _target(before: dict[str, str], after: dict[str, str], *posted: str) -> ResourcePlan:
    old, new = load_files(before), load_files(after)
    assert not (*old.problems, *new.problems)
    first = make_plan(None, old.project, PlanOptions("d1"))
    options = PlanOptions("d2", True, streams=frozenset(posted))
    plan = make_plan(Live(old.project, first.manifest, {}), new.project, options)
    assert not plan.errors
    return next(each for each in plan.resources if each.name == "t")


def test_what_cannot_be_computed_anew_is_not_said_to_be_correct() -> None:
    events = _EVENTS.replace("MergeTree\nENGINE_SORTING_KEY at", "Null")
    wider = _KEYED.replace("ENGINE_SORTING_KEY at", "ENGINE_SORTING_KEY k, at")
    (recompute,) = _target(_files(_KEYED, events=events), _files(wider, events=events)).rejected
    assert (recompute.strategy, recompute.reason) == (
        "recompute",
        "`events` does not have all rows that it is made of",
    )
    (recompute,) = _target(_files(_KEYED), _files(wider)).rejected
    assert recompute.reason == "also correct, but moves more"


def test_a_rollback_of_a_target_that_views_alone_feed() -> None:
    """Nothing of it is filled from JSON: its paths are of no rows."""
    with_paths = _KEYED.replace("`at` DateTime", "`at` DateTime `json:$.at`").replace(
        "`k` String", "`k` String `json:$.k`"
    )
    changed = with_paths.replace(" `json:$.k`", "")
    kept = _target(_files(with_paths), _files(changed)).rollback
    assert kept is not None
    assert (kept.lossless, kept.reason) == (True, "its views feed both versions")
    kept = _target(_files(with_paths), _files(changed), "t").rollback
    assert kept is not None
    assert not kept.lossless, "rows were posted to it"


def test_rows_that_had_expired_are_not_among_those_that_are_merged() -> None:
    columns = "`day` Date, `k` String, `n` SimpleAggregateFunction(sum, UInt64)"
    rows = f"SCHEMA >\n    {columns}\n\nENGINE AggregatingMergeTree\n"
    ttl = "ENGINE_TTL day + INTERVAL 30 DAY\n"
    merged = rows.replace(" `k` String,", "") + "ENGINE_SORTING_KEY day\n"
    query = "SELECT toDate(at) AS day, {}count() AS n FROM events GROUP BY {}day"
    for before, said in ((ttl, "its view gives, but for those that have expired"), ("", "its view gives")):
        old = _files(f"{rows}ENGINE_SORTING_KEY day, k\n{before}", query.format("k, ", "k, "))
        target = _target(old, _files(merged, query.format("", "")))
        assert (target.strategy, target.reason) == (
            "reuse",
            f"the rows that are stored, merged by `day`, are those that {said}",
        )
