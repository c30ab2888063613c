"""Names that stand where a table stands, in texts that need not be SQL."""

from __future__ import annotations

import pytest

from penstock.sql.syntax.named_tables import find_named_tables

CASES: dict[str, set[str]] = {
    "SELECT 1 FROM a JOIN (b) ON x IN c": {"a", "b", "c"},
    "SELECT 1 from `a b` join `c`": {"c"},
    "SELECT 1 FROM -- x\n a /* FROM b */ WHERE c = ' FROM d' AND e IN ('f')": {"a"},
    "SELECT '--' FROM a": {"a"},
    "SELECT 1 FROM a {# FROM b #} {% if defined(x) %} JOIN b2 {% else %} JOIN ((c)) {% end %} JOIN {{ t }}": {
        "a",
        "b2",
        "c",
    },
    "%\nSELECT 1 FROM a {% if x %} JOIN b {% end %} WHERE c = {{ String(d, 'from e') }}": {"a", "b"},
    "SELECT 1 FROM a -- it's\nWHERE x = 'open\n JOIN b -- c": {"a", "b"},
    "": set(),
}


@pytest.mark.parametrize("text", CASES)
def test_names_where_a_table_stands(text: str) -> None:
    assert find_named_tables(text) == CASES[text]
