"""Cells of CSV are as ClickHouse (chDB) writes them; a tuple by itself is one cell."""

from __future__ import annotations

import csv
import datetime as dt
import io
from decimal import Decimal

import pytest
from chdb.session import Session

from clickhouse_session import open_session
from penstock.deploy.queries.answers.answer_formats import answer_format
from penstock.lake.read.packed_rows import PackedRows
from penstock.lake.read.query_execution import QueryResult
from penstock.parse.column_types import parse_type

DAY, TIME = dt.date(2024, 5, 1), dt.datetime(2024, 5, 1, 2, 3, 4, 123000, dt.timezone.utc)
ODD = 'it\'s "a" \\ b\n\t\r\b\f\0é😀,;'
ODD_LITERAL = "'it\\'s \"a\" \\\\ b\\n\\t\\r\\b\\f\\0é😀,;'"
CASES = [
    ("Array(String)", f"[{ODD_LITERAL}, '']", [ODD, ""]),
    ("Array(Nullable(String))", "['a', NULL]", ["a", None]),
    ("Array(Array(UInt8))", "[[1], []]", [[1], []]),
    ("Array(Float64)", "[0.5, inf, -inf, nan, 1e300, 1e-10, 1e20, 1, -0.]", None),
    ("Array(Float32)", "[0.1, 16777216]", [0.10000000149011612, 16777216.0]),
    ("Array(Bool)", "[true, false]", [True, False]),
    ("Array(Date)", "['2024-05-01']", [DAY]),
    ("Array(DateTime64(3, 'UTC'))", "['2024-05-01 02:03:04.123']", [TIME]),
    ("Array(Decimal(9, 2))", "[1.50, -2]", [Decimal("1.50"), Decimal("-2.00")]),
    ("Array(UUID)", "['61f0c404-5cb3-11e7-907b-a6006ad3dba0']", ["61f0c404-5cb3-11e7-907b-a6006ad3dba0"]),
    ("Array(IPv4)", "['1.2.3.4']", ["1.2.3.4"]),
    ("Array(Enum8('a' = 1))", "['a']", ["a"]),
    ("Array(Tuple(Int8, Nullable(String)))", "[(1, 'x'), (2, NULL)]", [(1, "x"), (2, None)]),
    ("Array(JSON)", """['{"a":1,"s":"x\\'y"}']""", ['{"a":1,"s":"x\'y"}']),
    ("Map(String, UInt8)", "{'k': 1, 'it\\'s': 2}", {"k": 1, "it's": 2}),
    ("Map(UInt8, Array(String))", "{1: ['a'], 2: []}", {1: ["a"], 2: []}),
    ("Map(Date, Nullable(Float64))", "{'2024-05-01': NULL, '2024-05-02': 1.5}", {DAY: None, dt.date(2024, 5, 2): 1.5}),
    ("Map(String, Map(String, Bool))", "{'a': {'b': true}}", {"a": {"b": True}}),
]
FLOATS = [0.5, float("inf"), float("-inf"), float("nan"), 1e300, 1e-10, 1e20, 1.0, -0.0]


@pytest.fixture(scope="module")
def clickhouse() -> Session:
    return open_session()


@pytest.mark.parametrize(("of", "literal", "value"), CASES, ids=[case[0] for case in CASES])
def test_a_cell_is_that_of_clickhouse(clickhouse: Session, of: str, literal: str, value: object) -> None:
    made = literal.replace("{", "map(").replace("}", ")").replace(": ", ", ") if of.startswith("Map") else literal
    theirs = str(clickhouse.query(f"SELECT CAST({made} AS {of}) AS c", "CSVWithNames"))
    assert cells(of, FLOATS if value is None else value) == theirs


@pytest.mark.parametrize(
    ("of", "value", "cell"),
    [
        ("Tuple(Int8, Array(String))", (1, ["a"]), "(1,['a'])"),
        ("Tuple(a Nullable(Int8), b Date)", (None, DAY), "(NULL,'2024-05-01')"),
        ("Array(Int8)", None, "\\N"),
    ],
)
def test_other_cells(of: str, value: object, cell: str) -> None:
    assert list(csv.reader(io.StringIO(cells(of, value)))) == [["c"], [cell]]


def cells(of: str, value: object) -> str:
    rows = PackedRows()
    rows.append((value,))
    answer = QueryResult((("c", parse_type(of)),), rows, 0.0, 0, 0)
    return b"".join(answer_format("CSVWithNames").write(answer)).decode()
