"""What is cut from compiled SQL, clause by clause; and the law that ties it to lineage."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.sql.flights import datasource, query, text

from penstock.model.project import Project
from penstock.sql.analysis.column_graph import SourceColumn
from penstock.sql.analysis.prune import prune
from penstock.sql.analysis.query_facts import MOST_SELECTS, query_facts
from penstock.sql.compile import compile_sql

COLUMNS = {"a": "Int32", "b": "Int32", "c": "Nullable(Int32)", "d": "Int32", "s": "String", "arr": "Array(Int32)"}
PROJECT = Project.of([datasource("t", COLUMNS), datasource("u", COLUMNS)], [])
T, U = "__all_t__ AS `t`", "__all_u__ AS `u`"

CASES = {
    # The columns, in the order that is asked for.
    ("SELECT a, b, a + b AS x FROM t", "x a"): f"SELECT (CAST(`t`.`a` AS BIGINT) + CAST(`t`.`b` AS BIGINT)) AS `x`, "
    f"`t`.`a` AS `a` FROM {T}",
    ("SELECT a FROM t WHERE b > 0", ""): f"SELECT 1 AS `a` FROM {T} WHERE (`t`.`b` > 0)",
    # SELECTs inside lose what is not needed, all of it where only the rows count.
    ("SELECT a, b FROM (SELECT a, b, s FROM t WHERE d > 0)", "b"): "SELECT `__t0`.`b` AS `b` FROM "
    f"(SELECT `t`.`b` AS `b` FROM {T} WHERE (`t`.`d` > 0)) AS `__t0`",
    ("SELECT count() AS n FROM (SELECT a, b FROM t)", "n"): "SELECT count(1) AS `n` FROM "
    f"(SELECT 1 AS `a` FROM {T}) AS `__t0`",
    ("SELECT count() AS n FROM (SELECT max(a) AS m, min(b) AS k FROM t)", "n"): "SELECT count(1) AS `n` FROM "
    f"(SELECT count(1) AS `m` FROM {T}) AS `__t0`",
    # Keys stay keys.
    ("SELECT a, s, count() AS n, max(b) AS m FROM t GROUP BY a, s", "n"): f"SELECT count(1) AS `n` FROM {T} "
    "GROUP BY `t`.`a`, `t`.`s`",
    ("SELECT count() AS n FROM (SELECT a, max(b) AS m FROM t GROUP BY a)", "n"): "SELECT count(1) AS `n` FROM "
    f"(SELECT 1 AS `a` FROM {T} GROUP BY `t`.`a`) AS `__t0`",
    # All columns of these decide rows.
    ("SELECT DISTINCT a, b FROM t", "b"): "SELECT `b` FROM "
    f"(SELECT DISTINCT `t`.`a` AS `a`, `t`.`b` AS `b` FROM {T}) AS `__kept`",
    ("SELECT a, s FROM t UNION DISTINCT SELECT b, s FROM u", "a"): "SELECT `a` FROM ("
    f"(SELECT * FROM (SELECT `t`.`a` AS `a`, `t`.`s` AS `s` FROM {T})) UNION "
    f"(SELECT * FROM (SELECT `u`.`b` AS `b`, `u`.`s` AS `s` FROM {U}))) AS `__kept`",
    # One aggregate and a constant: without the aggregate there would be a row for each row.
    ("SELECT 1 AS one, sum(a) AS n FROM t", "one"): "SELECT `one` FROM "
    f"(SELECT 1 AS `one`, coalesce(sum(`t`.`a`), CAST(0 AS BIGINT)) AS `n` FROM {T}) AS `__kept`",
    # UNION ALL: by place, on both sides.
    ("SELECT a, s, b FROM t UNION ALL SELECT b, s, a FROM u", "b"): "SELECT `b` FROM ("
    f"(SELECT * FROM (SELECT `t`.`b` AS `b` FROM {T})) UNION ALL "
    f"(SELECT * FROM (SELECT `u`.`a` AS `a` FROM {U}))) AS `__kept`",
    ("SELECT b FROM (SELECT a, b FROM t UNION ALL SELECT DISTINCT a, b FROM u)", "b"): "SELECT `__t0`.`b` AS `b` FROM ("
    f"(SELECT * FROM (SELECT `t`.`a` AS `a`, `t`.`b` AS `b` FROM {T})) UNION ALL "
    f"(SELECT * FROM (SELECT DISTINCT `u`.`a` AS `a`, `u`.`b` AS `b` FROM {U}))) AS `__t0`",
    # What sorts stays, beside the columns if it must.
    ("SELECT a, b FROM t ORDER BY b LIMIT 2", "a"): "SELECT `a` FROM "
    f"(SELECT `t`.`a` AS `a`, `t`.`b` AS `b` FROM {T} ORDER BY `b` ASC LIMIT 2) AS `__kept`",
    ("SELECT a, b, s FROM t ORDER BY b LIMIT 2", "b"): f"SELECT `t`.`b` AS `b` FROM {T} ORDER BY `b` ASC LIMIT 2",
    ("SELECT a, b FROM t QUALIFY row_number() OVER (ORDER BY d) = 1", "a"): "SELECT `a` FROM "
    "(SELECT `t`.`a` AS `a`, (row_number() OVER (ORDER BY `t`.`d` ASC) = 1) AS `__qualify` "
    f"FROM {T}) WHERE `__qualify`",
    # What makes rows stays.
    ("SELECT a, e FROM t ARRAY JOIN arr AS e", "a"): f"SELECT `t`.`a` AS `a` FROM {T} "
    "LATERAL VIEW inline(arrays_zip(`t`.`arr`)) `__array1` AS `e0`",
    ("SELECT a, b FROM t JOIN (SELECT a AS k, b AS v, d FROM u) AS j ON t.a = j.k", "b"): "SELECT `t`.`b` AS `b` FROM "
    f"{T} INNER JOIN (SELECT `u`.`a` AS `k` FROM {U}) AS `j` ON (`t`.`a` = `j`.`k`)",
    # SELECTs in expressions go with their column, and lose what they do not need themselves.
    ("SELECT a, (SELECT max(b) FROM (SELECT b, s FROM u)) AS m FROM t", "a"): f"SELECT `t`.`a` AS `a` FROM {T}",
    ("SELECT a, (SELECT max(b) FROM (SELECT b, s FROM u)) AS m FROM t", "m"): "SELECT "
    "(SELECT coalesce(max(`__t0`.`b`), CAST(0 AS INT)) AS `max(b)` FROM "
    f"(SELECT `u`.`b` AS `b` FROM {U}) AS `__t0`) AS `m` FROM {T}",
}


@pytest.mark.parametrize(("sql", "columns"), CASES)
def test_what_is_cut(sql: str, columns: str) -> None:
    assert prune(query(sql, PROJECT).sql, columns.split()) == CASES[sql, columns]


SPARK = {
    ("WITH q AS (SELECT a, b, s FROM t) SELECT x.a, y.b FROM q x JOIN q y ON x.b = y.b", "a"): "WITH `q` AS "
    f"(SELECT `t`.`a` AS `a`, `t`.`b` AS `b` FROM {T}) SELECT `x`.`a` AS `a` FROM `q` AS `x` JOIN `q` AS `y` "
    "ON `x`.`b` = `y`.`b`",
    ("SELECT a, explode(arr) AS e FROM t", "a"): "SELECT `a` FROM "
    f"(SELECT `t`.`a` AS `a`, EXPLODE(`t`.`arr`) AS `e` FROM {T}) AS `__kept`",
    ("SELECT n FROM (SELECT s, count(*) AS n FROM t GROUP BY ALL) AS q", "n"): "SELECT `q`.`n` AS `n` FROM "
    f"(SELECT `t`.`s` AS `s`, COUNT(*) AS `n` FROM {T} GROUP BY ALL) AS `q`",
    ("SELECT b FROM (SELECT a, b, s FROM t ORDER BY a) AS q", "b"): "SELECT `q`.`b` AS `b` FROM "
    f"(SELECT `t`.`a` AS `a`, `t`.`b` AS `b` FROM {T} ORDER BY `a`) AS `q`",
    ("SELECT a, sum(b) OVER w AS n, s FROM t WINDOW w AS (PARTITION BY d)", "n"): "SELECT SUM(`t`.`b`) OVER `w` "
    f"AS `n` FROM {T} WINDOW `w` AS (PARTITION BY `t`.`d`)",
}


@pytest.mark.parametrize(("sql", "columns"), SPARK)
def test_what_is_cut_from_spark_sql(sql: str, columns: str) -> None:
    assert prune(compile_sql(PROJECT, text(sql), "spark").sql, columns.split()) == SPARK[sql, columns]


X = "FROM __new_x__ AS `t`"
TEXTS = {
    "SELECT q.`x` AS `x`, 1 AS `y` FROM (SELECT 0L AS `x`, 1e-6D AS `z`, '), `y`, (' AS `é`) AS q": (
        "SELECT q.`x` AS `x` FROM (SELECT 0L AS `x`) AS q"
    ),
    f"SELECT 'a, b' AS `y`, transform(`t`.`arr`, (e, i) -> e + i)[0] AS `x` {X}": (
        f"SELECT transform(`t`.`arr`, (e, i) -> e + i)[0] AS `x` {X}"
    ),
    f"SELECT 1 AS `y`, try_variant_get(try_parse_json(`t`.`s`), '$[\\'p\\']', 'variant') AS `x` {X}": (
        f"SELECT try_variant_get(try_parse_json(`t`.`s`), '$[\\'p\\']', 'variant') AS `x` {X}"
    ),
    f"SELECT `a` AS `x` FROM (SELECT theta_sketch_agg(`t`.`a`, 16) AS `a`, theta_sketch_agg(`t`.`b`, 16) AS `b` {X})": (
        f"SELECT `a` AS `x` FROM (SELECT theta_sketch_agg(`t`.`a`, 16) AS `a` {X})"
    ),
    f"SELECT `a` AS `x`, `b` AS `y` FROM (SELECT `t`.`a` AS `a`, `t`.`b` AS `b` {X} GROUP BY 1, 2)": (
        f"SELECT `a` AS `x` FROM (SELECT `t`.`a` AS `a`, `t`.`b` AS `b` {X} GROUP BY 1, 2)"
    ),
    "SELECT * FROM __new_t__": "SELECT `x` FROM (SELECT * FROM __new_t__) AS `__kept`",
    "SELECT FROM ((": "SELECT `x` FROM (SELECT FROM (() AS `__kept`",
}


@pytest.mark.parametrize("sql", TEXTS)
def test_text_that_stays_is_not_written_anew(sql: str) -> None:
    assert prune(sql, ["x"]) == TEXTS[sql]
    assert prune(TEXTS[sql], ["x"]) == TEXTS[sql]


@pytest.mark.parametrize("columns", [["a", "k"], ["a", "a"], ["A"]])
def test_columns_that_are_not_there(columns: list[str]) -> None:
    with pytest.raises(ValueError, match="not one column"):
        prune(query("SELECT a, b FROM t", PROJECT).sql, columns)


NAMES = ("a", "b", "c", "d")
ENDS = {"ordered": " ORDER BY {0}", "limited": " ORDER BY {all} LIMIT 3", "by": " ORDER BY {all} LIMIT 1 BY {0}"}
FORMS = ("plain", "distinct", "grouped", "grouped", "aggregates", "window", *ENDS)


def test_a_select_around_that_is_one_too_many_to_look_into_is_not_cut() -> None:
    inner = f"SELECT `t`.`a` AS `a`, '{'SELECT ' * (MOST_SELECTS - 2)}' AS `b`, `t`.`c` AS `c` {X}"
    sql = f"SELECT DISTINCT `q`.`a` AS `a`, `q`.`b` AS `b` FROM ({inner}) AS `q`"
    cut = prune(sql, ["a"])
    assert cut == f"SELECT `a` FROM ({sql}) AS `__kept`"
    assert prune(cut, ["a"]) == cut


@st.composite
def nested(draw: st.DrawFn, depth: int = 2, path: str = "0", width: int | None = None) -> tuple[str, tuple[str, ...]]:
    """A SELECT in ClickHouse's SQL and its columns. Each table in it has a name of its own, so the text
    tells which source a column is of; of rows that LIMIT chooses among, those that sort alike are alike."""
    table, columns = draw(_table(depth, f"{path}1"))
    source, here = f"{table} AS s{path}1", [f"s{path}1.{name}" for name in columns]
    kind = draw(st.sampled_from(("", "", "JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "ARRAY JOIN")))
    if kind == "ARRAY JOIN":
        source, here = f"{source} ARRAY JOIN [{here[0]}, {here[-1]}] AS e{path}", [*here[1:], f"e{path}"]
    elif kind:
        other, columns = draw(_table(depth - 1, f"{path}2"))
        there = [f"s{path}2.{name}" for name in columns]
        on = f"{draw(st.sampled_from(here))} = {draw(st.sampled_from(there))}"
        source, here = f"{source} {kind} {other} AS s{path}2 ON {on}", here if "SEMI" in kind else here + there
    names = draw(st.permutations(NAMES))[: width or draw(st.integers(1, 3))]
    form, keys = (
        draw(st.sampled_from(FORMS)),
        draw(st.lists(st.sampled_from(here), min_size=1, max_size=2, unique=True)),
    )
    items = [draw(_item(form, here)) for _ in names]
    if form in ("grouped", "window"):
        items[0] = keys[0] if form == "grouped" else f"sum({items[0]}) OVER (PARTITION BY {keys[0]})"
    listed = ", ".join(f"{each} AS {name}" for each, name in zip(items, names, strict=True))
    word = "SELECT DISTINCT" if form == "distinct" else "SELECT"
    group = f" GROUP BY {', '.join(keys)}" if form == "grouped" else ""
    end = ENDS.get(form, "").format(*names, all=", ".join(names))
    return f"{word} {listed} FROM {source}{draw(_where(here, depth, path))}{group}{end}", tuple(names)


@st.composite
def _table(draw: st.DrawFn, depth: int, path: str) -> tuple[str, tuple[str, ...]]:
    """A source, or one or two SELECTs in brackets."""
    if depth <= 0 or draw(st.booleans()):
        return draw(st.sampled_from(("t", "u"))), NAMES
    sql, names = draw(nested(depth - 1, path))
    if draw(st.booleans()):
        return f"({sql})", names
    other, _ = draw(nested(depth - 1, f"{path}9", len(names)))
    word = draw(st.sampled_from(("UNION ALL", "UNION ALL", "UNION DISTINCT")))
    return f"(SELECT * FROM ({sql}) {word} SELECT * FROM ({other}))", names


@st.composite
def _item(draw: st.DrawFn, form: str, columns: list[str]) -> str:
    one, other = draw(st.sampled_from(columns)), draw(st.sampled_from(columns))
    value = draw(st.sampled_from((one, f"{one} + {other}", f"if({one} > 3, {other}, 0)")))
    if form not in ("grouped", "aggregates"):
        return value
    return draw(st.sampled_from((f"max({value})", f"sum({value})", "toInt64(count())")))


@st.composite
def _where(draw: st.DrawFn, columns: list[str], depth: int, path: str) -> str:
    one, kind = draw(st.sampled_from(columns)), draw(st.sampled_from(("", "", "> 1", "IN", "<= max")))
    if kind in ("", "> 1") or depth <= 0:
        return f" WHERE {one} > 1" if kind else ""
    sql, (name, *_) = draw(nested(0, f"{path}8"))
    chosen = f"IN (SELECT {name} FROM ({sql}))" if kind == "IN" else f"<= (SELECT max({name}) FROM ({sql}))"
    return f" WHERE {one} {chosen}"


@settings(max_examples=60, deadline=None)
@given(nested(), st.data())
def test_what_stays_is_what_counts(made: tuple[str, tuple[str, ...]], data: st.DataObject) -> None:
    """The columns of sources in the text that stays are those that lineage says, no more and no less."""
    sql = query(made[0], PROJECT).sql
    columns = data.draw(st.lists(st.sampled_from(made[1]), min_size=1, unique=True))
    done, found = prune(sql, columns), query_facts(sql).lineage
    counts = found.rows.union(*(origins for name, origins in found.outputs if name in columns))
    assert mentioned(done) == counts
    assert {
        SourceColumn(source, name) for source, names in query_facts(done).columns_read.items() for name in names
    } == counts
    assert [name for name, _ in query_facts(done).lineage.outputs] == columns
    assert prune(done, columns) == done
    assert found.whole == query_facts(done).lineage.whole == frozenset()


def mentioned(sql: str) -> frozenset[SourceColumn]:
    """The columns of sources in a text, as the names before them tell."""
    sources = {alias: source for source, alias in re.findall(r"(__all_\w__) AS `(s\d+)`", sql)}
    return frozenset(
        SourceColumn(sources[alias], name) for alias, name in re.findall(r"`(s\d+)`\.`(\w+)`", sql) if alias in sources
    )
