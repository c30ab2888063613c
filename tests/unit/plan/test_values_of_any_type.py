"""A column of each type that a landing source, its view and its target get in one deployment moves no row, if the value
that it had before the cut is known."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.plan import ResourcePlan
from penstock.plan.planner import Live, PlanOptions, make_plan
from penstock.plan.steps import CheckRows

TYPES = [
    *("UInt8", "UInt64", "Int32", "Float32", "Float64", "Decimal(10, 2)", "Decimal(38, 10)", "Bool", "String"),
    *("FixedString(3)", "UUID", "Date", "Date32", "DateTime", "DateTime('Europe/Berlin')", "DateTime64(3)"),
    *("DateTime64(6, 'Asia/Tokyo')", "DateTime64(9)", "Enum8('a' = 1, 'b' = 2)", "Array(DateTime)", "JSON"),
    *("Tuple(a DateTime, `b c` FixedString(2))", "Map(String, Float64)", "LowCardinality(FixedString(2))"),
    *("LowCardinality(Float64)", "LowCardinality(DateTime)", "IPv4", "IPv6", "Nullable(DateTime)"),
]
VALUES = [
    *("Float64 DEFAULT 1.5", "Float64 DEFAULT -1", "Float32 DEFAULT 0.1", "Float64 DEFAULT 1e300"),
    *("Float64 DEFAULT nan", "Float64 DEFAULT -inf", "Decimal(10, 2) DEFAULT -1.25", "Decimal(10, 2) DEFAULT 3"),
    *("Bool DEFAULT true", "Bool DEFAULT 1", "FixedString(3) DEFAULT 'ab'", "Date DEFAULT '2024-01-01'"),
    *("Date DEFAULT toDate('2024-01-01')", "DateTime DEFAULT '2024-01-01 00:00:00'", "Int64 DEFAULT -5"),
    *("DateTime('Europe/Berlin') DEFAULT '2024-07-01 00:00:00'", "DateTime64(3) DEFAULT '2024-01-01 00:00:00.123'"),
    *("Array(Float64) DEFAULT [1.5, 2]", "Map(String, UInt8) DEFAULT map('a', 1)"),
    *("Tuple(UInt8, String) DEFAULT (1, 'a')", "LowCardinality(FixedString(2)) DEFAULT 'x'"),
]
NOT_KNOWN = [
    *("Float64 DEFAULT rand()", "Float64 DEFAULT toFloat64(id)", "Float64 DEFAULT n", "Float64 DEFAULT 1 / n"),
    *("DateTime DEFAULT toDateTime(id)", "Decimal(10, 2) DEFAULT toDecimal64(id, 2)", "Date DEFAULT toDate(n)"),
]
SORTED = "MergeTree\nENGINE_SORTING_KEY id"
EVENTS = "SCHEMA >\n    id String `json:$.id`,\n    n UInt32 `json:$.n`{more}\n\nENGINE {engine}\n"
OUT = "SCHEMA >\n    id String{more}\n\nENGINE {engine}\nENGINE_SORTING_KEY id\n"
VIEW = "NODE rows\nSQL >\n    SELECT id{more} FROM events{end}\nTYPE materialized\nDATASOURCE out\n"


def planned(
    added: str, shown: str, view: str, engine: str = "MergeTree", landing: str = "MergeTree", condition: str = ""
) -> ResourcePlan:
    """The plan of `out` if `events`, it and its view get more columns, and the view a condition."""
    keys = "\nENGINE_SORTING_KEY id" if landing == "MergeTree" else ""

    def files(added: str, shown: str, view: str, condition: str) -> dict[str, str]:
        end = (f" WHERE {condition}" if condition else "") + (" GROUP BY id" if engine != "MergeTree" else "")
        return {
            "datasources/events.datasource": EVENTS.format(more=added, engine=landing + keys),
            "datasources/out.datasource": OUT.format(more=shown, engine=engine),
            "pipes/view.pipe": VIEW.format(more=view, end=end),
        }

    before = load_files(files("", "", "", "")).project
    after = load_files(files(added, shown, view, condition)).project
    first = make_plan(None, before, PlanOptions("d1"))
    plan = make_plan(Live(before, first.manifest, {"events": None}), after, PlanOptions("d2"))
    return next(each for each in plan.resources if each.name == "out")


@pytest.mark.parametrize("column", [*TYPES, *VALUES])
def test_a_column_passed_on(column: str) -> None:
    added, shown = f",\n    p {column} `json:$.p`", f",\n    p {column.partition(' DEFAULT ')[0]}"
    if " DEFAULT " in column:
        added = f",\n    p {column.replace(' DEFAULT ', ' `json:$.p` DEFAULT ')}"
    assert planned(added, shown, ", p").strategy == "reuse"
    assert planned(added, shown, ", p", landing="Null").strategy == "reuse"


@pytest.mark.parametrize("column", NOT_KNOWN)
def test_a_value_that_is_not_known(column: str) -> None:
    of, default = column.split(" DEFAULT ")
    assert planned(f",\n    p {of} `json:$.p` DEFAULT {default}", f",\n    p {of}", ", p").strategy != "reuse"


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("Float64", "1.5"),
        ("Float64", "-1.5"),
        ("Bool", "true"),
        ("DateTime", "toDateTime('2024-01-01 00:00:00')"),
        ("Tuple(Float64, String)", "(1.5, 'a')"),
        ("Array(Float64)", "[1.5, 2.]"),
    ],
)
def test_a_constant_of_the_view(of: str, value: str) -> None:
    assert planned("", f",\n    p {of}", f", {value} AS p").strategy == "reuse"


@pytest.mark.parametrize("value", ["rand() / 2", "n * 1.5", "now()", "toFloat64(id)"])
def test_what_is_no_constant_of_the_view(value: str) -> None:
    of = "DateTime" if value == "now()" else "Float64"
    assert planned("", f",\n    p {of}", f", {value} AS p").strategy != "reuse"


SUMS = [("Float32", "Float64"), ("Float64", "Float64"), ("Decimal(10, 2)", "Decimal(38, 2)"), ("UInt8", "UInt64")]


@pytest.mark.parametrize(("of", "total"), SUMS)
@pytest.mark.parametrize("default", ["", " DEFAULT 1"])
def test_a_sum_is_known_if_it_is_one_of_zeros(of: str, total: str, default: str) -> None:
    """That of ones depends on how many rows there were."""
    added, wanted = f",\n    p {of} `json:$.p`{default}", "recompute" if default else "reuse"
    assert planned(added, f",\n    s {total}", ", sum(p) AS s", "SummingMergeTree").strategy == wanted
    merged = f",\n    s SimpleAggregateFunction(sum, {total})"
    assert planned(added, merged, ", sum(p) AS s", "AggregatingMergeTree").strategy == wanted
    state = f",\n    s AggregateFunction(sum, {of})"
    assert planned(added, state, ", sumState(p) AS s", "AggregatingMergeTree").strategy == wanted


@pytest.mark.parametrize("of", ["Float64", "Decimal(10, 2)", "DateTime", "DateTime64(3)", "Date", "String"])
def test_the_largest_of_one_value(of: str) -> None:
    added = f",\n    p {of} `json:$.p`"
    merged = f",\n    s SimpleAggregateFunction(max, {of})"
    assert planned(added, merged, ", max(p) AS s", "AggregatingMergeTree").strategy == "reuse"
    state = f",\n    s AggregateFunction(max, {of})"
    assert planned(added, state, ", maxState(p) AS s", "AggregatingMergeTree").strategy == "reuse"


def test_a_condition_that_a_bool_decides() -> None:
    assert planned(",\n    p Bool `json:$.p`", "", "", condition="NOT p").strategy == "reuse"
    assert planned(",\n    p Bool `json:$.p`", "", "", condition="p").strategy != "reuse"


def test_why_a_new_column_is_in_the_way() -> None:
    """Live does not compute it at all, so it is not computed otherwise."""
    rules = planned(",\n    p Float64 `json:$.p` DEFAULT toFloat64(id)", ",\n    p Float64", ", p").rules
    assert "they do not tell what the rows that are stored have in `p`" in [each.says for each in rules]
    assert not any("otherwise" in each.says for each in rules)


def test_no_row_is_looked_at_for_a_default_that_is_known() -> None:
    added = ",\n    p Date `json:$.p` DEFAULT '2024-01-01',\n    q Float64 `json:$.q` DEFAULT toFloat64(id)"
    before = load_files({"datasources/events.datasource": EVENTS.format(more="", engine=SORTED)}).project
    after = load_files({"datasources/events.datasource": EVENTS.format(more=added, engine=SORTED)}).project
    first = make_plan(None, before, PlanOptions("d1"))
    plan = make_plan(Live(before, first.manifest, {"events": None}), after, PlanOptions("d2"))
    checked = [check.column for step in plan.steps if isinstance(step, CheckRows) for check in step.checks]
    assert checked == ["q"]
