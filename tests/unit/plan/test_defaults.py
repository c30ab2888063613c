"""DEFAULTs of columns in a plan: what they depend on, and what they may not be."""

from __future__ import annotations

import pytest

from golden_cases import FOLDER, plan_case
from penstock.model.manifest import View
from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.plan.plan import Live, Plan, PlanOptions
from penstock.plan.planner import make_plan

BEFORE = ("`name` String `json:$.name`",)


def plan(*columns: str, before: tuple[str, ...] = BEFORE) -> Plan:
    """The plan from one schema of a data source to another."""
    old, new = (_project(each) for each in (before, columns))
    first = make_plan(None, old, PlanOptions("d1"))
    return make_plan(Live(old, first.manifest, {}), new, PlanOptions("d2"))


def _project(columns: tuple[str, ...]) -> Project:
    schema = ",\n    ".join(columns)
    return load_files(
        {"t.datasource": f"SCHEMA >\n    {schema}\n\nENGINE MergeTree\nENGINE_SORTING_KEY name\n"}
    ).project


def codes(made: Plan) -> set[str]:
    return {problem.code for problem in made.errors}


def test_defaults_that_grow_with_each_other_are_refused() -> None:
    """Each is twice as long as the one before: of the last, Spark would read millions of characters."""
    chain = [f"`c{n}` String DEFAULT concat(c{n - 1}, c{n - 1})" for n in range(1, 40)]
    assert codes(plan(*BEFORE, "`c0` String DEFAULT upper(name)", *chain)) == {"needs-forward-query"}


def test_a_short_chain_of_defaults_is_added_in_place() -> None:
    chain = [f"`c{n}` String DEFAULT concat(c{n - 1}, c{n - 1})" for n in range(1, 6)]
    made = plan(*BEFORE, "`c0` String DEFAULT upper(name)", *chain)
    assert not made.errors
    assert made.resources[0].strategy == "in_place"


@pytest.mark.parametrize(
    ("column", "code"),
    [
        ("`n` UInt32 DEFAULT 'x'", "invalid-literal"),
        ("`n` IPv4 DEFAULT '1.2.3.4.5'", "invalid-literal"),
        ("`n` IPv6 DEFAULT 'zz'", "invalid-literal"),
        ("`n` Bool DEFAULT 'maybe'", "invalid-literal"),
        ("`n` UInt8 DEFAULT 300", "invalid-literal"),
        ("`n` UInt8 DEFAULT '-1'", "invalid-literal"),
        ("`n` Enum8('a' = 1) DEFAULT 'b'", "invalid-literal"),
        ("`n` Float32 DEFAULT '1.2.3'", "invalid-literal"),
        ("`n` Date DEFAULT 'today'", "invalid-literal"),
        ("`n` UUID DEFAULT 'none'", "invalid-literal"),
        ("`n` UInt64 DEFAULT toUInt64('x')", "invalid-literal"),
        ("`n` UInt8 DEFAULT CAST('-1' AS UInt8)", "invalid-literal"),
        ("`n` UInt64 DEFAULT ' 5'::UInt64", "invalid-literal"),
        ("`n` Float64 DEFAULT toFloat64('1.2.3')", "invalid-literal"),
        ("`n` UUID DEFAULT toUUID('none')", "invalid-literal"),
        ("`n` DateTime DEFAULT toDateTime('never')", "invalid-literal"),
        ("`n` String DEFAULT n", "cycle"),
        ("`n` UUID DEFAULT generateUUIDv4()", "needs-forward-query"),
    ],
)
def test_a_default_that_is_refused(column: str, code: str) -> None:
    assert code in codes(plan(*BEFORE, column))


def test_a_refused_default_is_shown_as_it_was_written() -> None:
    (problem,) = plan(*BEFORE, "`n` UInt8 DEFAULT 4294967296").errors
    assert problem.message == "DEFAULT of `n`: 4294967296 is not a UInt8"


@pytest.mark.parametrize(
    "column",
    [
        "`n` UInt32 DEFAULT '7'",
        "`n` UInt8 DEFAULT 255",
        "`n` Int8 DEFAULT '-1'",
        "`n` Enum8('a' = 1) DEFAULT 'a'",
        "`n` Float32 DEFAULT '-1.5e3'",
        "`n` Date DEFAULT '2024-01-01'",
        "`n` Nullable(UInt8) DEFAULT NULL",
        "`n` Array(String) DEFAULT []",
        "`n` UInt64 DEFAULT toUInt64('+5')",
        "`n` UInt64 DEFAULT toUInt64OrZero('x')",
        "`n` Nullable(UInt8) DEFAULT CAST('x' AS Nullable(UInt8))",
        "`n` Float64 DEFAULT toFloat64('-inf')",
    ],
)
def test_a_default_that_is_accepted(column: str) -> None:
    assert not plan(*BEFORE, column).errors


@pytest.mark.parametrize("change", ["from", "to"])
def test_a_view_sees_of_a_dimension_what_its_engine_shows(change: str) -> None:
    """Engine Null shows no row, also to a flow that goes on in its table."""
    made = plan_case(FOLDER / f"45_a_dimension_{change}_null")
    shown = {
        source.binding.keeps
        for flow in made.manifest.flows
        if isinstance(flow, View)
        for source in (flow.trigger, *flow.others)
        if source.binding.name == "places"
    }
    assert shown == ({None} if change == "from" else {"false"})
