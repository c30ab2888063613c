"""Functions on times, texts, arrays and numbers that ClickHouse answers and that are refused here, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.calls.special_forms import SPECIAL_FORMS
from penstock.sql.functions.missing import MISSING
from penstock.sql.functions.table import find_function

_NY = "toDateTime('2024-01-01 00:00:00', 'America/New_York')"
CASES = {
    f"changeYear({_NY}, 2020)": "`changeYear` in a time zone is not supported",
    f"tumbleStart({_NY}, INTERVAL 1 DAY)": "needs a DateTime in UTC that is not Nullable",
    "tumble(now(), INTERVAL 5 HOUR)": "only windows of one such unit are supported",
    "addDate('2020-01-01', INTERVAL 1 DAY)": "`addDate` takes a time and an INTERVAL",
    "toDecimal32OrDefault(NULL, 2)": "a literal NULL has no default",
    "toDecimal32OrDefault(1.5, 2)": "Float64 may not fit in Decimal(9, 2)",
    "toDecimal64OrDefault(toInt64(1), 2)": "Int64 may not fit in Decimal(18, 2)",
    "toDateTime64OrDefault(5, 3)": "a UInt8 is not converted with a default",
    "toDateTimeOrDefault(today(), 'Asia/Tokyo')": "a Date in a time zone is not converted with a default",
    "clamp(true, 0, 1)": "`clamp` of a Bool and a number is not supported",
    "timeSlots(now(), toUInt32(5), 0)": "`timeSlots` takes a DateTime, a UInt32 and a size from 1",
    "timeSlots(toNullable(now()), toUInt32(5))": "`timeSlots` of Nullable values is not supported",
    "makeDateTime64(2020, 1, 2, 3, 4, 5, 6, 3, 'Asia/Tokyo')": "`makeDateTime64` in a time zone is not supported",
    "makeDateTime64(2020, 1, 2, 3, 4, toNullable(5))": "`makeDateTime64` of Nullable numbers is not supported",
    "fromModifiedJulianDay(toUInt64(5))": "`fromModifiedJulianDay` of a UInt64 is not supported",
    "hasToken('a', carrier)": "argument 2 of `hasToken` must be a constant",
    "hasSubsequence('a', 'é')": "the needle of `hasSubsequence` must be ASCII",
    "positionCaseInsensitiveUTF8(carrier, 'Σ')": "the case of `Σ` is not known here",
    "positionCaseInsensitiveUTF8(carrier, 'straße')": "the case of `ß` is not known here",
    "overlay(carrier, 'x', 2147483647)": "a position or length of `overlay` is too great",
    "reverseBySeparator(carrier, '')": "the separator of `reverseBySeparator` is empty",
    "regexpExtract(carrier, 'a', 1)": "the pattern has 0 groups, not 1",
    "arrayUnion([1], [2])": "the order of its elements is not defined; arraySort(arrayDistinct(arrayConcat(…)))",
    "arraySymmetricDifference([1], [2])": "the order of its elements is not defined",
    "arrayPartialSort(2, [1, 2])": "the order of its elements is not defined",
    "arrayRemove([1.5], 1)": "`arrayRemove` of floats and decimals is not supported",
    "mapPopulateSeries(map(toUInt64(1), 2))": "is not supported",
    "clamp(1.5, toFloat64(carrier), 3)": "the limits of `clamp` must be literals beside floats",
    "widthBucket(5, 0, 10, 0)": "the number of buckets must be a literal from 1",
    "widthBucket(5, 0, 10, 4294967295)": "the number of buckets must be a literal from 1",
    "sqr(rand())": "`sqr` of a random number is not supported",
    "reinterpretAsInt64(1.5)": "`reinterpretAsInt64` of Float64 is not supported",
    "IPv6CIDRToRange(toNullable(toIPv6('::1')), 1)": "takes an IPv6 that is not Nullable and a literal prefix",
    "argAndMax(1, 1.5)": "arguments that are not Nullable, the second no float",
    "firstSignificantSubdomain(carrier)": "unknown function `firstSignificantSubdomain` (it needs ClickHouse's list",
    "toValidUTF8(carrier)": "unknown function `toValidUTF8`",
    "currentDatabase()": "unknown function `currentDatabase` (it asks ClickHouse's server",
}


@pytest.mark.parametrize("call", CASES)
def test_refused(call: str) -> None:
    found = problems(f"SELECT {call} FROM flights")
    assert len(found) == 1
    assert CASES[call] in found[0]


def test_no_name_that_is_here_is_missing() -> None:
    assert not [name for name in MISSING if find_function(name) or parse_aggregate_name(name) or name in SPECIAL_FORMS]
