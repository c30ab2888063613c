"""SQL of DIALECT spark: placeholders, columns, types; what is refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from tests.unit.sql.flights import PROJECT, datasource, text, view

from penstock.errors import InvalidQuery
from penstock.model.project import Project
from penstock.sql.compile import compile_sql, compile_view
from penstock.sql.query import Query, SourceRead
from penstock.sql.spark_dialect.allowed import SPARK_FUNCTIONS


def spark(sql: str) -> Query:
    return compile_sql(PROJECT, text(sql), "spark")


def test_columns_and_types() -> None:
    found = spark("SELECT carrier, count(*) AS n, avg(dep_delay) AS d FROM flights GROUP BY carrier")
    assert found.reads == (SourceRead("__all_flights__", "flights", ("carrier", "dep_delay")),)
    assert {name: str(of) for name, of in found.columns} == {
        "carrier": "LowCardinality(String)",
        "n": "Nullable(Int64)",
        "d": "Nullable(Float64)",
    }
    assert "FROM __all_flights__ AS `flights`" in found.sql


@pytest.mark.parametrize(
    ("value", "of"),
    [
        ("date_trunc('DAY', CAST('2024-01-01' AS TIMESTAMP))", "Nullable(DateTime64(6))"),
        ("carrier <=> 'AA'", "Nullable(Bool)"),
        ("array_position(array(1, 2), 2)", "Nullable(Int64)"),
        ("sin(CAST(1 AS DECIMAL(4, 2)))", "Nullable(Float64)"),
        ("CAST(1 AS DECIMAL(4, 2)) + 1", "Nullable(Decimal(4, 2))"),
        ("sum(CAST(1 AS DECIMAL(4, 2)))", "Nullable(Decimal(4, 2))"),
        ("CASE WHEN true THEN CAST(1 AS DECIMAL(4, 2)) END", "Nullable(Decimal(4, 2))"),
        ("CAST(1 AS DECIMAL(4, 2)) / 3", None),
        ("CAST(1 AS DECIMAL(4, 2)) * CAST(1 AS DECIMAL(4, 2))", None),
        ("avg(CAST(1 AS DECIMAL(4, 2)))", None),
        ("round(CAST(1 AS DECIMAL(4, 2)), 1)", None),
    ],
)
def test_the_type_of_a_value_is_sparks_or_has_to_be_said(value: str, of: str | None) -> None:
    sql = f"SELECT {value} AS v FROM flights"
    if of is not None:
        assert [str(each) for _, each in spark(sql).columns] == [of]
        return
    with pytest.raises(InvalidQuery, match="SQL") as raised:
        spark(sql)
    assert "the type of `v` cannot be inferred (CAST it)" in str(raised.value.problems[0])


def test_it_reads_pipes_of_the_other_dialect() -> None:
    found = spark("SELECT * FROM top WHERE flights > 3")
    assert found.reads[0].datasource == "carrier_daily"
    assert {name: str(of) for name, of in found.columns}["flights"] == "UInt64"


def test_a_view() -> None:
    sql = "SELECT carrier, count(*) AS n FROM flights GROUP BY carrier"
    pipe = replace(view("v", "tgt", sql), dialect="spark")
    target = datasource("tgt", {"carrier": "String", "n": "UInt32"})
    found = compile_view(Project.of([*PROJECT.datasources, target], [pipe]), pipe, pipe.nodes[0])
    assert found.trigger == SourceRead("__new_flights__", "flights", ("carrier",))
    assert found.grouped


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("SELECT carier FROM flights", "q.sql:1:8: unknown column `carier` (did you mean `carrier`?)"),
        ("SELECT * FROM flihts", "q.sql:1:15: unknown data source or pipe `flihts` (did you mean `flights`?)"),
        ("DROP TABLE flights", "q.sql:1:1: only one SELECT is allowed here"),
        ("SELECT reflect('a', 'b') AS x", "q.sql:1:8: the function `reflect` is not allowed (did you mean `repeat`?)"),
        (
            "SELECT listagg(carrier) AS x FROM flights",
            "q.sql:1:8: `listagg` of one argument would put commas between texts (write listagg(text, ''))",
        ),
        ("SELECT 1 AS x FROM flights WHERE day IN", "q.sql:1:34: IN of nothing (write IN (…))"),
        ("SELECT 1 AS x FROM flights WHERE day IN ()", "q.sql:1:34: IN needs values in brackets"),
        ("SELECT 1 AS x FROM flights WHERE day IN 1", "q.sql:1:34: IN needs values in brackets"),
        (
            "SELECT 1 AS x FROM flights GROUP BY",
            "q.sql:1:8: GROUP BY of nothing (name its keys, or leave it out)",
        ),
        (
            "SELECT a.day FROM flights AS a LEFT JOIN flights AS b ON WHERE a.day = 1",
            "q.sql:1:55: ON of nothing (write a condition, or CROSS JOIN)",
        ),
        ("SELECT (1", "q.sql:1:9: invalid SQL near `1`: expecting )"),
    ],
)
def test_problems(sql: str, problem: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        spark(sql)
    assert [str(each) for each in caught.value.problems] == [problem]


CASED = Project(
    (datasource("visits", {"Country": "String", "@timestamp": "DateTime", "Place": "Tuple(Lat Float64, lon Float64)"}),)
)


def cased(sql: str) -> Query:
    return compile_sql(CASED, text(sql), "spark")


def test_a_column_is_read_by_the_name_that_its_table_has() -> None:
    found = cased("SELECT COUNTRY, country AS land, place.LAT FROM visits ORDER BY country")
    select = "SELECT `visits`.`Country` AS `Country`, `visits`.`Country` AS `land`, `visits`.`Place`.`Lat` AS `lat`"
    assert found.sql == f"{select} FROM __all_visits__ AS `visits` ORDER BY `Country`"
    assert found.reads == (SourceRead("__all_visits__", "visits", ("Country", "Place")),)


def test_a_star_gives_the_names_of_the_table() -> None:
    assert [name for name, _ in cased("SELECT * FROM visits").columns] == ["Country", "@timestamp", "Place"]


def test_names_that_differ_only_in_case_are_refused() -> None:
    both = Project((datasource("t", {"Name": "String", "name": "String"}),))
    with pytest.raises(InvalidQuery) as caught:
        compile_sql(both, text("SELECT NAME FROM t"), "spark")
    assert [problem.message for problem in caught.value.problems] == ["`Name` and `name` are one name in DIALECT spark"]


@pytest.mark.parametrize(
    "value",
    [
        "CAST('now' AS TIMESTAMP)",
        "CAST((' Yesterday ') AS DATE)",
        "try_cast('today UTC' AS DATE)",
        "'tomorrow'::timestamp_ntz",
        "DATE 'today'",
        "TIMESTAMP 'NOW'",
        "to_timestamp('now')",
        "to_timestamp_ntz('now')",
        "to_date('now')",
        "date('now')",
        "hour('now')",
        "date_add('today', 1)",
        "datediff('today', time_hour)",
        "time_hour > 'yesterday'",
        "time_hour BETWEEN '2024-01-01' AND 'tomorrow'",
        "time_hour IN ('today')",
        "'now' <= time_hour",
        "coalesce(time_hour, 'today')",
        "date_trunc('DAY', time_hour) = 'today'",
    ],
)
def test_a_text_that_would_be_a_time_of_the_clock_is_refused(value: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        spark(f"SELECT CAST({value} AS STRING) AS x FROM flights")
    (problem,) = caught.value.problems
    assert "would be a time of the clock" in problem.message


def test_such_a_text_is_refused_at_its_place() -> None:
    with pytest.raises(InvalidQuery) as caught:
        spark("SELECT\n  carrier AS a,\n  CAST('now' AS TIMESTAMP) AS b\nFROM flights")
    assert [str(each.location) for each in caught.value.problems] == ["q.sql:3:8"]


def test_the_same_words_as_texts_and_constant_times_are_not() -> None:
    sql = "SELECT 'today' AS x, TIMESTAMP 'epoch' AS t FROM flights WHERE carrier = 'now' AND time_hour > '2024-01'"
    assert [name for name, _ in spark(sql).columns] == ["x", "t"]


def test_calls_with_too_few_arguments_are_refused_or_left_to_spark() -> None:
    """sqlglot reads some that it cannot write: `regexp_replace(a, b)` was an error of Python."""
    for name in sorted(SPARK_FUNCTIONS):
        for count in range(3):
            with suppress(InvalidQuery):
                spark(f"SELECT {name}({', '.join(['carrier'] * count)}) FROM flights")
    with pytest.raises(InvalidQuery) as raised:
        spark("SELECT regexp_replace(carrier, carrier) FROM flights")
    (problem,) = raised.value.problems
    assert (problem.code, problem.message) == ("wrong-argument-count", "`regexp_replace` needs more arguments")
