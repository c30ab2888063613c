from __future__ import annotations

import pytest

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.sql.syntax.catalog_statements import (
    CatalogStatement,
    DescribeTable,
    ExplainQuery,
    ShowTables,
    parse_catalog_statement,
)


def parse(text: str) -> CatalogStatement | None:
    return parse_catalog_statement(Text(text, Location("query")))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SHOW TABLES", ["a_b", "events"]),
        (" show full tables from penstock ", ["a_b", "events"]),
        ("SHOW TABLES LIKE 'ev%'", ["events"]),
        ("SHOW TABLES LIKE 'ev%' ;\n", ["events"]),
        ("SHOW TABLES LIKE 'EV%'", []),
        ("SHOW TABLES ILIKE 'EV%'", ["events"]),
        ("SHOW TABLES NOT LIKE 'a__'", ["events"]),
        ("SHOW TABLES LIKE 'a\\_b'", ["a_b"]),
        ("SHOW TABLES LIKE '%v%n%s'", ["events"]),
        ("SHOW TABLES LIKE 'e[v]*'", []),
        ("/* one *//* two */ -- three\n SHOW TABLES", ["a_b", "events"]),
        ("-- all of them\nSHOW TABLES IN default LIKE '%'", ["a_b", "events"]),
    ],
)
def test_show_tables(text: str, kept: list[str]) -> None:
    found = parse(text)
    assert isinstance(found, ShowTables)
    assert found.is_service == ("penstock" in text)
    assert [name for name in ("a_b", "events") if found.matches(name)] == kept


def test_the_time_is_linear_in_the_text() -> None:
    """Each of these took minutes or for ever as one regular expression."""
    for text in ("/**/" * 25_000, "/* " * 30_000, "--\n" * 30_000, " " * 100_000 + "/*"):
        assert parse(text) is None
        assert parse(text + "x") is None
    found = parse("SHOW TABLES LIKE '" + "%a" * 50_000 + "'")
    assert isinstance(found, ShowTables)
    assert not found.matches("a" * 1_000 + "b")


@pytest.mark.parametrize(
    ("text", "name"),
    [("DESCRIBE TABLE x", "x"), ("desc `x`", "x"), ("DESCRIBE penstock.jobs_log", "penstock__jobs_log")],
)
def test_describe_a_name_keeps_its_place(text: str, name: str) -> None:
    found = parse(text)
    assert isinstance(found, DescribeTable)
    assert found.name == name
    query = found.query
    where = query.text.index(name[0], len("SELECT * FROM"))
    assert query.at(1, where + 1).column == text.lower().index(name[0], 5 if "desc `" in text else 9) + 1


def test_describe_a_query() -> None:
    found = parse("DESCRIBE SELECT 1 AS a")
    assert isinstance(found, DescribeTable)
    assert (found.query.text, found.query.at(1, 1).column, found.name) == ("SELECT 1 AS a", 10, None)
    found = parse("DESCRIBE TABLE (SELECT 1 AS a)")
    assert isinstance(found, DescribeTable)
    assert (found.query.text, found.name) == ("SELECT * FROM (SELECT 1 AS a)", None)


def test_explain_keeps_the_place_of_the_query() -> None:
    found = parse("EXPLAIN\n  SELECT a\n FROM x")
    assert isinstance(found, ExplainQuery)
    assert (found.query.at(1, 1), found.query.at(2, 1)) == (Location("query", 2, 3), Location("query", 3, 1))


@pytest.mark.parametrize(
    "text",
    ["SELECT 1", "SHOW CREATE TABLE x", "EXPLAIN SYNTAX SELECT 1", "describe", "SELECT 'SHOW TABLES'", ""],
)
def test_anything_else_is_left_to_the_compiler(text: str) -> None:
    assert parse(text) is None
