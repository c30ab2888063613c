"""Which changes of a type Iceberg's statistics prove, at the very edge of what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.model.stored_values import StoredColumn, StoredValues
from penstock.parse.project_loader import load_files
from penstock.plan.plan import Live, Plan, PlanOptions
from penstock.plan.planner import make_plan
from penstock.plan.steps import Activate

FILLED = StoredColumn(9, 0, 0, 255)


def source(type: str, more: str = "", engine: str = "MergeTree") -> str:
    column = f"`x` {type} `json:$.x`{more}"
    return f"SCHEMA >\n    `id` UInt32 `json:$.id`,\n    {column}\n\nENGINE {engine}\nENGINE_SORTING_KEY id\n"


def plan(before: str, after: str, found: StoredColumn | None, **more: str) -> Plan:
    """The plan from one schema of `events` to another, of whose live table this is known."""
    old = load_files({"events.datasource": before, **more}).project
    new = load_files({"events.datasource": after, **more})
    assert not new.errors, [str(each) for each in new.errors]
    first = make_plan(None, old, PlanOptions("d1"))
    columns = {"x": found} if found is not None else {}
    live = replace(Live(old, first.manifest, {}), stored_values=lambda _: StoredValues(3, columns))
    return make_plan(live, new.project, PlanOptions("d2", True))


def is_proved(plan: Plan) -> bool:
    claims = [claim for step in plan.steps if isinstance(step, Activate) for claim in step.claims]
    if not claims:
        assert [each.code for each in plan.errors] == ["needs-forward-query"]
        return False
    assert plan.errors == ()
    assert plan.resources[0].strategy == "in_place"
    return True


@pytest.mark.parametrize(
    ("before", "after", "found", "proved"),
    [
        ("Nullable(String)", "String", StoredColumn(9, 0), True),
        ("Nullable(String)", "String", StoredColumn(9, 1), False),
        ("Nullable(String)", "String", StoredColumn(9, None), False),
        ("Nullable(String)", "String", None, False),
        ("Nullable(String)", "String", StoredColumn(0, 0), True),
        ("LowCardinality(Nullable(String))", "String", StoredColumn(9, 0), True),
        ("Nullable(Float64)", "Float64", StoredColumn(9, 0), True),
        ("Float64", "Float32", StoredColumn(9, 0), False),
        ("Nullable(DateTime64(3))", "DateTime64(3)", StoredColumn(9, 0), True),
        ("DateTime64(3)", "DateTime", StoredColumn(9, 0, 0, 9), False),
        ("DateTime", "Date", StoredColumn(9, 0, 0, 9), False),
        ("Int64", "UInt8", FILLED, True),
        ("Int64", "UInt8", StoredColumn(9, 0, -1, 255), False),
        ("Int64", "UInt8", StoredColumn(9, 0, 0, 256), False),
        ("Int64", "UInt8", StoredColumn(9, 0), False),
        ("Int32", "Int8", StoredColumn(9, 0, -128, 127), True),
        ("Int32", "Int8", StoredColumn(9, 0, -129, 127), False),
        ("UInt64", "Int64", StoredColumn(9, 0, 0, 2**63 - 1), True),
        ("UInt64", "Int64", StoredColumn(9, 0, 0, 2**63), False),
        ("Int64", "UInt64", StoredColumn(9, 0, 0, 2**63 - 1), True),
        ("Int64", "UInt64", StoredColumn(9, 0, -1, 5), False),
        ("Nullable(Int64)", "Nullable(UInt8)", StoredColumn(9, 4, 0, 255), True),
        ("Nullable(Int64)", "Nullable(UInt8)", StoredColumn(9, 9), True),
        ("Nullable(Int64)", "UInt8", StoredColumn(9, 4, 0, 255), False),
        ("Nullable(Int64)", "UInt8", FILLED, True),
        ("Nullable(Int32)", "Int64", FILLED, True),
        ("Decimal(18, 2)", "Decimal(4, 2)", StoredColumn(9, 0, -9999, 9999), True),
        ("Decimal(18, 2)", "Decimal(4, 2)", StoredColumn(9, 0, 0, 10_000), False),
        ("Decimal(18, 2)", "Decimal(18, 1)", StoredColumn(9, 0, 0, 0), False),
        ("Date32", "Date", StoredColumn(9, 0, 0, 65_535), True),
        ("Date32", "Date", StoredColumn(9, 0, -1, 5), False),
        ("Date32", "Date", StoredColumn(9, 0, 0, 65_536), False),
        ("Enum8('a' = 1, 'b' = 2)", "Enum8('a' = 1)", StoredColumn(9, 0), False),
        ("String", "UInt8", FILLED, False),
        ("Nullable(String)", "UInt8", FILLED, False),
        ("SimpleAggregateFunction(max, Int64)", "SimpleAggregateFunction(max, UInt8)", FILLED, False),
    ],
)
def test_what_is_proved(before: str, after: str, found: StoredColumn | None, proved: bool) -> None:
    assert is_proved(plan(source(before), source(after), found)) == proved


def test_statistics_are_asked_only_where_a_type_needs_them() -> None:
    asked: list[str] = []
    old = load_files({"events.datasource": source("Int32")}).project
    first = make_plan(None, old, PlanOptions("d1"))

    def stored(table: str) -> StoredValues:
        asked.append(table)
        return StoredValues(0)

    live = replace(Live(old, first.manifest, {}), stored_values=stored)
    for type in ("Int64", "Nullable(Int32)", "Int32"):
        make_plan(live, load_files({"events.datasource": source(type)}).project, PlanOptions("d2"))
    assert asked == []
    make_plan(live, load_files({"events.datasource": source("Int8")}).project, PlanOptions("d2"))
    assert set(asked) == {"events__d1"}


def test_a_default_stands_for_null_whatever_is_stored() -> None:
    """It is right of every row to come, too, so nothing has to be proved."""
    made = plan(source("Nullable(String)"), source("String", " DEFAULT 'none'"), StoredColumn(9, 0))
    assert made.errors == ()
    assert not any(isinstance(step, Activate) and step.claims for step in made.steps)


def test_what_is_computed_when_it_is_read_is_not_what_is_stored() -> None:
    """A column that was added with a value for the rows of before: their files have none."""
    old = load_files({"events.datasource": source("Int64")}).project
    added = source("Int64", ",\n    `y` Nullable(Int64) `json:$.y` DEFAULT 7")
    narrow = source("Int64", ",\n    `y` UInt8 `json:$.y`")
    first = make_plan(None, old, PlanOptions("d1"))
    second = load_files({"events.datasource": added}).project
    made = make_plan(Live(old, first.manifest, {}), second, PlanOptions("d2"))
    known = StoredValues(3, {"y": StoredColumn(9, 0, 1, 2)})
    live = replace(Live(second, made.manifest, {}), stored_values=lambda _: known)
    refused = make_plan(live, load_files({"events.datasource": narrow}).project, PlanOptions("d3"))
    assert made.errors == ()
    assert {each.code for each in refused.errors} <= {"needs-forward-query"}


def test_a_forward_query_says_itself_what_becomes_of_rows() -> None:
    said = source("UInt8") + "FORWARD_QUERY >\n    SELECT * REPLACE (accurateCastOrDefault(x, 'UInt8') AS x)\n"
    made = plan(source("Int64"), said, FILLED)
    assert made.errors == ()
    assert made.resources[0].strategy == "bridge"
    assert not any(isinstance(step, Activate) and step.claims for step in made.steps)


# --------------------------------------------------------------------------------------- what views read

TARGET = "SCHEMA >\n    `id` UInt32,\n    `x` {}\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"
NO_NULL = StoredColumn(9, 0)


def view(sql: str) -> str:
    return f"NODE rows\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE seen\n"


def seen_of(
    before: dict[str, str], after: dict[str, str], known: dict[str, StoredValues], shortened: bool = False
) -> tuple[str, list[tuple[str, str, bool]]]:
    """The strategy of `seen`, and the claims of the plan: table, column, and whether gone rows count."""
    old, new = load_files(before).project, load_files(after)
    assert not new.errors, [str(each) for each in new.errors]
    first = make_plan(None, old, PlanOptions("d1"))
    whole = {f"{name}__d1": replace(each, is_whole=not shortened) for name, each in known.items()}
    live = replace(Live(old, first.manifest, {}), stored_values=whole.get)
    made = make_plan(live, new.project, PlanOptions("d2", True))
    assert made.errors == (), [str(each) for each in made.errors]
    claims = [claim for step in made.steps if isinstance(step, Activate) for claim in step.claims]
    resource = made.resource("seen")
    assert resource is not None
    return resource.strategy, sorted((each.table, each.column, each.whole) for each in claims)


def files(type: str, sql: str, target: str = "Nullable(String)", engine: str = "MergeTree") -> dict[str, str]:
    return {
        "events.datasource": source(type, engine=engine),
        "seen.datasource": TARGET.format(target),
        "seen_mv.pipe": view(sql),
    }


PLAIN, FILLED_SQL = "SELECT id, x FROM events", "SELECT id, ifNull(x, '') AS x FROM events"
EVENTS = {"events": StoredValues(3, {"x": NO_NULL})}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, ifNull(x, '') AS x FROM events WHERE id > 3",
        "SELECT id, x FROM events WHERE id > 3 AND x IS NOT NULL",
        "SELECT id, coalesce(x, 'a', 'b') AS x FROM (SELECT * FROM events) WHERE NOT isNull(x) AND id > 3",
        "SELECT id, assumeNotNull(x) AS x FROM events WHERE id > 3",
    ],
)
def test_what_a_view_does_with_null_is_nothing_where_there_is_none(sql: str) -> None:
    before, after = files("Nullable(String)", f"{PLAIN} WHERE id > 3"), files("Nullable(String)", sql)
    proved = ("reuse", [("events__d1", "x", True)])
    assert seen_of(before, after, EVENTS) == proved
    assert seen_of(after, before, EVENTS) == proved
    assert seen_of(before, after, EVENTS, shortened=True)[0] != "reuse"
    assert seen_of(after, before, EVENTS, shortened=True) == ("recompute", [])
    assert seen_of(before, after, {"events": StoredValues(3, {"x": StoredColumn(9, 1)})})[0] != "reuse"


def test_metadata_is_read_only_where_it_could_help() -> None:
    asked: list[str] = []
    before = files("Nullable(String)", f"{PLAIN} WHERE id > 3")
    old = load_files(before).project
    first = make_plan(None, old, PlanOptions("d1"))
    live = replace(Live(old, first.manifest, {}), stored_values=asked.append)
    for sql in ("SELECT id, upper(x) AS x FROM events", "SELECT id, ifNull(x, '') AS x FROM events WHERE id > 4"):
        make_plan(live, load_files(files("Nullable(String)", sql)).project, PlanOptions("d2", True))
    assert asked == []
    sql = "SELECT id, ifNull(x, '') AS x FROM events WHERE id > 3"
    make_plan(live, load_files(files("Nullable(String)", sql)).project, PlanOptions("d2", True))
    assert asked == ["events__d1"]


@pytest.mark.parametrize("engine", ["ReplacingMergeTree", "SummingMergeTree"])
def test_an_engine_that_drops_rows_tells_nothing_of_what_views_have_read(engine: str) -> None:
    before = files("Nullable(String)", PLAIN, engine=engine)
    after = files("Nullable(String)", FILLED_SQL, engine=engine)
    assert seen_of(before, after, EVENTS) == ("recompute", [])


def test_a_view_that_needs_no_care_for_null_any_more() -> None:
    """The source gets a type without NULL, and the view says no longer what stands in its place."""
    before, after = files("Nullable(String)", FILLED_SQL, "String"), files("String", PLAIN, "String")
    claims = [("events__d1", "x", False), ("events__d1", "x", True)]
    assert seen_of(before, after, EVENTS) == ("reuse", claims)
    assert seen_of(before, after, EVENTS, shortened=True) == ("recompute", claims[:1])


def test_a_view_that_reads_the_rest_of_an_aggregate_differs() -> None:
    """`nullIf` makes a NULL of a value, whatever is stored."""
    before = files("Nullable(String)", "SELECT id, nullIf(x, 'a') AS x FROM events")
    after = files("Nullable(String)", "SELECT id, ifNull(nullIf(x, 'a'), '') AS x FROM events")
    assert seen_of(before, after, EVENTS) == ("recompute", [])


def test_a_target_is_proved_by_its_own_rows() -> None:
    before, after = files("Nullable(String)", PLAIN), files("String", PLAIN, "String")
    both = {**EVENTS, "seen": StoredValues(2, {"x": NO_NULL})}
    assert seen_of(before, after, both) == ("reuse", [("events__d1", "x", False), ("seen__d1", "x", False)])
    assert seen_of(before, after, EVENTS)[0] == "recompute"
    gone = {**EVENTS, "seen": StoredValues(2, {"x": StoredColumn(9, 1)})}
    assert seen_of(before, after, gone)[0] == "recompute"


def test_a_column_that_is_added_below_a_proved_source_is_computed() -> None:
    before, after = files("Nullable(String)", PLAIN), files("String", "SELECT id, x, upper(x) AS u FROM events")
    after["seen.datasource"] = TARGET.format("Nullable(String),\n    `u` String")
    assert seen_of(before, after, {**EVENTS, "seen": StoredValues(2, {"x": NO_NULL})})[0] == "recompute"


def test_a_join_may_make_null_of_what_has_none() -> None:
    sides = "events AS e FULL JOIN events AS f ON e.id = f.id + 1"
    before = files("Nullable(String)", f"SELECT e.id AS id, e.x AS x FROM {sides}")
    after = files("Nullable(String)", f"SELECT e.id AS id, ifNull(e.x, '') AS x FROM {sides}")
    assert seen_of(before, after, EVENTS)[0] == "recompute"


COUNTED = "SELECT id, countIf(isNull(x)) AS n FROM events GROUP BY id"


@pytest.mark.parametrize(
    ("sql", "target"),
    [
        (COUNTED, "SCHEMA >\n    `id` UInt32,\n    `n` UInt64\n\nENGINE SummingMergeTree\nENGINE_SORTING_KEY id\n"),
        ("SELECT id, isNull(x) AS x FROM events", TARGET.format("UInt8")),
    ],
)
def test_a_type_tells_nothing_of_rows_with_null_that_are_gone(sql: str, target: str) -> None:
    """Its new type says that `isNull` is 0, but there were rows of which it was 1."""
    before, after = files("Nullable(String)", sql), files("String", sql)
    before["seen.datasource"] = after["seen.datasource"] = target
    assert seen_of(before, after, EVENTS)[0] == "reuse"
    assert seen_of(before, after, EVENTS, shortened=True)[0] == "recompute"


def test_a_copied_table_does_not_know_what_its_source_had_lost() -> None:
    """The target has rows of before the copy: of what was removed by then, only the first table has a note."""
    first = files("Nullable(String)", f"{PLAIN} WHERE id > 3")
    more = "`at` DateTime `json:$.at`"
    copied = {
        **first,
        "events.datasource": first["events.datasource"].replace("\n\nENGINE", f",\n    {more}\n\nENGINE"),
    }
    copied["events.datasource"] += "FORWARD_QUERY >\n    SELECT *, now() AS at\n"
    last = {**copied, "seen_mv.pipe": view(f"{FILLED_SQL} WHERE id > 3")}
    one, two, three = (load_files(each).project for each in (first, copied, last))
    d1 = make_plan(None, one, PlanOptions("d1"))
    d2 = make_plan(Live(one, d1.manifest, {}), two, PlanOptions("d2"))
    assert [copy.table for copy in d2.manifest.copies] == ["events__d2"]
    known = StoredValues(3, {"x": NO_NULL}, is_whole=True)
    d3 = make_plan(replace(Live(two, d2.manifest, {}), stored_values=lambda _: known), three, PlanOptions("d3", True))
    seen = d3.resource("seen")
    assert seen is not None
    assert seen.strategy == "recompute"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, x FROM events WHERE id > 3 AND x IS NOT NULL",
        "SELECT id, ifNull(x, 'none') AS x FROM events WHERE id > 3",
        "SELECT id, if(x IS NULL, 'none', x) AS x FROM events WHERE id > 3",
    ],
)
def test_a_view_that_begins_to_care_for_null_when_its_source_gets_a_type_without(sql: str) -> None:
    """What it now does with NULL, it would have done with rows that are gone."""
    before, after = files("Nullable(String)", f"{PLAIN} WHERE id > 3"), files("String", sql)
    claims = [("events__d1", "x", False), ("events__d1", "x", True)]
    assert seen_of(before, after, EVENTS) == ("reuse", claims)
    assert seen_of(before, after, EVENTS, shortened=True) == ("recompute", claims[:1])
    unchanged = {**before, "events.datasource": after["events.datasource"]}
    assert seen_of(before, unchanged, EVENTS, shortened=True) == ("reuse", claims[:1])


def test_a_condition_on_another_column_that_gets_a_type_without_null() -> None:
    """The target does not tell what the rows that are gone had in it."""
    before, after = files("Nullable(String)", "SELECT id FROM events"), files("String", "SELECT id FROM events")
    for each in (before, after):
        each["seen.datasource"] = "SCHEMA >\n    `id` UInt32\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"
    after["seen_mv.pipe"] = view("SELECT id FROM events WHERE x IS NOT NULL")
    claims = [("events__d1", "x", False), ("events__d1", "x", True)]
    assert seen_of(before, after, EVENTS) == ("none", claims)
    assert seen_of(before, after, EVENTS, shortened=True) == ("recompute", claims[:1])


def test_a_constant_of_a_type_is_claimed_of_rows_that_go_after_the_plan() -> None:
    before, after = files("Nullable(String)", PLAIN), files("String", "SELECT id, x, isNull(x) AS f FROM events")
    after["seen.datasource"] = TARGET.format("Nullable(String),\n    `f` UInt8")
    claims = [("events__d1", "x", False), ("events__d1", "x", True)]
    assert seen_of(before, after, EVENTS) == ("reuse", claims)
    assert seen_of(before, after, EVENTS, shortened=True) == ("recompute", claims[:1])
    other = {**after, "seen_mv.pipe": view("SELECT id, upper(x) AS x, 1 AS f FROM events")}
    assert seen_of(before, other, EVENTS, shortened=True) == ("recompute", claims[:1])
