"""JOIN after ARRAY JOIN: what is joined so far is a table of its own."""

from __future__ import annotations

import re

import pytest
from tests.unit.sql.flights import datasource, query, view

from penstock.model.project import Project
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.compile import compile_view

COLUMNS = {"a": "Int32", "b": "Int32", "arr": "Array(Int32)", "z": "Array(String)"}
PROJECT = Project.of([datasource("t", COLUMNS), datasource("u", COLUMNS), datasource("m", {"a": "Int32"})], [])


def test_the_elements_are_joined() -> None:
    assert query("SELECT t.a, e FROM t ARRAY JOIN arr AS e LEFT JOIN u ON e = u.b", PROJECT).sql == (
        "SELECT `__joined2`.`c1` AS `a`, `__joined2`.`c0` AS `e` FROM (SELECT `__array1`.`e0` AS `c0`, "
        "`t`.`a` AS `c1`, `t`.`b` AS `c2`, `t`.`arr` AS `c3` FROM __all_t__ AS `t` "
        "LATERAL VIEW inline(arrays_zip(`t`.`arr`)) `__array1` AS `e0`) AS `__joined2` "
        "LEFT JOIN __all_u__ AS `u` ON (`__joined2`.`c0` = `u`.`b`)"
    )


FROM = (
    "t ARRAY JOIN arr AS e JOIN u ON e = u.b",
    "t LEFT ARRAY JOIN arr AS e, z AS f FULL JOIN u USING (a)",
    "t ARRAY JOIN arr JOIN u ON t.a = u.a",
    "t ARRAY JOIN arr AS e JOIN u ON e = u.b ARRAY JOIN t.z AS f",
    "t ARRAY JOIN arr AS e JOIN u ON e = u.b ARRAY JOIN t.z AS f CROSS JOIN m",
)


def _beside(sql: str) -> str:
    """What follows up to the end of the SELECT, without what is in brackets."""
    while (shorter := re.sub(r"\([^()]*\)", "", sql)) != sql:
        sql = shorter
    return sql.partition(")")[0]


@pytest.mark.parametrize("tables", FROM)
def test_no_join_follows_a_lateral_view(tables: str) -> None:
    for shown in ("*", "count()", "t.a, arr", "t.*, u.b"):
        sql = query(f"SELECT {shown} FROM {tables}", PROJECT).sql
        after = sql.split("LATERAL VIEW")[1:]
        assert after
        assert not any(" JOIN " in _beside(each) for each in after)


def test_what_is_not_named_is_not_read() -> None:
    found = query("SELECT count() FROM t ARRAY JOIN arr CROSS JOIN u", PROJECT)
    assert [(each.datasource, each.columns) for each in found.reads] == [("t", ("arr",)), ("u", ())]
    found = query("SELECT t.b, e FROM t ARRAY JOIN arr AS e CROSS JOIN u", PROJECT)
    assert found.reads[0].columns == ("b", "arr")
    assert query_facts(found.sql).lineage.whole == frozenset()


def test_names_of_constants_are_read() -> None:
    sql = "WITH b + 1 AS k SELECT k, n FROM t ARRAY JOIN arr AS n CROSS JOIN u"
    assert query(sql, PROJECT).reads[0].columns == ("b", "arr")


def test_the_left_most_table_still_triggers() -> None:
    made = view("v", "m", "SELECT e AS a FROM t ARRAY JOIN arr AS e JOIN u ON e = u.b")
    found = compile_view(PROJECT, made, made.nodes[0])
    assert found.trigger.placeholder == "__new_t__"
    assert found.query.sql.count("__new_t__") == 1
