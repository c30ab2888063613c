"""Whatever the text, a compilation gives a query or located problems, nothing else."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.sql.flights import FLIGHTS, PROJECT, text

from penstock.errors import InvalidQuery
from penstock.sql.compile import compile_expression, compile_forward, compile_sql

_FILES = (Path(__file__).parents[2] / "differential" / "queries").glob("*.sql")
_WORDS = sorted({word for file in _FILES for word in re.findall(r"\w+|'[^']*'|[^\w\s]", file.read_text())})
_COLUMNS = FLIGHTS.column_names


def _check(error: InvalidQuery) -> None:
    assert error.problems
    for problem in error.problems:
        assert problem.location is not None
        assert problem.location.line >= 1


@given(st.lists(st.sampled_from([*_WORDS, *_COLUMNS, "flights", "FROM", "SELECT", ",", "(", ")"]), max_size=25))
@settings(max_examples=400, deadline=None)
def test_random_words(words: list[str]) -> None:
    for sql, dialect in product((" ".join(words), "SELECT " + " ".join(words)), ("clickhouse", "spark")):
        try:
            compile_sql(PROJECT, text(sql), dialect)  # type: ignore[arg-type]
        except InvalidQuery as error:
            _check(error)


_SPARK = ["WITH", "AS", "a", "b", "flights", "top", "(", ")", ",", "SELECT", "*", "FROM", "JOIN", "UNION ALL"]
_SPARK += ["LATERAL", "VIEW", "explode", "TABLE", "VALUES", "carrier"]


@given(st.lists(st.sampled_from(_SPARK), max_size=20))
@settings(max_examples=400, deadline=2000)
def test_tables_of_spark(words: list[str]) -> None:
    for prefix in ("SELECT * FROM ", "WITH flights AS (SELECT * FROM flights) SELECT * FROM "):
        try:
            compile_sql(PROJECT, text(prefix + " ".join(words)), "spark")
        except InvalidQuery as error:
            _check(error)


@given(st.sampled_from(_WORDS), st.lists(st.sampled_from(_COLUMNS), min_size=1, max_size=3))
@settings(max_examples=600, deadline=None)
def test_any_call_of_any_columns(name: str, columns: list[str]) -> None:
    call = f"{name}({', '.join(columns)})"
    for compiled in (
        lambda: compile_sql(PROJECT, text(f"SELECT {call} FROM flights"), "clickhouse"),
        lambda: compile_sql(PROJECT, text(f"SELECT {call} FROM flights"), "spark"),
        lambda: compile_expression(text(call), FLIGHTS.columns),
        lambda: compile_forward(text(f"*, {call} AS day"), FLIGHTS.columns, FLIGHTS.columns),
    ):
        try:
            compiled()
        except InvalidQuery as error:
            _check(error)


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_text(sql: str) -> None:
    for dialect in ("clickhouse", "spark"):
        try:
            compile_sql(PROJECT, text(sql), dialect)  # type: ignore[arg-type]
        except InvalidQuery as error:
            _check(error)
