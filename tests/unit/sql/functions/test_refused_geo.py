"""Hashes, geometry and running functions that ClickHouse answers and that are refused here."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

CASES = {
    "sipHash64(1.5)": "`sipHash64` of a Float64 is not supported",
    "sipHash128([1])": "`sipHash128` of a Array(UInt8) is not supported",
    "gcd(toNullable(4), 2)": "`gcd` of Nullable(UInt8) and UInt8 is not supported",
    "gcd(toUInt64(4), toInt8(2))": "`gcd` of UInt64 and a signed number is not supported",
    "lcm(toInt64(4), 2)": "`lcm` of 64-bit numbers is not supported",
    "formatReadableQuantity(1.5)": "`formatReadableQuantity` of Float64 is not supported",
    "formatReadableTimeDelta(1.5)": "`formatReadableTimeDelta` of Float64 is not supported",
    "formatReadableTimeDelta(toUInt64(1))": "`formatReadableTimeDelta` of UInt64 is not supported",
    "greatCircleDistance(1, 2, 3, 4)": "`greatCircleDistance` without a Float64 is not supported",
    "geoDistance(toDecimal32(1, 2), 2., 3., 4.)": "`geoDistance` of decimals and Bools is not supported",
    "geohashEncode(1., 2., length(carrier))": "argument 3 of `geohashEncode` must be a constant",
    "geohashDecode(toNullable(carrier))": "`geohashDecode` of Nullable(String) is not supported",
    "pointInEllipses(1., 1., 0., 0., -1., 2.)": "the half axes of `pointInEllipses` must be above 0",
    "pointInEllipses(1., 1., 0. + 1, 0., 1., 2.)": "the ellipses of `pointInEllipses` must be literals",
    "pointInPolygon((1, 2), [(0, 0), (4, 0), (4, 4)], [(1, 1), (2, 1), (2, 2)])": "takes 2 arguments, 3 are given",
    "pointInPolygon((1, 2), [(0, 0), (4, 4), (4, 0), (0, 4)])": "has sides that meet",
    "pointInPolygon((1, 2), [(0, 0), (4, 0), (2, 0)])": "has sides that meet",
    "pointInPolygon((1, 2), [(0, 0), (0, 0), (4, 0), (4, 4)])": "has sides that meet",
    "pointInPolygon((1, 2), [(0, 0), (9, 0), (9, 9), (0, 9), (9, 4)])": "has sides that meet",
    "pointInPolygon((1, 2), [(0, 0), (4, 0)])": "must be an array of 3 to 200 literal points",
    "pointInPolygon((1, 2), [(0, 0), (4, 0), (length(carrier), 1)])": "must be an array of 3 to 200 literal points",
}
_SETTINGS = "SETTINGS allow_deprecated_error_prone_window_functions = 1"
_ORDERED = "FROM (SELECT carrier, length(carrier) AS n FROM flights ORDER BY carrier)"
RUNNING = {
    f"SELECT runningDifference(length(carrier)) FROM flights {_SETTINGS}": "a FROM with a subquery that ends",
    f"SELECT runningDifference(n) {_ORDERED}": "ClickHouse refuses it without SETTINGS",
    f"SELECT runningDifference(n) {_ORDERED} SETTINGS max_threads = 1": "ClickHouse refuses it without SETTINGS",
    f"SELECT runningDifference(n) {_ORDERED} ORDER BY n {_SETTINGS}": "in a SELECT with FROM and WHERE only",
    f"SELECT max(runningDifference(n)) {_ORDERED} {_SETTINGS}": "needs rows in an order",
    f"SELECT n {_ORDERED} WHERE runningDifference(n) > 1 {_SETTINGS}": "needs rows in an order",
    f"SELECT DISTINCT neighbor(n, 1) {_ORDERED} {_SETTINGS}": "in a SELECT with FROM and WHERE only",
    f"SELECT carrier, neighbor(carrier, 1) {_ORDERED} GROUP BY carrier {_SETTINGS}": "FROM and WHERE only",
    f"SELECT arrayMap(x -> neighbor(n, 1), [1]) {_ORDERED} {_SETTINGS}": "needs rows in an order",
    f"SELECT neighbor(n, 1) {_ORDERED} LIMIT 2 {_SETTINGS}": "in a SELECT with FROM and WHERE only",
    f"SELECT neighbor(n, 1) {_ORDERED} LIMIT 1 BY n {_SETTINGS}": "in a SELECT with FROM and WHERE only",
    f"SELECT neighbor(n, 1) {_ORDERED[:-1]} WITH FILL) {_SETTINGS}": "needs rows in an order",
    f"SELECT * FROM (SELECT neighbor(n, 1) {_ORDERED}) LIMIT 2 {_SETTINGS}": "where a SELECT around has ORDER BY or",
    f"SELECT * FROM (SELECT neighbor(n, 1) AS x {_ORDERED}) ORDER BY x {_SETTINGS}": "where a SELECT around has ORDER",
    f"SELECT arrayJoin([1, 2]), neighbor(n, 1) {_ORDERED} {_SETTINGS}": "in a SELECT with FROM and WHERE only",
    f"SELECT neighbor(n, n) {_ORDERED} {_SETTINGS}": "the distance of `neighbor` must be a literal whole number",
    f"SELECT neighbor([n], 1, [2]) {_ORDERED} {_SETTINGS}": "`neighbor` of Array(UInt64) with a default of",
    f"SELECT runningDifference(sum(n)) {_ORDERED} {_SETTINGS}": "this is no value of one row",
    f"SELECT runningAccumulate(n) {_ORDERED} {_SETTINGS}": "`runningAccumulate` of UInt64 is not supported",
    f"SELECT runningConcurrency(n, n) {_ORDERED} {_SETTINGS}": "unknown function `runningConcurrency`",
}


@pytest.mark.parametrize("call", CASES)
def test_refused(call: str) -> None:
    found = problems(f"SELECT {call} FROM flights")
    assert len(found) == 1
    assert CASES[call] in found[0]


@pytest.mark.parametrize("sql", RUNNING)
def test_running_refused(sql: str) -> None:
    found = problems(sql)
    assert RUNNING[sql] in found[0]


def test_border_of_polygon_is_an_error() -> None:
    """ClickHouse's answer there is not defined: the query must fail, not guess."""
    compiled = query("SELECT pointInPolygon((length(carrier), 1), [(0, 0), (4, 0), (4, 4)]) FROM flights")
    assert "raise_error('pointInPolygon of a point on the border" in compiled.sql


@pytest.mark.parametrize("call", ["cityHash64(carrier)", "sipHash64(carrier)"])
def test_hash_is_short(call: str) -> None:
    """Spark plans as long as the text is: a few thousand characters a call."""
    assert len(query(f"SELECT {call} AS h FROM flights").sql) < 22_000
