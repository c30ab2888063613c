"""The place where version 2 took over, found from what it holds."""

from __future__ import annotations

from typing import Any, cast

import pytest

from penstock.demo.checks import find_cutover
from penstock.demo.client import DemoClient
from penstock.demo.nyc_flights import Row

FLIGHTS: tuple[Row, ...] = tuple({"air_time": 1} if number % 3 else {"number": number} for number in range(30))


class Known:
    """Answers the one question that `find_cut` asks."""

    def __init__(self, known: int):
        self.known = known

    def sql(self, query: str, deployment: str) -> list[dict[str, Any]]:
        return [{"known": self.known}]


@pytest.mark.parametrize("cut", range(10, 21))
def test_a_cut_within_the_bounds_explains_the_air_times(cut: int) -> None:
    known = sum("air_time" in row for row in FLIGHTS[cut:])
    found = find_cutover(cast(DemoClient, Known(known)), FLIGHTS, 10, 20)
    assert found is not None
    assert sum("air_time" in row for row in FLIGHTS[found:]) == known


@pytest.mark.parametrize("known", [0, 6, 15, 20])
def test_no_cut_outside_the_bounds(known: int) -> None:
    assert find_cutover(cast(DemoClient, Known(known)), FLIGHTS, 10, 20) is None
