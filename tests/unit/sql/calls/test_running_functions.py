"""Queries with running functions (neighbor, runningDifference …) that are refused, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

_SETTINGS = "SETTINGS allow_deprecated_error_prone_window_functions = 1"
_ORDERED = "FROM (SELECT carrier, length(carrier) AS n FROM flights ORDER BY carrier)"
REFUSED = {
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
    f"SELECT runningDifference(sum(n)) {_ORDERED} {_SETTINGS}": "expected a value of each row, not an aggregate",
    f"SELECT runningAccumulate(n) {_ORDERED} {_SETTINGS}": "`runningAccumulate` of UInt64 is not supported",
    f"SELECT runningConcurrency(n, n) {_ORDERED} {_SETTINGS}": "unknown function `runningConcurrency`",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    assert REFUSED[sql] in problems(sql)[0]
