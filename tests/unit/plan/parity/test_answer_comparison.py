from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from penstock.model import types as t
from penstock.plan.parity.answer_comparison import compare_answers

COLUMNS = (("name", t.String()), ("n", t.Int(64)), ("x", t.Nullable(t.Float(64))))
Rows = list[tuple[str, int, float | None]]
rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.one_of(st.none(), st.floats(), st.sampled_from([0.0, -0.0])))
)


@given(rows, st.randoms())
def test_the_same_rows_in_any_order_are_the_same(some: Rows, chance: random.Random) -> None:
    other = list(some)
    chance.shuffle(other)
    found = compare_answers((COLUMNS, some), (COLUMNS, other))
    assert found.is_same
    assert found.close == 0


@given(rows, rows)
def test_what_one_side_has_more_of_explains_the_numbers_of_rows(one: Rows, other: Rows) -> None:
    found = compare_answers((COLUMNS, one), (COLUMNS, other))
    back = compare_answers((COLUMNS, other), (COLUMNS, one))
    assert len(one) - len(found.only_left) == len(other) - len(found.only_right)
    assert (len(found.only_left), len(found.only_right)) == (len(back.only_right), len(back.only_left))
    assert found.close == back.close


@given(rows)
def test_a_row_more_is_found_even_if_it_is_there_already(some: Rows) -> None:
    more = ("a", 1, None)
    found = compare_answers((COLUMNS, some), (COLUMNS, [*some, more]))
    assert (found.only_left, found.only_right) == ((), (more,))


def test_a_sum_in_another_order_is_close_and_a_cent_is_not() -> None:
    one, other = sum([0.1] * 10), 1.0
    assert one != other
    found = compare_answers((COLUMNS, [("a", 1, one)]), (COLUMNS, [("a", 1, other)]))
    assert (found.is_same, found.close) == (True, 1)
    found = compare_answers((COLUMNS, [("a", 1, 1.0)]), (COLUMNS, [("a", 1, 1.01)]))
    assert (found.is_same, found.close) == (False, 0)
    found = compare_answers((COLUMNS, [("a", 1, one)]), (COLUMNS, [("b", 1, other)]))
    assert not found.is_same, "close floats excuse no other column"


def test_nothing_is_close_to_infinity_or_nan_but_itself() -> None:
    def same(one: float | None, other: float | None) -> bool:
        return compare_answers((COLUMNS, [("a", 1, one)]), (COLUMNS, [("a", 1, other)])).is_same

    assert same(math.nan, math.nan)
    assert same(-0.0, 0.0)
    assert not any(same(each, 1.0) for each in (math.nan, math.inf, None))
    assert not same(math.inf, -math.inf)


def test_only_columns_of_both_are_compared_without_the_ignored_ones() -> None:
    left = ((("a", t.Int(64)), ("gone", t.Int(64)), ("at", t.DateTime())), [(1, 2, 3)])
    right = ((("at", t.DateTime()), ("new", t.String()), ("a", t.Int(64))), [(4, "x", 1)])
    assert compare_answers(left, right, frozenset({"at"})).is_same
    found = compare_answers(left, right)
    assert (found.columns, found.only_left, found.only_right) == (("at", "a"), ((3, 1),), ((4, 1),))


def test_the_order_is_named_and_nested_values_are_compared() -> None:
    columns = (("a", t.Array(t.Map(t.String(), t.Int(8)))),)
    one, other = ([{"x": 1}, {}],), ([{"x": 2}],)
    found = compare_answers((columns, [one, other]), (columns, [other, one]))
    assert (found.is_same, found.reordered) == (True, True)
    assert not compare_answers((columns, [one]), (columns, [other])).is_same
