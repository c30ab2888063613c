"""Materialized nodes: the target's columns, in its order and types; what does not fit."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import FLIGHTS, PROJECT, column, view

from penstock.errors import InvalidQuery
from penstock.model.datasource import DataSource
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.sql.compile import compile_view
from penstock.sql.query import CompiledView


def compiled(sql: str, **target: str) -> CompiledView:
    columns = tuple(column(name, *of.split(" DEFAULT ")) for name, of in target.items())
    pipe = view("v", "tgt", sql)
    project = Project.of([*PROJECT.datasources, DataSource("tgt", columns, Engine())], [pipe])
    return compile_view(project, pipe, pipe.nodes[0])


def refused(sql: str, **target: str) -> list[str]:
    with pytest.raises(InvalidQuery) as caught:
        compiled(sql, **target)
    return [str(problem) for problem in caught.value.problems]


def test_columns_are_those_of_the_target() -> None:
    found = compiled("SELECT day AS b, flight AS a FROM flights", a="String", b="UInt32", c="Int8", d="Nullable(Date)")
    assert [name for name, _ in found.query.columns] == ["a", "b", "c", "d"]
    assert found.query.sql == (
        "SELECT q.`a` AS `a`, CAST(q.`b` AS BIGINT) AS `b`, CAST(0 AS INT) AS `c`, CAST(NULL AS DATE) AS `d` "
        "FROM (SELECT `flights`.`day` AS `b`, `flights`.`flight` AS `a` FROM __new_flights__ AS `flights`) AS q"
    )
    assert not found.grouped


def test_the_word_union_makes_no_union() -> None:
    assert "'union'" in compiled("SELECT 'union' AS a FROM flights", a="String").query.sql


def test_a_default_is_computed_over_the_columns_that_are_given() -> None:
    found = compiled("SELECT day FROM flights", day="UInt8", twice="UInt16 DEFAULT day * 2")
    assert found.query.sql.startswith("SELECT `day` AS `day`, (`day` * 2) AS `twice` FROM (SELECT q.`day` AS `day`")


def test_null_for_a_column_that_holds_none_is_its_zero_value() -> None:
    found = compiled("SELECT tailnum FROM flights", tailnum="String")
    assert "coalesce(q.`tailnum`, '') AS `tailnum`" in found.query.sql


def test_a_text_that_is_no_value_of_a_nullable_column_is_null() -> None:
    nullable = compiled("SELECT tailnum AS n FROM flights", n="Nullable(Int32)").query.sql
    assert "raise_error" not in nullable
    plain = compiled("SELECT tailnum AS n FROM flights", n="Int32").query.sql
    assert "raise_error(concat('cannot convert '" in plain


def test_counts_fit_into_every_integer() -> None:
    assert "CAST(q.`n` AS DECIMAL(20,0)) AS `n`" in compiled("SELECT count() AS n FROM flights", n="UInt64").query.sql


CASES = {
    ("SELECT dai FROM flights", "day UInt8"): ["v.pipe:1:8: unknown column `dai` (did you mean `day`?)"],
    ("SELECT day AS dey FROM flights", "day UInt8"): ["v.pipe:1:8: `tgt` has no column `dey` (did you mean `day`?)"],
    ("SELECT day, day FROM flights", "day UInt8"): ["v.pipe:1:8: the column `day` is given twice"],
    ("SELECT countState() AS s FROM flights", "s AggregateFunction(sum, UInt8)"): [
        "v.pipe:1:8: column `s`: AggregateFunction(count) is not the state AggregateFunction(sum, UInt8) "
        "(use sumState(…))"
    ],
    ("SELECT quantileState(0.95)(day) AS s FROM flights", "s AggregateFunction(quantile(0.9), UInt8)"): [
        "v.pipe:1:8: column `s`: AggregateFunction(quantile(0.95), UInt8) is not the state "
        "AggregateFunction(quantile(0.9), UInt8) (use quantileState(0.9)(…))"
    ],
    ("SELECT count() AS s FROM flights", "s AggregateFunction(count)"): [
        "v.pipe:1:8: column `s`: UInt64 is not the state AggregateFunction(count) (use countState())"
    ],
    ("SELECT countState() AS s FROM flights", "s UInt64"): [
        "v.pipe:1:8: column `s`: the state AggregateFunction(count) cannot be stored as UInt64 (finish it with -Merge)"
    ],
    ("SELECT [day] AS s FROM flights", "s UInt64"): [
        "v.pipe:1:9: column `s`: Array(UInt8) cannot be stored as UInt64 (cast it)"
    ],
    ("SELECT day FROM flights UNION ALL SELECT day FROM flights", "day UInt8"): [
        "v.pipe:1:8: a materialized node cannot be a UNION (write one node for each part)"
    ],
    ("select day from flights union all select day from flights", "day UInt8"): [
        "v.pipe:1:8: a materialized node cannot be a UNION (write one node for each part)"
    ],
    ("SELECT 1 AS day", "day UInt8"): [
        "v.pipe:1:8: a materialized node must read a data source (its left-most table triggers it)"
    ],
}


@pytest.mark.parametrize(("sql", "target"), CASES)
def test_problems(sql: str, target: str) -> None:
    name, of = target.split(" ", 1)
    assert refused(sql, **{name: of}) == CASES[(sql, target)]


def test_a_target_with_an_unknown_state() -> None:
    assert refused("SELECT day FROM flights", day="UInt8", s="AggregateFunction(histogram(3), UInt8)") == [
        "the state type AggregateFunction(histogram(3), UInt8) is not supported"
    ]


def test_an_unknown_target() -> None:
    pipe = view("v", "flihts", "SELECT day FROM flights")
    with pytest.raises(InvalidQuery) as caught:
        compile_view(Project.of([FLIGHTS], [pipe]), pipe, pipe.nodes[0])
    assert str(caught.value.problems[0]) == ("v.pipe:9:1: there is no data source `flihts` (did you mean `flights`?)")
