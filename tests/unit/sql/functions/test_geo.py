"""Calls of geohash and distance functions that are refused, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "greatCircleDistance(1, 2, 3, 4)": "`greatCircleDistance` without a Float64 is not supported",
    "geoDistance(toDecimal32(1, 2), 2., 3., 4.)": "`geoDistance` of decimals and Bools is not supported",
    "geohashEncode(1., 2., length(carrier))": "argument 3 of `geohashEncode` must be a constant",
    "geohashDecode(toNullable(carrier))": "`geohashDecode` of Nullable(String) is not supported",
    "pointInEllipses(1., 1., 0., 0., -1., 2.)": "the half axes of `pointInEllipses` must be above 0",
    "pointInEllipses(1., 1., 0. + month, 0., 1., 2.)": "the ellipses of `pointInEllipses` must be literals",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
