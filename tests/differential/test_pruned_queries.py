"""Pruned SQL gives the same rows, over sources that have only the columns which it is said to use; and so does its
canonical form, also over sources of which columns have known values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.unit.sql.analysis.test_prune import CASES, COLUMNS, PROJECT, nested
from tests.unit.sql.flights import query

from penstock.sql.analysis.canonical_query import QueryInputs, canonical_query
from penstock.sql.analysis.prune import prune
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.stored_types import spark_type

RELAXED = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
ROWS = [
    (1, 2, None, 7, "x", [1, 2]),
    (2, 2, 3, 1, "y", []),
    (2, 5, 4, 1, "x", [3]),
    (4, 1, None, 4, "", [4, 4, 1]),
    (5, 5, 5, 5, "y", [0]),
    (1, 2, None, 7, "x", [1, 2]),
]


@dataclass(frozen=True)
class Tables:
    """The sources as views of a session."""

    session: SparkSession

    def rows(self, sql: str) -> Counter[str]:
        return Counter(map(repr, self.session.sql(sql).collect()))

    def narrow(self, sql: str) -> str:
        """The SQL over sources of only those columns that it uses."""
        for placeholder, columns in query_facts(sql).columns_read.items():
            listed = ", ".join(f"`{name}`" for name in sorted(columns)) or "1 AS `__nothing`"
            sql = sql.replace(placeholder, f"(SELECT {listed} FROM {placeholder})")
        return sql


@pytest.fixture(scope="module")
def tables(spark_session: SparkSession) -> Iterator[Tables]:
    """Views of the same names belong to other tests of the session: they get them back."""
    names = [f"__all_{source.name}__" for source in PROJECT.datasources]
    others = {name: spark_session.table(name) for name in names if spark_session.catalog.tableExists(name)}
    for shift, source in enumerate(PROJECT.datasources):
        ddl = ", ".join(f"`{column.name}` {spark_type(column.type)}" for column in source.columns)
        rows = [(row[0] + shift, *row[1:]) for row in ROWS[shift:]]
        spark_session.createDataFrame(rows, ddl).coalesce(1).createOrReplaceTempView(f"__all_{source.name}__")
    yield Tables(spark_session)
    for name, view in others.items():
        view.createOrReplaceTempView(name)


KNOWN = {"b": "CAST(2 AS INT)", "c": "CAST(NULL AS INT)", "s": "'y'"}


def check_canonical(tables: Tables, sql: str) -> None:
    """The canonical form of SQL, and that over a source of known values."""
    plain = canonical_query(sql, QueryInputs())
    if plain is None:
        return
    assert tables.rows(plain.sql) == tables.rows(sql), plain.sql
    for placeholder in sorted(query_facts(sql).columns_read):
        shown = ", ".join(f"{KNOWN.get(name, f'`{name}`')} AS `{name}`" for name in COLUMNS)
        filled = f"(SELECT {shown} FROM {placeholder})"
        known = canonical_query(sql, QueryInputs({placeholder: KNOWN}))
        assert known is not None
        found = tables.rows(known.sql.replace(placeholder, filled))
        assert found == tables.rows(sql.replace(placeholder, filled)), known.sql


def check(tables: Tables, sql: str, columns: list[str]) -> None:
    check_canonical(tables, sql)
    done = prune(sql, columns)
    shown = ", ".join(f"`{name}`" for name in columns) or "1 AS `one`"
    whole = tables.rows(f"SELECT {shown} FROM ({sql}) AS q")
    found = tables.rows(tables.narrow(done))
    if columns:
        assert found == whole, done
    else:
        assert found.total() == whole.total(), done


@pytest.mark.spark
@pytest.mark.parametrize(("sql", "columns"), CASES)
def test_each_clause(sql: str, columns: str, tables: Tables) -> None:
    check(tables, query(sql, PROJECT).sql, columns.split())


@pytest.mark.slow
@pytest.mark.spark
@RELAXED
@given(made=nested(), data=st.data())
def test_nested_queries(made: tuple[str, tuple[str, ...]], data: st.DataObject, tables: Tables) -> None:
    check(tables, query(made[0], PROJECT).sql, data.draw(st.lists(st.sampled_from(made[1]), unique=True)))


@pytest.mark.slow
@pytest.mark.spark
@RELAXED
@given(made=nested(), data=st.data())
def test_tables_called_as_canonical_forms_call_others(
    made: tuple[str, tuple[str, ...]], data: st.DataObject, tables: Tables
) -> None:
    names = sorted(set(re.findall(r"\bs\d+\b", made[0])))
    numbers = data.draw(st.permutations([f"t{number}" for number, _ in enumerate(names, 1)]))
    new = dict(zip(names, numbers, strict=True))
    check_canonical(tables, query(re.sub(r"\bs\d+\b", lambda found: new[found[0]], made[0]), PROJECT).sql)
