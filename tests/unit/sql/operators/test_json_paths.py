"""Paths into JSON columns: the names and types of their values, and what is refused."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.parse.column_types import parse_type
from penstock.sql.compile import compile_sql
from penstock.sql.query import Query

COLUMNS = {
    "id": "Int64",
    "s": "String",
    "j": "JSON",
    "k": "JSON(a.b UInt32, c Nullable(Date), SKIP d)",
    "words": "Array(String)",
}


def compiled(sql: str) -> Query:
    columns = tuple(Column(name, parse_type(of), location=Location("docs.datasource")) for name, of in COLUMNS.items())
    project = Project.of([DataSource("docs", columns, Engine())], [])
    return compile_sql(project, Text(sql, Location("q.sql")), "clickhouse")


@pytest.mark.parametrize(
    ("selected", "name", "of"),
    [
        ("j.a", "j.a", "Dynamic"),
        ("docs.j.a.b.c.d.e", "j.a.b.c.d.e", "Dynamic"),
        ("j.`a b`.c", "j.a b.c", "Dynamic"),
        ("j['a']", "arrayElement(j, 'a')", "Dynamic"),
        ("j.a.b.:Int64", "j.a.b.:`Int64`", "Nullable(Int64)"),
        ("j.d.:Date", "j.d.:`Date`", "Nullable(Date)"),
        ("j.l.:`Array(Nullable(Int64))`", "j.l.:`Array(Nullable(Int64))`", "Array(Nullable(Int64))"),
        ("j.^a.b", "j.^`a`.b", "JSON"),
        ("j.a::Int64", "CAST(j.a, 'Int64')", "Int64"),
        ("j.a::Nullable(Int64)", "CAST(j.a, 'Nullable(Int64)')", "Nullable(Int64)"),
        ("toString(j.a)", "toString(j.a)", "String"),
        ("j.a = 1", "equals(j.a, 1)", "Nullable(UInt8)"),
        ("[j.a, j.b]", "[j.a, j.b]", "Array(Dynamic)"),
        ("if(id = 1, j.a, j.b)", "if(equals(id, 1), j.a, j.b)", "Dynamic"),
        ("CASE WHEN id = 1 THEN j.a END", "multiIf(equals(id, 1), j.a, NULL)", "Dynamic"),
        ("s::JSON", "CAST(s, 'JSON')", "JSON"),
        ("DISTINCT j.a", "j.a", "Dynamic"),
        ("j['a']['b']", "arrayElement(arrayElement(j, 'a'), 'b')", "Dynamic"),
        ("j.a + 1", "plus(j.a, 1)", "Dynamic"),
        ("-j.a", "negate(j.a)", "Dynamic"),
        ("NOT j.a", "not(j.a)", "Nullable(UInt8)"),
        ("j.a = j.b", "equals(j.a, j.b)", "Nullable(UInt8)"),
        ("coalesce(j.a, 0)", "coalesce(j.a, 0)", "Dynamic"),
        ("ifNull(j.a, 'none')", "ifNull(j.a, 'none')", "Dynamic"),
        ("if(id = 1, j.a, 0)", "if(equals(id, 1), j.a, 0)", "Dynamic"),
        ("j.a || 'x'", "concat(j.a, 'x')", "Nullable(String)"),
        ("trim(j.a)", "trimBoth(j.a)", "Dynamic"),
        ("toYear(j.a)", "toYear(j.a)", "Nullable(Int64)"),
        ("toYYYYMM(j.a)", "toYYYYMM(j.a)", "Nullable(UInt32)"),
        ("dateDiff('day', j.a, j.b)", "dateDiff('day', j.a, j.b)", "Nullable(Int64)"),
        ("count(j.a)", "count(j.a)", "UInt64"),
        ("any(j.a)", "any(j.a)", "Dynamic"),
        (
            "arrayMap(x -> j.a::String, words)",
            "arrayMap(lambda(tuple(x), CAST(j.a, 'String')), words)",
            "Array(String)",
        ),
        ("(j.a, 1)", "(j.a, 1)", "Tuple(Dynamic, UInt8)"),
        ("JSONAllPaths(j)", "JSONAllPaths(j)", "Array(String)"),
        ("j.w[]", "j.w.:`Array(JSON)`", "Array(JSON)"),
        ("j.w[].x.y", "j.w.:`Array(JSON)`.x.y", "Array(Dynamic)"),
        ("j.w[].x.:Int64", "j.w.:`Array(JSON)`.x.:`Int64`", "Array(Nullable(Int64))"),
        ("k", "k", "JSON(`a.b` UInt32, c Nullable(Date), SKIP d)"),
        ("k.a.b", "k.a.b", "UInt32"),
        ("k.c", "k.c", "Nullable(Date)"),
        ("k.a", "k.a", "Dynamic"),
        ("k.^a", "k.^`a`", "JSON(b UInt32, SKIP d)"),
        ("k.a.b + 1", "plus(k.a.b, 1)", "UInt64"),
        ("s::JSON(a.b UInt8)", "CAST(s, 'JSON(a.b UInt8)')", "JSON(`a.b` UInt8)"),
    ],
)
def test_names_and_types(selected: str, name: str, of: str) -> None:
    assert [(found, str(each)) for found, each in compiled(f"SELECT {selected} FROM docs").columns] == [(name, of)]


@pytest.mark.parametrize(
    ("selected", "message", "hint"),
    [
        ("j.a + [1]", "`+` is not supported for Dynamic", "`.:Int64`"),
        ("j.a + (SELECT 1)", "`+` is not supported for Dynamic", "`.:Int64`"),
        ("toJSONString(j.a)", "`toJSONString` of Dynamic is not supported", "`.:Int64`"),
        ("j.a + NULL", "`+` is not supported for Dynamic", "`.:Int64`"),
        ("splitByChar(',', j.a)", "`splitByChar` of Dynamic is not supported", "`.:Int64`"),
        ("if(id = 1, j.a, [1])", "no common type of Dynamic, Array(UInt8)", "cast"),
        ("nullIf(j.a, 1)", "`nullIf` of Dynamic is not supported", "`.:Int64`"),
        ("toNullable(j.a)", "`toNullable` of Dynamic is not supported", "`.:Int64`"),
        ("countIf(j.a)", "the condition of `countIf` of Dynamic is not supported", "`.:Int64`"),
        ("argMax(id, j.a)", "`argMax` of Dynamic is not supported", "`.:Int64`"),
        ("uniqState(j.a)", "`uniqState` of Dynamic is not supported", "`.:Int64`"),
        ("x.id FROM docs x JOIN docs y ON x.j.a = y.j.a", "a key of JOIN of Dynamic is not supported", "`.:Int64`"),
        ("x.id FROM docs x JOIN docs y ON x.j.a = y.s", "a key of JOIN of Dynamic is not supported", "`.:Int64`"),
        ("JSON_VALUE(j, '$.a')", "argument 1 of `JSON_VALUE` must be a string, this is JSON", ""),
        ("sum(j.a)", "`sum` needs a number", "`.:Int64`"),
        ("j.a IN ('x')", "Dynamic and String cannot be compared", "`.:Int64`"),
        ("arrayJoin(j.a)", "arrayJoin needs an Array", "`::Array(String)`"),
        ("arrayMap(x -> x, j.a)", "`arrayMap` needs an Array", "`::Array(String)`"),
        ("toFloat64OrZero(j.a)", "argument 1 of `toFloat64OrZero` must be a string", "`::String`"),
        ("max([j.a])", "`max` of Dynamic is not supported", "`.:Int64`"),
        ("j.a = j", "Dynamic = JSON is not supported", "`.:Int64`"),
        ("j.a.:Int32", "no value of a JSON is a Int32", "Int64"),
        ("id.:Int64", "`.:` needs a path of a JSON", "Int64 is one already"),
        ("s.^a", "`.^` needs a JSON", ""),
        ("j.a[].b[].c", "`[]` needs a path of a JSON", "where its path is read"),
        ("s[]", "`.:` needs a path of a JSON", "String is one already"),
        ("length(j)", "`length` of a JSON is not supported", "toString"),
        ("arrayMap(x -> x.b, j.w[])", "a JSON that is a parameter of a lambda", "`data.items[].name`"),
        ("DISTINCT coalesce(j.a, 1) AS x", "rows cannot be compared by Dynamic", "`.:Int64`"),
        ("j.a[1]", "an element of Dynamic is not supported", "`data.items.:`Array(Nullable(String))`[1]`"),
        ("DISTINCT j.w[].x", "rows cannot be compared by Array(Dynamic)", ""),
        ("j = '{}'", "JSON = String is not supported", "toString"),
        ("lower(j)", "`lower` of JSON is not supported", "toString"),
        ("max(j)", "`max` of JSON is not supported", "toString"),
        ("arraySort([j])", "the order of JSON inside an array", "toString"),
        ("toJSONString([j])", "`toJSONString` of Array(JSON)", "toString"),
        ("arrayMap(x -> x::JSON, words)", "inside a lambda", ""),
        ("arrayMap(x -> toString(x), j.w[])", "inside a lambda", ""),
        ("count() FROM docs GROUP BY j.a", "rows cannot be compared by Dynamic", "`.:Int64`"),
        ("id FROM docs ORDER BY j.a", "Dynamic cannot be ordered", "`.:Int64`"),
        ("id FROM docs ORDER BY j", "JSON cannot be ordered", "toString"),
        ("id FROM docs WHERE j.a", "a filter needs conditions", "`::Bool`"),
    ],
)
def test_refused_with_what_to_write(selected: str, message: str, hint: str) -> None:
    sql = f"SELECT {selected}" if " FROM " in selected else f"SELECT {selected} FROM docs"
    with pytest.raises(InvalidQuery) as error:
        compiled(sql)
    (problem, *_) = error.value.problems
    assert message in problem.message
    assert hint in (problem.hint or "")
    assert problem.location.line == 1
