"""Functions that are deliberately not supported, and the hints in their place."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.calls.special_forms import SPECIAL_FORMS
from penstock.sql.functions.refused_functions import MISSING
from penstock.sql.functions.table import find_function

REFUSED = {
    "arrayUnion([1], [2])": "the order of its elements is not defined; arraySort(arrayDistinct(arrayConcat(…)))",
    "arraySymmetricDifference([1], [2])": "the order of its elements is not defined",
    "arrayPartialSort(2, [1, 2])": "the order of its elements is not defined",
    "firstSignificantSubdomainCustom(carrier, 'x')": "(there are no lists of one's own; firstSignificantSubdomain(…)",
    "currentDatabase()": "unknown function `currentDatabase` (it asks ClickHouse's server",
    "geoToH3(0., 0., 1)": "unknown function `geoToH3`",
    "runningConcurrency(carrier, carrier)": "unknown function `runningConcurrency`",
    "hostName()": "unknown function `hostName`",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem


def test_no_supported_name_is_missing() -> None:
    assert not [name for name in MISSING if find_function(name) or parse_aggregate_name(name) or name in SPECIAL_FORMS]
