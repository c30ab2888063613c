"""Made rows land: each is parsed by the code that lands posted rows."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.cli.commands.project_tests.mock_rows import MockRows
from penstock.errors import InvalidProject
from penstock.flow.landing.row_parser import RowParser
from penstock.model import types as t
from penstock.model.datasource import Column, DataSource
from penstock.model.engine import Engine
from penstock.model.manifest import Landing, LandingColumn
from penstock.parse.datasource import parse_datasource
from type_strategies import plain_types

UNTIL = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
NAMES = st.sampled_from(("a", "user_id", "id", "status", "is_new", "payload", "created_at", "lat", "country", "x9"))


def source_of(*columns: str, engine: str = "") -> DataSource:
    problems: list = []
    text = "SCHEMA >\n" + ",\n".join(f"    {each}" for each in columns) + f"\n{engine}"
    read = parse_datasource(text, "events.datasource", "events", problems)
    assert problems == []
    return read


def parser_of(source: DataSource) -> RowParser:
    columns = (
        LandingColumn(each.name, each.name, each.type, source.path_of(each), each.default and each.default.text)
        for each in source.columns
    )
    return RowParser((Landing("s", "s__d1", "v", tuple(columns)),))


def land(source: DataSource, count: int = 30) -> list[dict]:
    parser, landed = parser_of(source), []
    for row in MockRows(source, 1, UNTIL).rows(count):
        parsed = parser.parse(json.dumps(row).encode())
        assert parsed.rejects == (), row
        landed.append(parsed.values)
    assert len(landed) == count
    return landed


@settings(max_examples=400, deadline=None)
@given(NAMES, plain_types())
@example("a", t.Map(t.DateTime("Europe/Madrid"), t.Tuple(((None, t.Int(8)), (None, t.Nullable(t.Json()))))))
@example("a", t.DateTime64(9))
@example("lat", t.Decimal(38, 38))
@example("a", t.Json((("a.b", t.Int(8)), ("c", t.Array(t.String()))), ("d",), ("^x",)))
def test_a_row_with_a_column_of_any_type_lands(name: str, of: t.Type) -> None:
    land(DataSource("events", (Column(name, of),), Engine()), 5)


@pytest.mark.parametrize(
    ("column", "is_moment"),
    [
        ("`sent_ms` UInt64", True),
        ("`sent_at` UInt32", True),
        ("`ms` UInt32", False),
        ("`duration_ms` UInt64", False),
        ("`latency_ms` Int32", False),
    ],
)
def test_milliseconds_are_a_time_or_a_duration(column: str, is_moment: bool) -> None:
    """The milliseconds since 1970 need 64 bits, so `ms` of 32 bits are how long something took."""
    name = column.split("`")[1]
    values = [row[name] for row in MockRows(source_of(column), 1, UNTIL).rows(30)]
    assert all((value > 1_000_000_000) == is_moment for value in values), values


def test_rows_of_paths_lists_and_whole_rows_land() -> None:
    landed = land(
        source_of(
            "`whole` String `json:$`",
            "`id` UInt64 `json:$.id`",
            "`user` String `json:$.user`",
            "`name` LowCardinality(String) `json:$.user.name`",
            "`at` DateTime64(3, 'Europe/Madrid') `json:$.user.at`",
            "`at_text` String `json:$.user.at`",
            "`tags` Array(String) `json:$.tags[:]`",
            "`prices` Array(Decimal(10, 2)) `json:$.lines[:].price`",
            "`counts` Array(Nullable(Int32)) `json:$.lines[:].count`",
            "`score` Nullable(Float32) `json:$.score`",
            "`other` Nullable(Int8) DEFAULT 7",
        )
    )
    assert {len(row["prices"]) == len(row["counts"]) for row in landed} == {True}
    assert [row["id"] for row in landed] == list(range(1, 31))
    assert {row["score"] is None for row in landed} == {True, False}
    assert all(json.loads(row["whole"])["user"]["name"] == row["name"] for row in landed)


def test_a_value_fits_all_columns_that_are_read_from_its_place() -> None:
    landed = land(source_of("a Int64 `json:$.n`", "b UInt8 `json:$.n`", "c String `json:$.n`"))
    assert all(row["a"] == row["b"] == int(row["c"]) for row in landed)


def test_columns_that_mark_rows_have_the_values_that_the_engine_allows() -> None:
    engine = "ENGINE CollapsingMergeTree\nENGINE_SORTING_KEY a\nENGINE_SIGN sign\n"
    assert {row["sign"] for row in land(source_of("a Int64", "sign Int8", engine=engine))} == {1}


def test_the_same_seed_gives_the_same_rows_and_the_first_of_more() -> None:
    source = source_of("a DateTime", "b String", "c UUID", "d Map(String, Float64)")
    first = [*MockRows(source, 7, UNTIL).rows(20)]
    assert first == [*MockRows(source, 7, UNTIL).rows(50)][:20]
    assert first != [*MockRows(source, 8, UNTIL).rows(20)]


def test_times_are_of_the_last_month_and_of_the_last_day_where_rows_expire() -> None:
    for engine, days in (("", 30), ("ENGINE MergeTree\nENGINE_SORTING_KEY a\nENGINE_TTL a + toIntervalDay(2)\n", 1)):
        times = [row["a"] // 1_000_000 for row in land(source_of("a DateTime", engine=engine), 200)]
        end = UNTIL.timestamp()
        assert end - days * 86_400 <= min(times) < max(times) < end
        assert max(times) - min(times) > days * 43_200


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("a AggregateFunction(sum, Int64) `json:$.a`",), "the state of an aggregate"),
        (("a Int64 `json:$.a`", "b UUID `json:$.a`"), "is read from the same place"),
        (("a Int64 `json:$.a`", "b Int64 `json:$.a.b`"), "from inside of its value"),
        (("a Int64 `json:$.a[:]`",), "is no Array"),
        (("a Array(Int64) `json:$.a[:]`", "b Int64 `json:$.a.b`"), "a list that is an object elsewhere"),
        (("a Int64 `json:$`",), "the whole row"),
    ],
)
def test_what_no_row_can_have_is_refused_with_its_place(columns: tuple[str, ...], message: str) -> None:
    with pytest.raises(InvalidProject) as refusal:
        MockRows(source_of(*columns), 1, UNTIL)
    [problem] = refusal.value.problems
    assert message in problem.message
    assert problem.location is not None
    assert problem.location.file == "events.datasource"
