"""When the stored rows of a view's target make up those of its changed view, and when they do not."""

from __future__ import annotations

import pytest

from golden_cases import FOLDER, read_case
from penstock.parse.project_loader import load_files
from penstock.plan.plan import NOTHING
from penstock.plan.planner import Live, Plan, PlanOptions, make_plan
from penstock.plan.steps import Activate

CASE = read_case(FOLDER / "67_keys_rolled_up")
DAILY, VIEW = "datasources/daily.datasource", "pipes/daily_mv.pipe"
KEYS = "ENGINE_SORTING_KEY kind, day"


def planned(
    before: dict[str, str] | None = None, after: dict[str, str] | None = None, options: PlanOptions | None = None
) -> Plan:
    """The plan of the golden case, with some files changed."""
    old = load_files({**CASE.before, **(before or {})}).project
    new = load_files({**CASE.after, **(before or {}), **(after or {})})
    assert not new.problems
    first = make_plan(None, old, PlanOptions("d1"))
    assert not first.errors
    return make_plan(Live(old, first.manifest, CASE.sizes), new.project, options or PlanOptions("d2", True))


def strategy(plan: Plan, name: str = "daily") -> str:
    assert not plan.errors
    return next(each.strategy for each in plan.resources if each.name == name)


def said(plan: Plan) -> str:
    """What the rule said of the target."""
    rules = next(each.rules for each in plan.resources if each.name == "daily")
    return next(rule.says for rule in rules if "functions of the rows" in rule.rule)


def test_no_row_moves() -> None:
    plan = planned()
    assert (strategy(plan), strategy(plan, "hourly"), plan.moves) == ("reuse", "reuse", NOTHING)


def test_the_value_of_a_coarser_key_is_computed_of_the_stored_one() -> None:
    bound = next(each for each in planned().manifest.bindings if each.name == "daily").column("day")
    assert bound is not None
    assert bound.before is not None
    assert (bound.physical, "DATE_TRUNC('MONTH', `day`)" in bound.before.expression) == ("day__2", True)


def test_rows_that_are_posted_after_the_plan_end_the_activation() -> None:
    clones = [each for step in planned().steps if isinstance(step, Activate) for each in step.clones]
    assert {each.of.partition("__")[0]: each.unposted for each in clones}["daily"]


def test_a_table_that_rows_were_posted_to_is_computed_anew() -> None:
    plan = planned(options=PlanOptions("d2", True, streams=frozenset({"daily"})))
    assert (strategy(plan), said(plan)) == ("recompute", "rows were posted to it")


def test_a_view_that_reads_the_rows_before_they_are_merged() -> None:
    reader = {
        "datasources/rows.datasource": "SCHEMA >\n    `day` Date,\n    `n` UInt64\n\n"
        "ENGINE SummingMergeTree\nENGINE_SORTING_KEY day\n",
        "pipes/rows_mv.pipe": "NODE n\nSQL >\n    SELECT day, count() AS n FROM daily GROUP BY day\n"
        "TYPE materialized\nDATASOURCE rows\n",
    }
    plan = planned(reader)
    assert (strategy(plan), said(plan)) == ("recompute", "a view reads the rows before they are merged")
    assert strategy(planned(after=reader)) == "recompute", "nor a new one"


def test_two_views_into_the_target() -> None:
    old, new = ({"pipes/more_mv.pipe": each[VIEW].replace("'scroll'", "'click'")} for each in (CASE.before, CASE.after))
    assert said(planned(old, new)) == "not one view alone gives its rows"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (KEYS, "ENGINE_SORTING_KEY day"),  # `kind` would be that of any row
        (KEYS, "ENGINE_SORTING_KEY lower(kind), day"),
        (KEYS, f"{KEYS}\nENGINE_PARTITION_KEY toYYYYMM(day)"),
        ("ENGINE AggregatingMergeTree", "ENGINE MergeTree"),
        (KEYS, f"{KEYS}\nENGINE_TTL day + INTERVAL 90 DAY"),
    ],
)
def test_a_table_that_does_not_merge_the_rows_in_this_way(old: str, new: str) -> None:
    assert strategy(planned(after={DAILY: CASE.after[DAILY].replace(old, new)})) == "recompute"


def test_live_rows_that_were_merged_by_less_than_the_key() -> None:
    """What is merged already has the user of any row; the month of each day is known all the same."""
    less = {DAILY: CASE.before[DAILY].replace("day, kind, user", "day, user")}
    assert strategy(planned(before=less, after={DAILY: CASE.after[DAILY]})) == "recompute", "`kind` was no key"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("countState() AS", "countState(user = 'a') AS"),
        ("toStartOfMonth(at)", "toDate(at + INTERVAL 1 HOUR)"),
        ("toStartOfMonth(at)", "toDate(at, 'Asia/Tokyo')"),
        ("WHERE NOT (hits.kind = 'scroll')", ""),
        ("WHERE NOT (hits.kind = 'scroll')", "WHERE hits.kind != 'scroll' AND hits.amount > 0"),
        ("GROUP BY day, kind", "GROUP BY day, kind HAVING count() > 1"),
        ("sum(amount)", "max(amount)"),
    ],
)
def test_what_is_no_function_of_the_stored_rows(old: str, new: str) -> None:
    assert old in CASE.after[VIEW]
    plan = planned(after={VIEW: CASE.after[VIEW].replace(old, new)})
    assert (strategy(plan), said(plan)) == (
        "recompute",
        "what it would give is no function of the rows that are stored",
    )


@pytest.mark.parametrize(
    ("finer", "coarser", "strategy_of"),
    [
        ("toStartOfHour(at)", "toStartOfDay(at)", "reuse"),
        ("toStartOfMonth(at)", "toStartOfQuarter(at)", "reuse"),
        ("toStartOfMonth(at)", "toStartOfYear(at)", "reuse"),
        ("toDate(at)", "toMonday(at)", "reuse"),
        ("toMonday(at)", "toStartOfMonth(at)", "recompute"),
        ("toStartOfMonth(at)", "toMonday(at)", "recompute"),
        ("toStartOfMonth(at)", "toDate(at)", "recompute"),
    ],
)
def test_units_of_time_that_nest(finer: str, coarser: str, strategy_of: str) -> None:
    of = "DateTime" if "Hour" in finer else "Date"
    old = {
        DAILY: CASE.before[DAILY].replace("`day` Date", f"`day` {of}"),
        VIEW: CASE.before[VIEW].replace("toDate(at)", finer),
    }
    new = {VIEW: CASE.after[VIEW].replace("toStartOfMonth(at)", coarser)}
    new[DAILY] = CASE.after[DAILY].replace("`day` Date", f"`day` {of}")
    assert strategy(planned(old, new)) == strategy_of


def test_an_aggregate_that_takes_any_value_is_not_merged_in_another_order() -> None:
    def with_any(files: dict[str, str]) -> dict[str, str]:
        return {
            DAILY: files[DAILY].replace("\n\nENGINE ", ",\n    `some` SimpleAggregateFunction(any, String)\n\nENGINE "),
            VIEW: files[VIEW].replace("FROM hits", ", any(user) AS some FROM hits"),
        }

    assert strategy(planned(with_any(dict(CASE.before)), with_any(dict(CASE.after)))) == "recompute"


def test_a_column_that_the_view_leaves_to_its_default() -> None:
    name = "datasources/hourly.datasource"
    hourly = CASE.after[name].replace("`week` Date", "`week` Date,\n    `source` String DEFAULT 'web'")
    plan = planned(after={name: hourly})
    assert (strategy(plan, "hourly"), plan.moves) == ("reuse", NOTHING)
    bound = next(each for each in plan.manifest.bindings if each.name == "hourly").column("source")
    assert bound is not None
    assert bound.before is not None
    assert "'web'" in bound.before.expression


@pytest.mark.parametrize(
    ("aggregate", "of", "strategy_of"),
    [
        ("min(depth)", "SimpleAggregateFunction(min, UInt16)", "reuse"),
        ("sum(depth - 3)", "SimpleAggregateFunction(sum, Int64)", "recompute"),
        ("sum(depth)", "SimpleAggregateFunction(sum, UInt64)", "recompute"),  # three times the number of rows
        ("avgState(depth)", "AggregateFunction(avg, UInt16)", "recompute"),
        ("uniqExactState(depth)", "AggregateFunction(uniqExact, UInt16)", "reuse"),
        ("countIfState(depth = 3)", "AggregateFunction(countIf, UInt8)", "recompute"),
        ("countIfState(depth = 4)", "AggregateFunction(countIf, UInt8)", "reuse"),
        ("groupArrayState(depth)", "AggregateFunction(groupArray, UInt16)", "recompute"),
    ],
)
def test_aggregates_of_a_new_source_column(aggregate: str, of: str, strategy_of: str) -> None:
    source, view = "datasources/hourly.datasource", "pipes/hourly_mv.pipe"
    changed = {
        source: CASE.after[source].replace("SimpleAggregateFunction(max, UInt16)", of),
        view: CASE.after[view].replace("max(depth) AS deepest", f"{aggregate} AS deepest"),
    }
    assert strategy(planned(after=changed), "hourly") == strategy_of


@pytest.mark.parametrize(
    ("key", "value", "text", "wanted"),
    [
        ("Tuple(String, String)", "tuple(user, kind)", "lower(tuple(user, kind).2)", "reuse"),
        ("Tuple(String, Float64)", "tuple(user, amount)", "toString(tuple(user, amount).2)", "recompute"),
        ("Float64", "amount", "toString(amount)", "recompute"),
    ],
)
def test_numbers_that_are_equal_and_differ(key: str, value: str, text: str, wanted: str) -> None:
    """A row that is merged has one of them (0.0 and -0.0), also in a tuple."""
    engine = "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY {}\n"
    hits = "`hits` AggregateFunction(count)\n\n"
    query = "NODE n\nSQL >\n    SELECT {}, countState() AS hits FROM hits GROUP BY {}\nTYPE materialized\n"
    source, view = "datasources/keyed.datasource", "pipes/keyed_mv.pipe"
    before = {
        source: f"SCHEMA >\n    `pair` {key}, {hits}{engine.format('pair')}",
        view: query.format(f"{value} AS pair", "pair") + "DATASOURCE keyed\n",
    }
    after = {
        source: f"SCHEMA >\n    `pair` {key}, `f` String, {hits}{engine.format('pair, f')}",
        view: query.format(f"{value} AS pair, {text} AS f", "pair, f") + "DATASOURCE keyed\n",
    }
    assert strategy(planned(before, after), "keyed") == wanted


def keyed(key: str, of: str = "String", user: str = "String") -> dict[str, str]:
    """A table with one key, which a view computes of clicks, whose `user` is of a type."""
    return {
        "datasources/clicks.datasource": f"SCHEMA >\n    `user` {user} `json:$.user`\n\n"
        "ENGINE MergeTree\nENGINE_SORTING_KEY tuple()\n",
        "datasources/keyed.datasource": f"SCHEMA >\n    `page` {of}, `hits` AggregateFunction(count)\n\n"
        "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY page\n",
        "pipes/keyed_mv.pipe": f"NODE n\nSQL >\n    SELECT {key} AS page, countState() AS hits FROM clicks"
        " GROUP BY page\nTYPE materialized\nDATASOURCE keyed\n",
    }


PAGE = "JSONExtractString(user, 'page')"


def test_a_function_of_a_key_whose_sql_has_parentheses() -> None:
    assert strategy(planned(keyed(PAGE), keyed(f"lower({PAGE})")), "keyed") == "reuse"
    assert strategy(planned(keyed(PAGE), keyed("lower(JSONExtractString(user, 'path'))")), "keyed") == "recompute"


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (keyed(PAGE), keyed(PAGE, user="Nullable(String)"), "reuse"),
        (keyed("lower(user)"), keyed("lower(user)", user="Nullable(String)"), "reuse"),
        (keyed(PAGE), keyed(f"ifNull({PAGE}, '-')", user="Nullable(String)"), "reuse"),
        (keyed(PAGE, user="Nullable(String)"), keyed(f"ifNull({PAGE}, '-')", user="Nullable(String)"), "recompute"),
    ],
)
def test_a_source_column_that_becomes_nullable(before: dict[str, str], after: dict[str, str], wanted: str) -> None:
    """Its rows have no NULL, so that the value for NULL in the target is in none of them."""
    plan = planned(before, after)
    assert strategy(plan, "keyed") == wanted
    bound = next(each for each in plan.manifest.bindings if each.name == "keyed").column("page")
    assert bound is not None
    assert bound.before is None
