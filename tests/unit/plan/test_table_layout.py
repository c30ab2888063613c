"""ClickHouse keys as Iceberg transforms."""

from __future__ import annotations

import pytest

from penstock.errors import Location
from penstock.model.datasource import Column, DataSource
from penstock.model.engine import Engine
from penstock.model.manifest import BoundColumn, Transform
from penstock.model.types import AggregateFunction, Array, Date, DateTime, LowCardinality, String
from penstock.plan.tables.table_layout import TableLayout, build_layout

COLUMNS = (
    BoundColumn("ts", DateTime(), "ts"),
    BoundColumn("day", Date(), "day__2"),
    BoundColumn("name", LowCardinality(String()), "name"),
    BoundColumn("@at", DateTime(), "@at"),
    BoundColumn("a.b", DateTime(), "a.b"),
    BoundColumn("tags", Array(String()), "tags"),
    BoundColumn("state", AggregateFunction("count"), "state"),
)


def laid_out(partition: tuple[str, ...] = (), sort: tuple[str, ...] = ()) -> TableLayout:
    place = Location("a.datasource", 9, 24)
    engine = Engine(partition_key=partition, sorting_key=sort, locations=(("ENGINE_SORTING_KEY", place),))
    columns = tuple(Column(column.name, column.type) for column in COLUMNS)
    return build_layout(DataSource("a", columns, engine), COLUMNS)


@pytest.mark.parametrize(
    ("expression", "transform"),
    [
        ("ts", Transform("identity", "ts")),
        ("`name`", Transform("identity", "name")),
        ("day", Transform("identity", "day__2")),
        ("toDate(ts)", Transform("days", "ts")),
        ("toStartOfDay( `ts` )", Transform("days", "ts")),
        ("toYYYYMM(day)", Transform("months", "day__2")),
        ("toStartOfMonth(ts)", Transform("months", "ts")),
        ("toYear(day)", Transform("years", "day__2")),
        ("toStartOfHour(ts)", Transform("hours", "ts")),
        ("`@at`", Transform("identity", "@at")),
        ('toDate("@at")', Transform("days", "@at")),
    ],
)
def test_what_iceberg_knows(expression: str, transform: Transform) -> None:
    assert laid_out(sort=(expression,)) == TableLayout((), (transform,), ())


@pytest.mark.parametrize(
    "expression",
    [
        "cityHash64(name)",
        "toStartOfHour(day)",
        "toDate(name)",
        "tags",
        "state",
        "other",
        "toDate(f(ts))",
        "-ts",
        "`a.b`",
    ],
)
def test_what_it_does_not_is_a_warning(expression: str) -> None:
    found = laid_out(sort=(expression, "ts"))
    assert found.sort == (Transform("identity", "ts"),)
    assert [(problem.code, problem.level) for problem in found.problems] == [("key-not-used", "warning")]
    assert str(found.problems[0]).startswith(f"a.datasource:9:24: `{expression}` in ENGINE_SORTING_KEY")


def test_a_partition_key_has_one_unit_of_time_a_column() -> None:
    found = laid_out(partition=("toYear(ts)", "toYYYYMM(ts)", "ts", "toDate(day)"))
    kinds = [(each.kind, each.column) for each in found.partition]
    assert kinds == [("years", "ts"), ("identity", "ts"), ("days", "day__2")]


def test_a_key_that_is_written_twice_is_used_once() -> None:
    assert laid_out(sort=("ts", "name", "ts")).sort == (Transform("identity", "ts"), Transform("identity", "name"))
