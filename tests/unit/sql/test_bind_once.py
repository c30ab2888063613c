"""Values that are bound: once, under a name that nothing else has."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_sql
from penstock.sql.expr.bind_once import (
    LONGEST_ARGUMENT,
    LONGEST_REPEATED,
    SharedBinding,
    bind_document_reads,
    bind_if_long,
    bind_repeated,
)

LONG = st.integers(LONGEST_REPEATED + 1, LONGEST_REPEATED + 50).map(lambda length: "f(" + "a" * (length - 3) + ")")


def test_what_is_short_or_used_once_is_written_out() -> None:
    assert bind_if_long("`a`", lambda v: f"{v} + {v}") == "`a` + `a`"
    long = "a" * (LONGEST_REPEATED + 1)
    assert bind_if_long(long, lambda v: f"CAST({v} AS INT)") == f"CAST({long} AS INT)"


def test_what_holds_a_subquery_is_written_out() -> None:
    subquery = f"(SELECT max(a) FROM t WHERE {'a' * LONGEST_REPEATED})"
    assert bind_if_long(subquery, lambda v: f"{v} + {v}") == f"{subquery} + {subquery}"
    other = "b" * (LONGEST_REPEATED + 1)
    assert bind_if_long(other, lambda v: f"{v} + {v} + {subquery}") == f"{other} + {other} + {subquery}"


@given(LONG, LONG)
def test_two_values_have_two_names(left: str, right: str) -> None:
    sql = bind_if_long(left, lambda a: bind_if_long(right, lambda b: f"[{a} {b} {b} {a}]"))
    a, b, c, d = re.findall(r"` v[0-9]`", re.findall(r"\[(.*)\]", sql)[0])
    assert (a, b) == (d, c)
    assert a != b
    assert f"array({left}), {a} ->" in sql
    assert f"array({right}), {b} ->" in sql
    assert sql.count(left) == (2 if left == right else 1)


@given(st.lists(LONG, min_size=1, max_size=4))
def test_the_text_grows_by_what_is_added(parts: list[str]) -> None:
    sql = ""
    for part in parts:
        sql = bind_if_long(sql + part, lambda v: f"g({v}, {v}, {v})")
    assert len(sql) < sum(map(len, parts)) + 120 * len(parts)


def test_values_that_are_bound_together_stand_outside_of_the_lambda() -> None:
    bound = SharedBinding.of(("f(a)", "g(b)"), "d", "` d0`")
    formula = f"{bound.reference('f(a)')} + {bound.reference('g(b)')}"
    assert formula == "` d1`.`0` + ` d1`.`1`"
    whole = bound.around(formula)
    assert whole == f"try_element_at(transform(array(struct(f(a) AS `0`, g(b) AS `1`)), ` d1` -> {formula}), 1)"
    assert SharedBinding.of((), "d").around("1") == "1"


def test_reads_of_documents_are_bound_outside_of_lambdas() -> None:
    read, object_ = "penstock_json_value(`j`, 'a)`')", "penstock_json_object(`j`, 'b')"
    nested = f"penstock_json_value({object_}, 'c')"
    sql = f"transform(`l`, ` x0` -> concat(` x0`, {read}.text, {nested}.text, {read}.kind))"
    body = "transform(`l`, ` x0` -> concat(` x0`, ` r0`.`1`.text, ` r0`.`0`.text, ` r0`.`1`.kind))"
    bound = f"try_element_at(transform(array(struct({nested} AS `0`, {read} AS `1`)), ` r0` -> {body}), 1)"
    assert bind_document_reads(sql) == bound
    outside = f"concat(transform(array({read}), ` d0` -> ` d0`.text), (SELECT 1))"
    assert bind_document_reads(outside) == outside
    of_parameter = "transform(`l`, ` x0` -> penstock_json_value(` x0`, 'a'))"
    assert bind_document_reads(of_parameter) == of_parameter


@pytest.mark.parametrize(
    ("call", "column"),
    [("replaceOne({}, 'a', 'b')", "s"), ("roundAge({})", "n"), ("JSONExtractString({}, 'a')", "s"), ("log({})", "f")],
)
def test_calls_in_calls_do_not_multiply_their_text(call: str, column: str) -> None:
    project = load_files({"t.datasource": "SCHEMA >\n    s String, n Int64, f Float64\n"}).project
    lengths = []
    for depth in (8, 16):
        text = column
        for _ in range(depth):
            text = call.format(text)
        asked = Text(f"SELECT {text} AS x FROM t", Location("query"))
        lengths.append(len(compile_sql(project, asked, "clickhouse").sql))
    assert lengths[1] < 2.5 * lengths[0] < 50_000


def test_a_value_that_no_lambda_can_hold_is_repeated() -> None:
    long = f"upper({'x' * LONGEST_ARGUMENT})"
    assert bind_repeated(f"{long} + {long}", [long, "y"]) == (
        f"try_element_at(transform(array({long}), ` a0` -> ` a0` + ` a0`), 1)"
    )
    for repeated in (f"(SELECT 1) + {long} + {long}", f"{long}", f"{long[:-9]} + {long[:-9]}"):
        assert bind_repeated(repeated, [long, long[:-9]]) == repeated
