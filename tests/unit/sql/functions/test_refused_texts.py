"""What ClickHouse answers and is refused here, with the nearest that is supported."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

CASES = {
    "extractAll(flight_text, 'a*')": "`extractAll` by a pattern that may match nothing is not supported",
    "match(flight_text, carrier)": "argument 2 of `match` must be a constant",
    "multiMatchAnyIndex(carrier, ['a'])": "`multiMatchAnyIndex` is not supported: which of several it finds",
    "multiMatchAny(carrier, ['a$'])": "`a$` in `multiMatchAny` is not supported",
    "substring(carrier, 0)": "positions in strings count from 1",
    "hex(1.5)": "`hex` of a Float64 is not supported",
    "cityHash64(1.5)": "`cityHash64` of a Float64 is not supported",
    "trimBoth(carrier, 'é')": "the characters of `trimBoth` must be ASCII",
    "leftPad(carrier, 5, 'é')": "the letters of `leftPad` must be ASCII",
    "splitByRegexp('a*', carrier)": "`splitByRegexp` by a pattern that may match nothing is not supported",
    "carrier ILIKE '%σ%abc'": "its letters are equal to others in several ways",
    "carrier LIKE 'a\\\\'": "the pattern ends with a backslash",
    "greatest(toIPv4(carrier), toIPv4('1.2.3.4'))": "`greatest` of IPv4 is not supported",
    "argMax(carrier, toUUID(carrier))": "`argMax` needs a second argument that can be compared",
    "groupArraySorted(2)(toIPv4(carrier))": "`groupArraySorted` needs values that are no enumerations",
    "sumMap([toIPv4(carrier)], [1])": "`sumMap` needs keys that are no enumerations",
    "[toIPv4(carrier)] < [toIPv4('1.2.3.4')]": "Array(IPv4) < Array(IPv4) is not supported",
    "CAST('b', 'Enum8(\\'b\\' = 1)') = CAST('b', 'Enum8(\\'b\\' = 5)')": "is ordered by its numbers",
    "isIPAddressInRange(carrier, '1.2.3.4')": "is not a range of addresses",
    "IPv4CIDRToRange(toIPv4(carrier), -1)": "must be a literal number from 0",
    "format('{{{}}}', carrier)": "three braces in a row",
    "position(carrier, 'a', -1)": "the start position of `position` must be an unsigned number",
}


@pytest.mark.parametrize("call", CASES)
def test_refused(call: str) -> None:
    found = problems(f"SELECT {call.replace('flight_text', 'carrier')} FROM flights")
    assert len(found) == 1
    assert CASES[call] in found[0]
