"""What the plan says of a rollback, against what the rows themselves say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.landing.row_parser import RowParser
from penstock.model.datasource import DataSource
from penstock.model.manifest import Landing
from penstock.parse.project_loader import load_files
from penstock.plan.diff.rollback import assess_rollback
from penstock.plan.planner import PlanOptions, make_plan

TYPES = [
    "UInt8",
    "UInt32",
    "UInt64",
    "Int16",
    "Int64",
    "Float32",
    "Float64",
    "Decimal(9, 2)",
    "Decimal(18, 2)",
    "String",
    "FixedString(2)",
    "Date",
    "DateTime",
    "DateTime64(3)",
    "Bool",
    "UUID",
    "Array(UInt8)",
    "Array(String)",
    "Nullable(UInt8)",
    "Nullable(String)",
    "LowCardinality(String)",
    "Enum8('a' = 1, 'b' = 2)",
]
VALUES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    255,
    256,
    70000,
    2**31,
    2**63,
    1.5,
    1e300,
    "",
    "a",
    "b",
    "ab",
    "abc",
    "7",
    "1.25",
    "2024-01-02",
    "2024-01-02 03:04:05",
    "2024-01-02 03:04:05.678",
    "1950-01-01",
    [],
    [1],
    ["a"],
    [300],
    {"a": 1},
    "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
]


def source(of: str, default: str = "") -> DataSource:
    schema = f"SCHEMA >\n    `k` UInt8 `json:$.k`,\n    `x` {of} `json:$.x`{default}\n"
    text = f"{schema}\nENGINE MergeTree\nENGINE_SORTING_KEY k\n"
    loaded = load_files({"datasources/d.datasource": text})
    assert not loaded.errors, loaded.errors
    return loaded.project.datasources[0]


def landing(of: DataSource) -> Landing:
    plan = make_plan(None, load_files({}).project.of([of], []), PlanOptions("t"))
    return plan.manifest.landings[0]


@given(st.sampled_from(TYPES), st.sampled_from(TYPES), st.booleans(), st.booleans())
def test_what_is_called_lossless_is_refused_by_no_row(
    now: str, before: str, new_default: bool, old_default: bool
) -> None:
    defaults = {"UInt8": " DEFAULT 1", "String": " DEFAULT 'z'"}
    new = source(now, defaults.get(now, "") if new_default else "")
    old = source(before, defaults.get(before, "") if old_default else "")
    if not assess_rollback(old, new).lossless:
        return
    takes, had = RowParser((landing(new),)), RowParser((landing(old),))
    rows = [{"k": 1, "x": value} for value in VALUES] + [{"k": 1}]
    for row in rows:
        line = json.dumps(row).encode()
        if not takes.parse(line).rejects:
            assert not had.parse(line).rejects, (row, had.parse(line).rejects)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ("UInt16", "UInt32", "values of `x` that are UInt32 and not UInt16"),
        ("UInt8", "Nullable(UInt8)", "rows without `x`"),
        ("DateTime", "DateTime64(3)", "values of `x`"),
        ("UInt32", "String", "values of `x`"),
    ],
)
def test_what_the_version_before_would_refuse_is_named(before: str, now: str, told: str) -> None:
    kept = assess_rollback(source(before), source(now))
    assert not kept.lossless
    assert told in kept.reason


@pytest.mark.parametrize(("before", "now"), [("UInt32", "UInt8"), ("String", "UInt8"), ("Nullable(UInt8)", "UInt8")])
def test_a_narrowing_loses_nothing_when_it_is_taken_back(before: str, now: str) -> None:
    assert assess_rollback(source(before), source(now)).lossless
