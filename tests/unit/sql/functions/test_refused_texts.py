"""What ClickHouse answers and is refused here, with the nearest that is supported."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

CASES = {
    "extractAll(flight_text, 'a*')": "`extractAll` by a pattern that may match nothing is not supported",
    "match(flight_text, carrier)": "argument 2 of `match` must be a constant",
    "multiMatchAnyIndex(carrier, ['a'])": "`multiMatchAnyIndex` is not supported: which of several it finds",
    "multiMatchAny(carrier, ['a$'])": "`a$` in `multiMatchAny` is not supported",
    "substring(carrier, 0)": "places in texts are counted from 1",
    "hex(1.5)": "`hex` of a Float64 is not supported",
    "cityHash64(1.5)": "`cityHash64` of a Float64 is not supported",
    "trimBoth(carrier, 'é')": "the characters of `trimBoth` must be ASCII",
    "leftPad(carrier, 5, 'é')": "the letters of `leftPad` must be ASCII",
    "splitByRegexp('a*', carrier)": "`splitByRegexp` by a pattern that may match nothing is not supported",
    "position(carrier, 'a', -1)": "the place to start at of `position` must be an unsigned number",
}


@pytest.mark.parametrize("call", CASES)
def test_refused(call: str) -> None:
    found = problems(f"SELECT {call.replace('flight_text', 'carrier')} FROM flights")
    assert len(found) == 1
    assert CASES[call] in found[0]
