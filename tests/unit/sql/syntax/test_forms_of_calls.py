"""What a column without an alias is called, and forms that are read as calls."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import PROJECT, datasource, text

from penstock.model.project import Project
from penstock.sql.compile import compile_sql

WIDE = datasource(
    "wide", {"a": "UInt8", "b": "Bool", "m": "Map(String, UInt8)", "n": "Nullable(UInt8)", "l": "Array(Date)"}
)
WITH_WIDE = Project.of([*PROJECT.datasources, WIDE], [])


@pytest.mark.parametrize(
    ("selected", "name", "of"),
    [
        ("tuple(a + 1, 2)", "(plus(a, 1), 2)", "Tuple(UInt16, UInt8)"),
        ("array(a, 1)", "[a, 1]", "Array(UInt8)"),
        ("(a AS x) + 1", "plus(x, 1)", "UInt16"),
        ("'a' || 'b' || 'c'", "concat('a', 'b', 'c')", "String"),
        ("'a' || ('b' || 'c')", "concat('a', concat('b', 'c'))", "String"),
        ("DATE '2024-01-31'", "toDate('2024-01-31')", "Date"),
        ("timestamp '2024-01-31 10:00:00'", "toDateTime('2024-01-31 10:00:00')", "DateTime"),
        ("'2024-01-31'::Date", "CAST('2024-01-31', 'Date')", "Date"),
        ("a MOD 3", "modulo(a, 3)", "UInt8"),
        ("mod(a, 3)", "mod(a, 3)", "UInt8"),
        ("a AS mod", "mod", "UInt8"),
        ("m.keys", "m.keys", "Array(String)"),
        ("wide.m.values", "m.values", "Array(UInt8)"),
        ("l.size0", "l.size0", "UInt64"),
        ("n.null", "n.null", "UInt8"),
        ("-b", "negate(b)", "Int16"),
    ],
)
def test_names_and_types(selected: str, name: str, of: str) -> None:
    query = compile_sql(WITH_WIDE, text(f"SELECT {selected} FROM wide"), "clickhouse")
    assert [(found, str(each)) for found, each in query.columns] == [(name, of)]
