"""Calls of functions on strings that ClickHouse answers and that are refused here, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "hasToken('a', carrier)": "argument 2 of `hasToken` must be a constant",
    "hasSubsequence('a', 'é')": "the needle of `hasSubsequence` must be ASCII",
    "positionCaseInsensitiveUTF8(carrier, 'Σ')": "the case of `Σ` is not known here",
    "positionCaseInsensitiveUTF8(carrier, 'straße')": "the case of `ß` is not known here",
    "overlay(carrier, 'x', 2147483647)": "a position or length of `overlay` is too great",
    "reverseBySeparator(carrier, '')": "the separator of `reverseBySeparator` is empty",
    "regexpExtract(carrier, 'a', 1)": "the pattern has 0 groups, not 1",
    "replaceRegexpAll(carrier, 'a*', '-')": "`replaceRegexpAll` by a pattern that may match nothing is not supported",
    "replaceRegexpAll(carrier, 'a?$', '-')": "`replaceRegexpAll` by a pattern that may match nothing is not supported",
    "greatest(toFixedString('ab', 4), carrier)": "there is no common type of FixedString(4), ",
    "extractAll(carrier, 'a*')": "`extractAll` by a pattern that may match nothing is not supported",
    "match(carrier, carrier)": "argument 2 of `match` must be a constant",
    "multiMatchAnyIndex(carrier, ['a'])": "`multiMatchAnyIndex` is not supported: which of several it finds",
    "multiMatchAny(carrier, ['a$'])": "`a$` in `multiMatchAny` is not supported",
    "substring(carrier, 0)": "positions in strings count from 1",
    "hex(1.5)": "`hex` of a Float64 is not supported",
    "trimBoth(carrier, 'é')": "the characters of `trimBoth` must be ASCII",
    "leftPad(carrier, 1000001)": "the length must be at most 1000000",
    "rightPadUTF8(carrier, 1000001, 'é')": "the length must be at most 1000000",
    "leftPad(carrier, 5, 'é')": "the letters of `leftPad` must be ASCII",
    "splitByRegexp('a*', carrier)": "`splitByRegexp` by a pattern that may match nothing is not supported",
    "format('{{{}}}', carrier)": "three braces in a row",
    "position(carrier, 'a', -1)": "the start position of `position` must be an unsigned number",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
