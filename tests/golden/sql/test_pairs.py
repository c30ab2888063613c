"""Pairs to read: a query of ClickHouse and what it is on Spark. tests/differential runs both halves.

The Spark half is written by `make golden`; read its diff before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot
from tests.differential.sample import project

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.sql.compile import compile_sql

PAIRS = Path(__file__).parent / "pairs"
NAMES = sorted(path.name.removesuffix(".clickhouse.sql") for path in PAIRS.glob("*.clickhouse.sql"))


@pytest.mark.parametrize("name", NAMES)
def test_compiled(name: str, update_golden: bool) -> None:
    theirs = (PAIRS / f"{name}.clickhouse.sql").read_text(encoding="utf-8")
    ours = PAIRS / f"{name}.spark.sql"
    sql = compile_sql(project(), Text(theirs.strip(), Location(f"{name}.sql")), "clickhouse").sql
    if update_golden:
        ours.write_text(f"{_wrapped(sql)}\n", encoding="utf-8")
    assert " ".join(ours.read_text(encoding="utf-8").split()) == " ".join(_wrapped(sql).split())


def _wrapped(sql: str) -> str:
    """Broken at its clauses only: the words stay as they are compiled."""
    tokens = sqlglot.tokenize(sql, read="spark")
    breaks = {token.start for token in tokens if token.text.upper() in CLAUSES}
    return "".join("\n" + char if place in breaks and place else char for place, char in enumerate(sql)).strip()


CLAUSES = frozenset({"FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "LEFT", "UNION"})
