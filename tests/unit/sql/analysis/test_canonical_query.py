"""Which queries have one canonical form, and which must not: the latter are as near to the former as can be."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import datasource, query

from penstock.model.project import Project
from penstock.sql.analysis.canonical_query import NEVER_NULL, QueryInputs, canonical_query

COLUMNS = {
    "a": "Int32",
    "b": "Int32",
    "n": "Nullable(Int32)",
    "f": "Float64",
    "s": "String",
    "p": "Tuple(x Int32, y Int32)",
    "arr": "Array(Int32)",
    "fs": "Array(Float64)",
}
PROJECT = Project.of([datasource("t", COLUMNS), datasource("u", COLUMNS)], [])
KNOWN = {"__all_t__": {"b": "CAST(0 AS INT)", "n": "CAST(NULL AS INT)", "s": "''"}}

MANY = [f"(a = {number} AND NOT (b = {number} OR s = 'x' OR f > {number}))" for number in range(300)]
"""Conditions, of which a long chain is one query in any order."""

SAME = [
    ("SELECT f * a AS k FROM t", "SELECT a * f AS k FROM t"),
    ("SELECT max(f + toFloat64(a)) AS k FROM t", "SELECT max(toFloat64(a) + f) AS k FROM t"),
    (f"SELECT a FROM t WHERE {' OR '.join(MANY)}", f"SELECT a FROM t WHERE {' OR '.join(reversed(MANY))}"),
    ("SELECT a FROM t WHERE a = 1 AND (b = 1 AND (s = 'x' OR (f = 1 OR b = 2)))",
     "SELECT a FROM t WHERE (((b = 2 OR s = 'x') OR f = 1) AND b = 1) AND a = 1"),
    ("SELECT a FROM t WHERE a = 1 AND f > 2", "SELECT a FROM t WHERE 2 < f AND 1 = a"),
    ("SELECT a FROM t WHERE a = 1 OR a = 2", "SELECT x.a AS a FROM t AS x WHERE a IN (2, 1)"),
    ("SELECT a FROM t WHERE s != 'x' AND f = 1", "SELECT a FROM t WHERE NOT (s = 'x') AND NOT NOT (f = 1)"),
    ("SELECT a FROM t WHERE s IN ('x')", "SELECT a FROM t WHERE s = 'x' AND 1"),
    ("SELECT a FROM t WHERE s NOT IN ('x')", "SELECT a FROM t WHERE s != 'x'"),
    ("SELECT a FROM t WHERE n NOT IN (1)", "SELECT a FROM t WHERE NOT (n = 1)"),
    ("SELECT sumIf(f, s IN ('x')) AS k FROM t", "SELECT sumIf(f, s = 'x') AS k FROM t"),
    ("SELECT y.a AS a FROM t AS y LEFT JOIN u AS x ON x.a = y.a", "SELECT t.a AS a FROM t LEFT JOIN u ON t.a = u.a"),
    ("SELECT a, f FROM t", "SELECT a, f FROM (SELECT f, a, s FROM (SELECT * FROM t) AS inner) AS outer"),
    ("SELECT a + 1 AS x FROM t WHERE a > 0", "SELECT k + 1 AS x FROM (SELECT a AS k FROM t WHERE a > 0)"),
    ("SELECT a, count() AS n FROM t GROUP BY a, f", "SELECT a, count() AS n FROM t GROUP BY f, a ORDER BY a"),
    ("SELECT a, count() AS n FROM t GROUP BY a", "SELECT a, count() AS n FROM t GROUP BY a, a + 1, 'x'"),
    ("SELECT a, m FROM (SELECT a, max(f) AS m FROM t GROUP BY a)",
     "WITH q AS (SELECT max(f) AS k, a FROM t GROUP BY a) SELECT a, k AS m FROM q"),
    ("SELECT p.x AS k FROM t WHERE p.y = 1", "SELECT q.x AS k FROM (SELECT p AS q FROM t) WHERE 1 = q.y"),
    ("SELECT a, sum(p.x) AS k FROM t GROUP BY a",
     "SELECT r AS a, sum(q.x) AS k FROM (SELECT p AS q, a AS r FROM t) GROUP BY r"),
    ("SELECT t.a AS a FROM t JOIN u ON t.a = u.a", "SELECT v.a AS a FROM t AS v JOIN u AS w ON w.a = v.a"),
    ("SELECT t2.b AS b FROM t AS t1 JOIN u AS t2 ON t1.a = t2.a",
     "SELECT t1.b AS b FROM t AS t2 JOIN u AS t1 ON t2.a = t1.a"),
    ("SELECT a, x AS k FROM t ARRAY JOIN arr AS x", "SELECT a, arrayJoin(arr) AS k FROM t"),
    ("SELECT x, count() AS n FROM t ARRAY JOIN arr AS x WHERE x > 1 GROUP BY x, a",
     "SELECT arrayJoin(q.arr) AS x, count() AS n FROM t AS q WHERE 1 < x GROUP BY q.a, x"),
    ("SELECT x, k FROM t ARRAY JOIN arr AS x, arrayEnumerate(arr) AS k WHERE a = 1",
     "SELECT y AS x, n AS k FROM (SELECT arr FROM t WHERE a = 1) ARRAY JOIN arr AS y, arrayEnumerate(arr) AS n"),
]  # fmt: skip

KNOWN_SAME = [
    ("SELECT a FROM t", "SELECT a FROM t WHERE b = 0"),
    ("SELECT a FROM t", "SELECT a FROM t WHERE b != 1 AND s != 'x' AND (s = '' OR a > 1)"),
    ("SELECT a FROM t", "SELECT a FROM t WHERE n IS NULL AND NOT b"),
    ("SELECT a, '' AS k FROM t", "SELECT a, s AS k FROM t"),
    ("SELECT a, f AS k FROM t", "SELECT a, if(s = 'x', 1, f) AS k FROM t"),
    ("SELECT a, f AS k FROM t", "SELECT a, multiIf(b = 1, 1, b = 2, 2, f) AS k FROM t"),
    ("SELECT a, count() AS k FROM t GROUP BY a", "SELECT a, count() AS k FROM t GROUP BY a, s, b"),
    ("SELECT a, count() AS k FROM t GROUP BY a", "SELECT a, countIf(b = 0) AS k FROM t GROUP BY a"),
    ("SELECT a, uniqExact(f) AS k FROM t GROUP BY a", "SELECT a, uniqExactIf(f, b < 1) AS k FROM t GROUP BY a"),
    ("SELECT DISTINCT a FROM t", "SELECT a FROM (SELECT DISTINCT a, s FROM t)"),
    (
        "SELECT t.a AS a FROM t LEFT JOIN u ON t.a = u.a",
        "SELECT t.a AS a FROM t LEFT JOIN u ON t.a = u.a WHERE t.b = 0",
    ),
    ("SELECT a, coalesce(n, f) AS k FROM t", "SELECT a, coalesce(n, f) AS k FROM t WHERE coalesce(n, 1) = 1"),
]

NEVER_NULL_SAME = [
    ("SELECT a FROM t WHERE n > 1", "SELECT a FROM t WHERE n > 1 AND n IS NOT NULL AND NOT (n IS NULL)"),
    ("SELECT a, n AS k FROM t", "SELECT a, ifNull(n, 5) AS k FROM t"),
    ("SELECT a, n AS k FROM t", "SELECT a, ifNull(m, 5) AS k FROM (SELECT a, n AS m FROM t) AS x"),
    ("SELECT a, count(n) AS k FROM t GROUP BY a, n", "SELECT a, countIf(n, isNotNull(n)) AS k FROM t GROUP BY a, n"),
    (
        "SELECT t.a AS a, t.n AS k FROM t LEFT JOIN u ON t.a = u.a",
        "SELECT t.a AS a, coalesce(t.n, u.a) AS k FROM t LEFT JOIN u ON t.a = u.a",
    ),
]
NEVER_NULL_OTHER = [
    ("SELECT a, n AS k FROM t", "SELECT a, ifNull(nullIf(n, 1), 5) AS k FROM t"),
    ("SELECT a, max(n) AS k FROM t GROUP BY a", "SELECT a, coalesce(max(n), 5) AS k FROM t GROUP BY a"),
    (
        "SELECT u.a AS a, t.n AS k FROM u LEFT JOIN t ON t.a = u.a",
        "SELECT u.a AS a, coalesce(t.n, u.a) AS k FROM u LEFT JOIN t ON t.a = u.a",
    ),
    (
        "SELECT t.a AS a, t.n AS k FROM t RIGHT JOIN u ON t.a = u.a",
        "SELECT t.a AS a, coalesce(t.n, u.a) AS k FROM t RIGHT JOIN u ON t.a = u.a",
    ),
]

OTHER = [
    ("SELECT f / a AS k FROM t", "SELECT a / f AS k FROM t"),
    ("SELECT f - a AS k FROM t", "SELECT a - f AS k FROM t"),
    ("SELECT a FROM t WHERE s NOT IN ('x')", "SELECT a FROM t WHERE s = 'x'"),
    ("SELECT a FROM t WHERE s NOT IN ('y')", "SELECT a FROM t WHERE s != 'x'"),
    ("SELECT a FROM t WHERE n NOT IN (1)", "SELECT a FROM t WHERE n NOT IN (1) OR n IS NULL"),
    ("SELECT x.a AS a FROM t AS x LEFT JOIN u AS y ON x.a = y.a", "SELECT u.a AS a FROM u LEFT JOIN t ON t.a = u.b"),
    ("SELECT a FROM t WHERE a > 1", "SELECT a FROM t WHERE a >= 1"),
    ("SELECT a FROM t WHERE a - f > 1", "SELECT a FROM t WHERE f - a > 1"),
    ("SELECT a FROM t WHERE a = 1 AND f > 2 OR s = ''", "SELECT a FROM t WHERE a = 1 AND (f > 2 OR s = '')"),
    ("SELECT a FROM t", "SELECT DISTINCT a FROM t"),
    ("SELECT a FROM t", "SELECT a FROM (SELECT a FROM t LIMIT 5)"),
    ("SELECT a FROM t", "SELECT a FROM (SELECT a, arrayJoin(arr) AS e FROM t)"),
    ("SELECT a FROM t ORDER BY a LIMIT 3", "SELECT a FROM t ORDER BY f LIMIT 3"),
    ("SELECT count() AS k FROM t", "SELECT count() AS k FROM t GROUP BY 'x'"),
    ("SELECT count() AS k FROM t GROUP BY f", "SELECT count() AS k FROM t GROUP BY f, toString(f)"),
    ("SELECT a, count() AS k FROM t GROUP BY a", "SELECT a, count() AS k FROM t GROUP BY a, f"),
    ("SELECT a, count() AS k FROM t GROUP BY a", "SELECT a, count() AS k FROM t GROUP BY ROLLUP(a)"),
    ("SELECT a, count(n) AS k FROM t GROUP BY a", "SELECT a, count() AS k FROM t GROUP BY a"),
    ("SELECT a, p.x AS k FROM t", "SELECT a, p.y AS k FROM t"),
    ("SELECT p.x AS k FROM t", "SELECT q.y AS k FROM (SELECT p AS q FROM t)"),
    ("SELECT q.x AS k FROM (SELECT p.x AS x FROM t) AS q", "SELECT q.x AS k FROM (SELECT p.y AS x FROM t) AS q"),
    ("SELECT toInt8OrNull(s) AS k FROM t", "SELECT toInt8(s) AS k FROM t"),
    ("SELECT t.a AS a FROM t JOIN u ON t.a = u.a", "SELECT t.a AS a FROM t LEFT JOIN u ON t.a = u.a"),
    ("SELECT u.a AS a FROM t JOIN u ON t.a = u.a", "SELECT t.a AS a FROM t JOIN u ON t.a = u.b"),
    ("SELECT any(a) AS k FROM t", "SELECT anyLast(a) AS k FROM t"),
    ("SELECT round(f, 1) AS k FROM t", "SELECT round(f) AS k FROM t"),
    ("SELECT groupArray(a) AS k FROM (SELECT a FROM t ORDER BY a)", "SELECT groupArray(a) AS k FROM t"),
    # the names of tables may be the numbers that names get
    ("SELECT t1.b AS b FROM t AS t2 JOIN u AS t1 ON t1.a = t2.a",
     "SELECT t2.b AS b FROM t AS t2 JOIN u AS t1 ON t1.a = t2.a"),
    ("SELECT t1.b AS b FROM t AS t2 JOIN u AS t1 ON t1.a = t2.a",
     "SELECT t1.b AS b FROM t AS t1 JOIN u AS t2 ON t1.a = t2.a"),
    ("SELECT x FROM t ARRAY JOIN arr AS x", "SELECT x FROM t LEFT ARRAY JOIN arr AS x"),
    ("SELECT x FROM t ARRAY JOIN arr AS x", "SELECT x FROM t ARRAY JOIN arr AS x, arr AS y"),
    ("SELECT x FROM t ARRAY JOIN arr AS x", "SELECT x FROM t ARRAY JOIN arr AS x ARRAY JOIN arr AS y"),
    ("SELECT x FROM t ARRAY JOIN arr AS x, [a] AS y", "SELECT y AS x FROM t ARRAY JOIN arr AS x, [a] AS y"),
    ("SELECT t1.a AS a FROM t AS t1 ARRAY JOIN arr AS x", "SELECT x AS a FROM t AS t1 ARRAY JOIN arr AS x"),
    # 0.0 and -0.0 are one key, and two texts: also as elements of an array, and from behind a subquery
    ("SELECT count() AS k FROM t ARRAY JOIN fs AS x GROUP BY x",
     "SELECT count() AS k FROM t ARRAY JOIN fs AS x GROUP BY x, toString(x)"),
    ("SELECT max(a) AS k FROM (SELECT DISTINCT a, f AS g FROM t) GROUP BY g",
     "SELECT max(a) AS k FROM (SELECT DISTINCT a, f AS g FROM t) GROUP BY g, toString(g)"),
]  # fmt: skip

KNOWN_OTHER = [
    ("SELECT a FROM t", "SELECT a FROM t WHERE b = 1"),
    ("SELECT a FROM t", "SELECT a FROM t WHERE n = 0"),
    ("SELECT a FROM t", "SELECT a FROM t WHERE s >= 'x'"),
    ("SELECT a, '' AS k FROM t", "SELECT a, u.s AS k FROM t JOIN u ON t.a = u.a"),
    (
        "SELECT u.a AS a FROM t RIGHT JOIN u ON t.a = u.a",
        "SELECT u.a AS a FROM t RIGHT JOIN u ON t.a = u.a WHERE t.s = ''",
    ),
    (
        "SELECT u.a AS a, '' AS k FROM u LEFT JOIN t ON t.a = u.a",
        "SELECT u.a AS a, t.s AS k FROM u LEFT JOIN t ON t.a = u.a",
    ),
    ("SELECT count() AS k FROM t", "SELECT count() AS k FROM t GROUP BY s"),
    ("SELECT a, sum(b) AS k FROM t GROUP BY a", "SELECT a, sum(a) AS k FROM t GROUP BY a"),
    (
        "SELECT a, '' AS k, count() AS m FROM t GROUP BY a",
        "SELECT a, s AS k, count() AS m FROM t GROUP BY a, s WITH ROLLUP",
    ),
]


def canonical(sql: str, known: dict[str, dict[str, str]]) -> str | None:
    found = canonical_query(query(sql, PROJECT).sql, QueryInputs(known, frozenset({"f"})))
    return found.sql if found is not None else None


@pytest.mark.parametrize(("first", "second"), SAME)
def test_one_form(first: str, second: str) -> None:
    form = canonical(first, {})
    assert form is not None
    assert form == canonical(second, {})
    assert form == canonical(first, {}), "it is always the same"


@pytest.mark.parametrize(("first", "second"), KNOWN_SAME)
def test_one_form_where_values_are_known(first: str, second: str) -> None:
    form = canonical(first, KNOWN)
    assert form is not None
    assert form == canonical(second, KNOWN)
    assert canonical(first, {}) != canonical(second, {}), "without them they differ"


@pytest.mark.parametrize(("first", "second"), NEVER_NULL_SAME)
def test_one_form_where_a_column_is_never_null(first: str, second: str) -> None:
    known = {"__all_t__": {"n": NEVER_NULL}}
    form = canonical(first, known)
    assert form is not None
    assert form == canonical(second, known)
    assert canonical(first, {}) != canonical(second, {}), "without that they differ"


@pytest.mark.parametrize(("first", "second"), NEVER_NULL_OTHER)
def test_other_forms_where_a_column_is_never_null(first: str, second: str) -> None:
    known = {"__all_t__": {"n": NEVER_NULL}}
    assert canonical(first, known) != canonical(second, known)


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_other_forms(first: str, second: str) -> None:
    forms = [canonical(first, {}), canonical(second, {})]
    assert forms == [None, None] or forms[0] != forms[1]


@pytest.mark.parametrize(("first", "second"), KNOWN_OTHER)
def test_other_forms_where_values_are_known(first: str, second: str) -> None:
    forms = [canonical(first, KNOWN), canonical(second, KNOWN)]
    assert None in forms or forms[0] != forms[1]


@pytest.mark.parametrize("sql", [each for pair in SAME + OTHER for each in pair])
def test_a_canonical_form_is_its_own(sql: str) -> None:
    form = canonical(sql, {})
    again = canonical_query(form, QueryInputs({}, frozenset({"f"}))) if form is not None else None
    assert form is None or again is None or again.sql == form
