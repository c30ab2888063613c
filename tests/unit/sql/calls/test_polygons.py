"""Polygons that pointInPolygon refuses, and points on the border."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

REFUSED = {
    "pointInPolygon((1, 2), [(0, 0), (4, 0), (4, 4)], [(1, 1), (2, 1), (2, 2)])": "takes 2 arguments, 3 are given",
    "pointInPolygon((1, 2), [(0, 0), (4, 4), (4, 0), (0, 4)])": "has sides that cross or touch",
    "pointInPolygon((1, 2), [(0, 0), (4, 0), (2, 0)])": "has sides that cross or touch",
    "pointInPolygon((1, 2), [(0, 0), (0, 0), (4, 0), (4, 4)])": "has sides that cross or touch",
    "pointInPolygon((1, 2), [(0, 0), (9, 0), (9, 9), (0, 9), (9, 4)])": "has sides that cross or touch",
    "pointInPolygon((1, 2), [(0, 0), (4, 0)])": "must be an array of 3 to 200 literal points",
    "pointInPolygon((1, 2), [(0, 0), (4, 0), (length(carrier), 1)])": "must be an array of 3 to 200 literal points",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem


def test_border_of_polygon_is_an_error() -> None:
    """ClickHouse's answer there is not defined: the query must fail, not guess."""
    compiled = query("SELECT pointInPolygon((length(carrier), 1), [(0, 0), (4, 0), (4, 4)]) FROM flights")
    assert "raise_error('pointInPolygon of a point on the border" in compiled.sql
