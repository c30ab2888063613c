"""Values that are bound: once, under a name that nothing else has."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from penstock.sql.expr.bind_once import REPEATED, let

LONG = st.integers(REPEATED + 1, REPEATED + 50).map(lambda length: "f(" + "a" * (length - 3) + ")")


def test_what_is_short_or_used_once_is_written_out() -> None:
    assert let("`a`", lambda v: f"{v} + {v}") == "`a` + `a`"
    long = "a" * (REPEATED + 1)
    assert let(long, lambda v: f"CAST({v} AS INT)") == f"CAST({long} AS INT)"


def test_what_holds_a_subquery_is_written_out() -> None:
    subquery = f"(SELECT max(a) FROM t WHERE {'a' * REPEATED})"
    assert let(subquery, lambda v: f"{v} + {v}") == f"{subquery} + {subquery}"
    other = "b" * (REPEATED + 1)
    assert let(other, lambda v: f"{v} + {v} + {subquery}") == f"{other} + {other} + {subquery}"


@given(LONG, LONG)
def test_two_values_have_two_names(left: str, right: str) -> None:
    sql = let(left, lambda a: let(right, lambda b: f"[{a} {b} {b} {a}]"))
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
        sql = let(sql + part, lambda v: f"g({v}, {v}, {v})")
    assert len(sql) < sum(map(len, parts)) + 120 * len(parts)
