"""Which source columns decide outputs and rows, clause by clause; what cannot be told is whole."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import datasource, pipe, query, text

from penstock.model.project import Project
from penstock.sql.analysis.column_graph import SourceColumn
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.compile import compile_sql

COLUMNS = {
    "a": "Int32",
    "b": "Int32",
    "c": "Nullable(Int32)",
    "d": "Float64",
    "s": "String",
    "arr": "Array(Int32)",
    "z": "Array(String)",
    "st": "Tuple(x Int32, y String)",
}
SOURCES = [datasource("t", COLUMNS), datasource("u", COLUMNS)]
NODES = pipe("nodes", "SELECT a, b + c AS bc, s FROM t WHERE d > 0")
PROJECT = Project.of(SOURCES, [NODES])


def shown(origins: frozenset[SourceColumn]) -> str:
    """`t.a t.b`."""
    return " ".join(sorted(f"{each.placeholder.strip('_').split('_')[1]}.{each.column}" for each in origins))


CASES = {
    # One SELECT.
    "SELECT a, b + c AS x FROM t": ("a: t.a, x: t.b t.c", ""),
    "SELECT a, 1 AS one FROM t WHERE b > 0": ("a: t.a, one:", "t.b"),
    "SELECT a, sum(b) AS n, count() AS k FROM t GROUP BY a HAVING max(c) > 1": ("a: t.a, n: t.b, k:", "t.a t.c"),
    "SELECT sum(b) AS n FROM t": ("n: t.b", ""),
    "SELECT 1 AS k, count() AS n FROM t GROUP BY k, a": ("k:, n:", "t.a"),
    "SELECT DISTINCT a, b FROM t": ("a: t.a, b: t.b", "t.a t.b"),
    "SELECT a, b FROM t ORDER BY b LIMIT 3": ("a: t.a, b: t.b", "t.b"),
    "SELECT a FROM t ORDER BY c, d DESC": ("a: t.a", "t.c t.d"),
    "SELECT a, d FROM t ORDER BY d DESC": ("a: t.a, d: t.d", "t.d"),
    "SELECT t.b AS a, t.a AS b FROM t ORDER BY a": ("a: t.b, b: t.a", "t.b"),
    "SELECT -a AS a FROM t WHERE a > 0": ("a: t.a", "t.a"),
    "SELECT a, b FROM t ORDER BY c LIMIT 1 BY s": ("a: t.a, b: t.b", "t.c t.s"),
    "SELECT a FROM t QUALIFY row_number() OVER (PARTITION BY b ORDER BY c) = 1": ("a: t.a", "t.b t.c"),
    "SELECT a, sum(b) OVER (PARTITION BY c ORDER BY s) AS n FROM t": ("a: t.a, n: t.b t.c t.s", ""),
    "SELECT a, rank() OVER w AS n FROM t WINDOW w AS (ORDER BY d)": ("a: t.a, n: t.d", ""),
    "SELECT st.y AS y, tupleElement(st, 'x') AS x FROM t": ("y: t.st, x: t.st", ""),
    "SELECT arrayMap(b -> b + a, arr) AS x, arrayMap((k, v) -> k + length(v), arr, z) AS y FROM t": (
        "x: t.a t.arr, y: t.arr t.z",
        "",
    ),
    "SELECT arraySort(x -> -x, arr) AS x FROM t": ("x: t.arr", ""),
    # Array joins.
    "SELECT a, e FROM t ARRAY JOIN arr AS e": ("a: t.a, e: t.arr", "t.arr"),
    "SELECT a, e, f FROM t LEFT ARRAY JOIN arr AS e, z AS f": ("a: t.a, e: t.arr t.z, f: t.arr t.z", "t.arr t.z"),
    "SELECT a, arrayJoin(arr) AS e FROM t": ("a: t.a, e: t.arr", "t.arr"),
    # Joins.
    "SELECT t.a, u.b AS ub FROM t JOIN u ON t.a = u.a AND u.d > 1": ("a: t.a, ub: u.b", "t.a u.a u.d"),
    "SELECT a, u.b AS ub FROM t LEFT JOIN u USING (a)": ("a: t.a, ub: u.b", "t.a u.a"),
    "SELECT a, t.b FROM t FULL JOIN (SELECT a, s, c FROM u) AS q USING (a)": ("a: t.a u.a, b: t.b", "t.a u.a"),
    "SELECT b FROM t LEFT SEMI JOIN u USING (a)": ("b: t.b", "t.a u.a"),
    "SELECT t.b, v.c FROM t, u AS v WHERE t.a < v.d": ("b: t.b, v.c: u.c", "t.a u.d"),
    # SELECTs inside.
    "SELECT x FROM (SELECT a + b AS x, c AS y FROM t WHERE d > 0)": ("x: t.a t.b", "t.d"),
    "SELECT b FROM (SELECT t.a AS b, t.b AS a FROM t) WHERE a > 0": ("b: t.a", "t.b"),
    "SELECT n FROM (SELECT a, count() AS n FROM (SELECT a, b, c FROM t) GROUP BY a, b)": ("n:", "t.a t.b"),
    "SELECT groupArray(a) AS g FROM (SELECT a, b FROM t ORDER BY c)": ("g: t.a", "t.c"),
    "SELECT * FROM (SELECT a, b FROM t) WHERE a > 1": ("a: t.a, b: t.b", "t.a"),
    "WITH q AS (SELECT a, b, c FROM t WHERE s = '') SELECT a, (SELECT max(c) FROM q) AS m FROM q": (
        "a: t.a, m: t.c t.s",
        "t.s",
    ),
    "SELECT bc FROM nodes": ("bc: t.b t.c", "t.d"),
    "SELECT a FROM t WHERE b IN (SELECT c FROM u WHERE d > 0)": ("a: t.a", "t.b u.c u.d"),
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE d > 0)": ("a: t.a", "u.d"),
    "SELECT a, b IN (SELECT a FROM u) AS i FROM t": ("a: t.a, i: t.b u.a", ""),
    "SELECT a + (SELECT max(b) FROM u WHERE s = '') AS x FROM t": ("x: t.a u.b u.s", ""),
    "SELECT number FROM numbers(3) WHERE number IN (SELECT a FROM t)": ("number:", "t.a"),
    # Unions.
    "SELECT a, b FROM t UNION ALL SELECT b, c FROM u WHERE d > 0": ("a: t.a u.b, b: t.b u.c", "u.d"),
    "SELECT a, b FROM t UNION DISTINCT SELECT a, c FROM t": ("a: t.a, b: t.b t.c", "t.a t.b t.c"),
}


@pytest.mark.parametrize("sql", CASES)
def test_clauses(sql: str) -> None:
    found = query_facts(query(sql, PROJECT).sql).lineage
    outputs = ", ".join(f"{name}: {shown(origins)}".rstrip() for name, origins in found.outputs)
    assert (outputs, shown(found.rows)) == CASES[sql]
    assert found.whole == frozenset()


SPARK = {
    "SELECT a AS x, a + b AS y FROM t ORDER BY x": ("x: t.a, y: t.a t.b", "t.a", ""),
    "WITH q AS (SELECT a, b, c FROM t) SELECT x.a, y.b FROM q x JOIN q y ON x.c = y.c": (
        "a: t.a, b: t.b",
        "t.c",
        "",
    ),
    "WITH q AS (SELECT a FROM t), r AS (SELECT b FROM u WHERE c > 0) SELECT a FROM q": ("a: t.a", "u.c", ""),
    "SELECT a, sum(b) OVER w AS n FROM t WINDOW w AS (PARTITION BY c)": ("a: t.a, n: t.b t.c", "t.c", ""),
    "SELECT s, count(*) AS n FROM t GROUP BY ALL": ("s: t.s, n:", "t.s", ""),
    "SELECT a, explode(arr) AS e FROM t": ("a: t.a, e: t.arr", "t.a t.arr", ""),
    "SELECT q.x FROM (SELECT a, b FROM t) AS q (x, y)": ("x: t.a", "", ""),
    "SELECT t.a FROM t LATERAL VIEW posexplode(arr) p AS i, v WHERE v > 3": ("a: t.a", "t.arr", ""),
    "SELECT a FROM t UNION SELECT b FROM u ORDER BY a LIMIT 3": ("a: t.a u.b", "t.a u.b", ""),
    "SELECT q.a FROM (SELECT a, b FROM t INTERSECT SELECT a, b FROM u) AS q": ("a: t.a u.a", "t.a t.b u.a u.b", ""),
    "SELECT a FROM t TABLESAMPLE (10 PERCENT)": ("a:", "", "t"),
}


@pytest.mark.parametrize("sql", SPARK)
def test_clauses_of_spark_sql(sql: str) -> None:
    found = query_facts(compile_sql(PROJECT, text(sql), "spark").sql).lineage
    outputs = ", ".join(f"{name}: {shown(origins)}".rstrip() for name, origins in found.outputs)
    assert (outputs, shown(found.rows), " ".join(each.split("_")[3] for each in found.whole)) == SPARK[sql]


UNKNOWN = {
    "SELECT * FROM __new_t__ AS `t`": {"__new_t__"},
    "SELECT q.`a` AS `a` FROM (SELECT * FROM __new_t__) AS q": {"__new_t__"},
    "SELECT `t`.*, 1 AS `one` FROM __new_t__ AS `t`": {"__new_t__"},
    "SELECT struct(*) AS `s` FROM __new_t__ AS `t`": {"__new_t__"},
    "SELECT `x`.`a` AS `a` FROM __new_t__ AS `t` JOIN __all_u__ AS `u` ON true": set(),
    "SELECT `b` AS `b` FROM (SELECT `t`.`a` AS `a` FROM __new_t__ AS `t`) AS q": set(),
    "SELECT `t`.`a` AS `a` FROM __new_t__ AS `t` NATURAL JOIN __all_u__ AS `u`": {"__new_t__", "__all_u__"},
    "SELECT 1 AS `a` FROM __new_t__ PIVOT (sum(a) FOR b IN (1, 2))": {"__new_t__"},
    "SELECT `t`.`a` AS `a` FROM __new_t__ AS `t`, LATERAL (SELECT `u`.`b` + `t`.`c` FROM __all_u__ AS u) AS l": set(),
    "WITH RECURSIVE r AS (SELECT `a` FROM __new_t__ UNION ALL SELECT `a` FROM r) SELECT `a` FROM r": {"__new_t__", "r"},
    "SELECT FROM WHERE __new_t__ ((": {"__new_t__"},
    "this is __new_t__ AS no SQL at __all_some__thing__!": {"__new_t__", "__all_some__thing__"},
}


@pytest.mark.parametrize("sql", UNKNOWN)
def test_what_cannot_be_told_is_whole(sql: str) -> None:
    assert query_facts(sql).lineage.whole == UNKNOWN[sql]
    assert not UNKNOWN[sql] & set(query_facts(sql).columns_read)


def test_a_compiled_query_carries_its_facts() -> None:
    found = query("SELECT a, b + c AS bc FROM t WHERE d > 0", PROJECT)
    assert found.facts is query_facts(found.sql)
    assert found.facts.output_names == ("a", "bc")
    assert found.facts.columns_read == {"__all_t__": frozenset({"a", "b", "c", "d"})}
    assert found.facts.with_row_seq("__all_t__") == found.sql.replace(" FROM", ", `t`._seq FROM")
    assert found.facts.may_raise


def test_a_text_that_does_not_parse_has_no_facts_but_its_placeholders() -> None:
    found = query_facts("SELECT ( FROM __all_t__")
    assert (found.output_names, found.columns_read, found.may_raise) == ((), {}, True)
    assert found.lineage.whole == {"__all_t__"}
