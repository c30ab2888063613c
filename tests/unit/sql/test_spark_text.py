"""Quoting, literals, tokens and replacement of parts of Spark SQL: what goes in comes out, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot.tokens import TokenType

from penstock.sql.spark_text import (
    bigint_literal,
    closing_parenthesis,
    column_names,
    double_literal,
    is_call,
    parse_tree,
    placeholders,
    quote_identifier,
    replace_calls,
    replace_columns,
    replace_placeholders,
    replace_spans,
    string_literal,
    token_source,
    tokenize_spark,
)

TEXTS = st.text(alphabet=st.one_of(st.sampled_from("`'\"\\-/*{}#% ab_\n\r\t\0"), st.characters(codec="utf-8")))
NAMES = TEXTS.filter(bool)
UNTOUCHED = st.one_of(
    TEXTS.map(string_literal),
    NAMES.filter(lambda name: name not in ("t", "__u")).map(quote_identifier),
    st.sampled_from(
        ["/* __all_t__ `t` f() */", "-- __all_t__ `t` f()\n", "r'\\__all_t__'", '"__all_t__ `t`"', "s.`t`"]
    ),
    st.sampled_from(["(", ")", ",", "1L", "x__all_t__", "__all_t__x", "f(1)", "`__all_t__`", "`f`()"]),
)
"""Parts of SQL in which no column `t`, no placeholder __all_t__ and no call f() stands."""


@given(NAMES)
@example("`")
@example("a``b\\")
def test_a_quoted_name_is_one_token_with_that_name(name: str) -> None:
    tokens = tokenize_spark(f"SELECT {quote_identifier(name)} FROM x")
    assert [(token.token_type, token.text) for token in tokens[1:-2]] == [(TokenType.IDENTIFIER, name)]


@given(TEXTS)
@example("'\\")
@example("\\n")
def test_a_string_literal_is_one_token_with_that_text(text: str) -> None:
    tokens = tokenize_spark(f"SELECT {string_literal(text)} FROM x")
    assert [(token.token_type, token.text) for token in tokens[1:-2]] == [(TokenType.STRING, text)]


@given(st.lists(UNTOUCHED))
def test_what_is_no_name_or_call_of_its_own_stays(parts: list[str]) -> None:
    sql = " ".join(parts)
    assert replace_columns(sql, {"t": "!"}) == sql
    assert replace_placeholders(sql, {"__all_t__": "!"}) == sql
    assert replace_calls(sql, {"f": "!"}) == sql


@given(st.lists(UNTOUCHED), st.lists(UNTOUCHED))
def test_whole_names_and_calls_are_replaced_wherever_they_stand(before: list[str], after: list[str]) -> None:
    left, right = " ".join(before), " ".join(after)
    assert replace_columns(f"{left} `t` {right}", {"t": "!"}) == f"{left} ! {right}"
    assert replace_placeholders(f"{left} __all_t__ {right}", {"__all_t__": "!"}) == f"{left} ! {right}"
    assert replace_placeholders(f"{left} `__u` {right}", {"`__u`": "!"}) == f"{left} ! {right}"
    assert replace_calls(f"{left} F ( ) {right}", {"f": "!"}) == f"{left} ! {right}"


def test_columns_are_replaced_and_nothing_else() -> None:
    sql = "concat(`a`, 'it is `a`', `s`.`a`, a(`a b`), `a`)"
    replaced = "concat((x + 1), 'it is `a`', `s`.`a`, a(`y`), (x + 1))"
    assert replace_columns(sql, {"a": "(x + 1)", "a b": "`y`"}) == replaced


def test_replacements_are_made_at_once() -> None:
    assert replace_columns("`a` + `b`", {"a": "`b`", "b": "`a`"}) == "`b` + `a`"


def test_calls_are_replaced_and_nothing_else() -> None:
    sql = "f('SECOND', current_timestamp()) || 'current_timestamp()' || `current_timestamp` || CURRENT_TIMESTAMP ( )"
    found = replace_calls(sql, {"current_timestamp": "x"})
    assert found == "f('SECOND', x) || 'current_timestamp()' || `current_timestamp` || x"


def test_spans_are_replaced_in_order() -> None:
    assert replace_spans("abcdef", [(0, 1, "X"), (2, 2, "-"), (4, 6, "")]) == "Xb-cd"
    assert replace_spans("abc", []) == "abc"


def test_column_names_are_without_fields_of_structs() -> None:
    assert column_names("CASE WHEN _seq <= 3 THEN `a` ELSE `s`.`b` END") == {"a", "s"}


def test_placeholders_are_found_in_text_that_does_not_parse() -> None:
    assert placeholders("SELECT ( FROM __all_a__, __new_b_c__ 'x") == {"__all_a__", "__new_b_c__"}


def test_number_literals_have_the_letter_of_their_type() -> None:
    assert (bigint_literal(-3), double_literal(0.5)) == ("-3L", "0.5D")


def test_a_token_knows_its_text_in_the_source() -> None:
    sql = "f(`a``b`, 'x\\'')"
    assert [token_source(sql, token) for token in tokenize_spark(sql)] == ["f", "(", "`a``b`", ",", "'x\\''", ")"]


@pytest.mark.parametrize(("sql", "start", "end"), [("f(a(b), c)", 1, 8), ("(')')", 0, 2), ("f(a", 1, 3)])
def test_a_parenthesis_is_closed_by_its_own(sql: str, start: int, end: int) -> None:
    assert closing_parenthesis(tokenize_spark(sql), start) == end


@pytest.mark.parametrize(("sql", "expected"), [("f(", True), ("`f`(", False), ("'f'(", False), ("f", False)])
def test_a_call_is_a_bare_word_before_a_parenthesis(sql: str, expected: bool) -> None:
    assert is_call(tokenize_spark(sql), 0) is expected


def test_a_text_that_is_no_sql_has_no_tree() -> None:
    assert parse_tree("SELECT (") is None
    assert parse_tree("SELECT 'x") is None
    assert parse_tree("SELECT 1") is not None
