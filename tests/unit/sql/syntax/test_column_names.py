"""Names of columns without an alias: each is what ClickHouse calls that expression."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import query

NAMES = [
    ("[1, 2.5]", "[1., 2.5]"),
    ("[TRUE]", "[1]"),
    ("(TRUE, x)", "(true, x)"),
    ("(-x, x)", "(negate(x), x)"),
    ("[-x]", "[negate(x)]"),
    ("[-x, 1]", "[negate(x), 1]"),
    ("NaN", "nan"),
    ("INF", "inf"),
    ("Infinity", "inf"),
    ("-INF", "-inf"),
    ("-nan", "nan"),
    ("[nan, 1]", "[nan, 1.]"),
    ("-inf + 1", "plus(-inf, 1)"),
    ("x + nan", "plus(x, nan)"),
    ("[1.5, 2]", "[1.5, 2.]"),
    ("[(1, TRUE)]", "[(1, 1)]"),
    ("[0x1F]", "[31]"),
    ("0x1F", "31"),
    ("(0x1F, 1)", "(31, 1)"),
    ("[0x1F, x]", "[31, x]"),
    ("x + 0x1F", "plus(x, 31)"),
    ("0xff + 1", "plus(255, 1)"),
    ("[1, 2, inf]", "[1., 2., inf]"),
    ("-1.50", "-1.5"),
    ("[-1.50]", "[-1.5]"),
    ("(-1.50, x)", "(-1.5, x)"),
    ("1.50", "1.5"),
    ("[1.50, x]", "[1.5, x]"),
    ("[1_000]", "[1000]"),
    ("tuple(TRUE)", "(true)"),
    ("array(TRUE, 1)", "[true, 1]"),
    ("x IN (TRUE, 1)", "in(x, (1, 1))"),
    ("toString([TRUE])", "toString([1])"),
    ("if(TRUE, [TRUE], [FALSE])", "if(true, [1], [0])"),
    ("-x", "negate(x)"),
    ("arrayMap(y -> -y, [x])", "arrayMap(lambda(tuple(y), negate(y)), [x])"),
    ("arrayMap(y -> (-y, y), [x])", "arrayMap(lambda(tuple(y), (negate(y), y)), [x])"),
    ("arrayMap(y -> [-y], [x])", "arrayMap(lambda(tuple(y), [negate(y)]), [x])"),
    ("(x, (-x, 1))", "(x, (negate(x), 1))"),
    ("[1, 2.0]", "[1., 2.]"),
    ("[1e3, 1]", "[1000., 1.]"),
    ("map(TRUE, 1)", "map(true, 1)"),
    ("00012", "12"),
    ("-0", "0"),
]


@pytest.mark.parametrize(("written", "name"), NAMES)
def test_named_as_in_clickhouse(written: str, name: str) -> None:
    (column,) = query(f"SELECT {written} FROM (SELECT 1 AS x)").columns
    assert column[0] == name
