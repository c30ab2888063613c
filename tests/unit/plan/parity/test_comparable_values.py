from __future__ import annotations

import pytest

from penstock.model import types as t
from penstock.plan.parity.comparable_values import comparable_values

WHOLE = t.Map(t.String(), t.Int(32))


def test_states_are_compared_by_what_they_stand_for() -> None:
    state = t.AggregateFunction("uniqExact", (t.Int(32, signed=False),))
    found = comparable_values(("`a`", state), ("`b`", state))
    assert found is not None
    assert found.left != "`a`"
    assert found.left.replace("`a`", "`b`") == found.right
    assert isinstance(found.type, t.Int)


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (t.Int(8), t.Int(64, signed=False), True),
        (t.Float(32), t.Float(64), True),
        (t.String(), t.LowCardinality(t.Nullable(t.String())), True),
        (t.Date(), t.Date(wide=True), True),
        (t.String(), t.Int(32), False),
        (t.Date(), t.DateTime(), False),
        (t.DateTime64(9), t.DateTime(), False),
        (t.Array(t.Int(8)), t.Array(t.Int(64)), False),
    ],
)
def test_a_type_that_both_keep_their_values_in_or_none(left: t.Type, right: t.Type, common: bool) -> None:
    found = comparable_values(("`a`", left), ("`a`", right))
    assert (found is not None) == common
    assert (comparable_values(("`a`", right), ("`a`", left)) is not None) == common


def test_floats_have_a_tolerance_by_the_narrower_type() -> None:
    narrow, wide = ("`a`", t.Float(32)), ("`a`", t.Nullable(t.Float(64)))
    tolerances = [comparable_values(*pair) for pair in ((narrow, narrow), (wide, wide), (narrow, wide))]
    assert [each.tolerance if each else None for each in tolerances] == [1e-6, 1e-9, 1e-6]


def test_maps_become_arrays_of_pairs_wherever_they_are() -> None:
    def left(of: t.Type) -> str:
        found = comparable_values(("`a`", of), ("`a`", of))
        assert found is not None
        assert not found.plain
        return found.left

    assert left(WHOLE) == "transform(map_entries(`a`), e0 -> struct(e0.key, e0.value))"
    assert left(t.Array(WHOLE)) == ("transform(`a`, e0 -> transform(map_entries(e0), e1 -> struct(e1.key, e1.value)))")
    assert left(t.Tuple((("x", WHOLE), (None, t.String())))) == (
        "struct(transform(map_entries(`a`.`x`), e1 -> struct(e1.key, e1.value)), `a`.`_2`)"
    )
    assert left(t.Array(t.Int(8))) == "`a`"
