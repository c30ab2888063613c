"""Whole queries to Spark SQL: the flights project, names, clauses, joins, nodes in nodes."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import FLIGHTS, PROJECT, TO_DAILY, TO_MONTHLY, TOP, pipe, query, text, view

from penstock.errors import InvalidQuery
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.sql.compile import PASSES, compile_pipe, compile_view, split_format
from penstock.sql.query import SourceRead


def types(columns: tuple[tuple[str, object], ...]) -> dict[str, str]:
    return {name: str(of) for name, of in columns}


def test_the_daily_view() -> None:
    found = compile_view(PROJECT, TO_DAILY, TO_DAILY.nodes[0])
    assert found.trigger == SourceRead("__new_flights__", "flights", ("time_hour", "carrier", "tailnum", "dep_delay"))
    assert (found.target, found.grouped, found.query.reads) == ("carrier_daily", True, (found.trigger,))
    assert [name for name, _ in found.query.columns] == [
        "carrier",
        "day",
        "flights",
        "avg_delay",
        "max_delay",
        "planes",
    ]
    assert "count(1) AS `flights`" in found.query.sql
    assert "theta_sketch_agg(if(`flights`.`tailnum` IS NOT NULL, xxhash64(`flights`.`tailnum`), NULL), 16)" in (
        found.query.sql
    )
    assert "FROM __new_flights__ AS `flights` GROUP BY `flights`.`carrier`, CAST(`flights`.`time_hour` AS DATE)" in (
        found.query.sql
    )


def test_the_monthly_view_merges_states() -> None:
    found = compile_view(PROJECT, TO_MONTHLY, TO_MONTHLY.nodes[0])
    assert found.trigger.columns == ("carrier", "day", "flights", "avg_delay", "planes")
    assert "theta_union_agg(`carrier_daily`.`planes`, 16) AS `planes`" in found.query.sql


def test_the_endpoint_finishes_states() -> None:
    found = compile_pipe(PROJECT, TOP)
    assert types(found.columns) == {
        "carrier": "LowCardinality(String)",
        "flights": "UInt64",
        "avg_delay": "Nullable(Float64)",
        "planes": "UInt64",
    }
    assert found.sql.endswith("GROUP BY `carrier_daily`.`carrier` ORDER BY `flights` DESC LIMIT 10")
    assert found.reads == (
        SourceRead("__all_carrier_daily__", "carrier_daily", ("carrier", "flights", "avg_delay", "planes")),
    )


PAIRS = {
    "SELECT flight FROM flights": "SELECT `flights`.`flight` AS `flight` FROM __all_flights__ AS `flights`",
    "SELECT f.flight AS x, x FROM flights f": (
        "SELECT `f`.`flight` AS `x`, `f`.`flight` AS `x` FROM __all_flights__ AS `f`"
    ),
    "SELECT count() FROM flights WHERE distance > 5": (
        "SELECT count(1) AS `count()` FROM __all_flights__ AS `flights` WHERE (`flights`.`distance` > 5L)"
    ),
    "SELECT origin, count() c FROM flights GROUP BY 1 ORDER BY 2 LIMIT 3 OFFSET 1": (
        "SELECT `flights`.`origin` AS `origin`, count(1) AS `c` FROM __all_flights__ AS `flights` "
        "GROUP BY `flights`.`origin` ORDER BY `c` ASC LIMIT 3 OFFSET 1"
    ),
    "WITH x AS (SELECT flight FROM flights) SELECT flight FROM x": (
        "SELECT `x`.`flight` AS `flight` FROM (SELECT `flights`.`flight` AS `flight` "
        "FROM __all_flights__ AS `flights`) AS `x`"
    ),
    "WITH 2 AS k SELECT day * k AS d FROM flights": (
        "SELECT (`flights`.`day` * 2) AS `d` FROM __all_flights__ AS `flights`"
    ),
    "SELECT flight FROM flights LIMIT 1 BY origin": (
        "SELECT `flight` FROM (SELECT `flights`.`flight` AS `flight`, row_number() OVER (PARTITION BY "
        "`flights`.`origin` ORDER BY CAST(1 AS INT)) AS `__place` FROM __all_flights__ AS `flights`) "
        "WHERE `__place` > 0 AND `__place` <= 1"
    ),
    "SELECT a.flight FROM flights a LEFT JOIN flights b ON a.flight = b.flight WHERE b.day = 1": (
        "SELECT `a`.`flight` AS `flight` FROM __all_flights__ AS `a` LEFT JOIN __all_flights__ AS `b` "
        "ON (`a`.`flight` = `b`.`flight`) WHERE (coalesce(`b`.`day`, CAST(0 AS INT)) = 1)"
    ),
    "SELECT 1 AS x UNION ALL SELECT 70000": (
        "(SELECT CAST(`x` AS BIGINT) AS `x` FROM (SELECT 1 AS `x`)) UNION ALL "
        "(SELECT * FROM (SELECT 70000L AS `70000`))"
    ),
}


@pytest.mark.parametrize("sql", PAIRS)
def test_pairs(sql: str) -> None:
    assert query(sql).sql == PAIRS[sql]


def test_a_pipe_reads_nodes_and_pipes() -> None:
    outer = pipe("outer", "SELECT carrier, flights FROM top WHERE flights > 3", "SELECT count() AS n FROM n0")
    found = compile_pipe(Project.of(PROJECT.datasources, [*PROJECT.pipes, outer]), outer)
    assert found.reads[0].datasource == "carrier_daily"
    assert types(found.columns) == {"n": "UInt64"}


def test_the_left_most_table_triggers_and_only_there() -> None:
    joined = view(
        "joined",
        "tgt",
        "SELECT flight FROM flights WHERE day = 1",
        "SELECT n0.flight AS flight FROM n0 LEFT JOIN flights AS f ON f.flight = n0.flight",
    )
    target = FLIGHTS.__class__("tgt", (FLIGHTS.columns[5],), FLIGHTS.engine)
    found = compile_view(Project.of([*PROJECT.datasources, target], [joined]), joined, joined.nodes[1])
    assert [read.placeholder for read in found.query.reads] == ["__new_flights__", "__all_flights__"]
    assert found.query.sql.count("__new_flights__") == 1
    assert not found.grouped


def test_pipes_that_read_each_other() -> None:
    first, second = pipe("first", "SELECT * FROM second"), pipe("second", "SELECT * FROM first")
    with pytest.raises(InvalidQuery) as caught:
        compile_pipe(Project.of([], [first, second]), first)
    assert str(caught.value.problems[0]) == ("second.pipe:1:15: the SQL reads itself: first.n0 → second.n0 → first.n0")


def test_unused_columns_are_not_read() -> None:
    assert query("SELECT count() FROM flights").reads == (SourceRead("__all_flights__", "flights", ()),)


def test_every_query_goes_through_the_passes_once() -> None:
    assert len(PASSES) == len({each.__name__ for each in PASSES})


def test_the_result_of_a_pipe_is_its_endpoint() -> None:
    nodes = pipe("two", "SELECT 1 AS a", "SELECT 2 AS b").nodes
    turned = Pipe("two", (nodes[1], nodes[0]))
    assert compile_pipe(Project.of([], [turned]), turned).columns[0][0] == "b"


def test_text_places_do_not_depend_on_the_query() -> None:
    assert text("a\nbc").at(2, 2).line == 2


@pytest.mark.parametrize(
    ("sql", "rest", "name"),
    [
        ("SELECT 1 FORMAT JSON", "SELECT 1", "JSON"),
        ("SELECT 1\nformat CSVWithNames;\n", "SELECT 1", "CSVWithNames"),
        ("SELECT 1;", "SELECT 1", None),
        ("SELECT 'FORMAT JSON'", "SELECT 'FORMAT JSON'", None),
    ],
)
def test_split_format(sql: str, rest: str, name: str | None) -> None:
    found, format_name = split_format(text(sql))
    assert (found.text, format_name) == (rest, name)
