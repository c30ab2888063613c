"""Trees in which functions keep their names and arguments; none of SQL that would lose a part."""

from __future__ import annotations

import pytest
from sqlglot import exp

from penstock.sql.analysis.opaque_calls import computes_row_by_row, is_constant, parse_opaque, write_opaque

KEPT = (
    "named_struct('a', `x`, 'b', 2)",
    "get_json_object(`x`, '$[\\'location\\']')",
    "date_trunc('MONTH', `x`)",
    "log10(`x`)",
    "listagg(`x`, ',')",
    "count(DISTINCT `x`)",
    "first(`x`, true)",
    "penstock_lower(`x`)",
    "TRY_CAST(`x` AS INT)",
)
LOST = ("extract(YEAR FROM `x`)", "1.5BD + trim(BOTH 'x' FROM `y`)")


@pytest.mark.parametrize("sql", KEPT)
def test_what_is_written_is_kept(sql: str) -> None:
    tree = parse_opaque(f"SELECT {sql} AS `value`")
    assert tree is not None
    words = write_opaque(tree).lower().replace(" ignore nulls", "").replace(", true", "")
    assert words == f"select {sql.lower().replace(', true', '')} as `value`"


@pytest.mark.parametrize("sql", LOST)
def test_no_tree_of_what_would_be_lost(sql: str) -> None:
    assert parse_opaque(f"SELECT {sql} AS `value`") is None


@pytest.mark.parametrize(
    ("sql", "by_row", "constant"),
    [
        ("lower('x')", True, True),
        ("lower(`x`)", True, False),
        ("sum(1)", False, False),
        ("count(1)", False, False),
        ("collect_list(`x`)", False, False),
        ("theta_sketch_agg(`x`, 16)", False, False),
        ("max_by(`x`, `y`)", False, False),
        ("row_number() OVER (ORDER BY `x`)", False, False),
        ("rand()", False, False),
        ("now()", False, False),
        ("explode(array(1))", False, False),
        ("explode_outer(array(1))", False, False),
        ("stack(2, 1, 2)", False, False),
        ("inline_outer(`x`)", False, False),
        ("(SELECT 1)", False, False),
        ("filter(array(1, 2), v -> v > 1)", True, True),
    ],
)
def test_what_is_a_function_of_a_row(sql: str, by_row: bool, constant: bool) -> None:
    tree = parse_opaque(f"SELECT {sql} AS `value`")
    assert isinstance(tree, exp.Select)
    item = tree.expressions[0]
    assert (computes_row_by_row(item), is_constant(item)) == (by_row, constant)
