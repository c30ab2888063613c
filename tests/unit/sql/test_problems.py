"""What is refused, with its place: line:column, sentence, hint."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

CASES = {
    "SELECT carrier FROM flights GRUP BY carrier": [
        "1:34: invalid SQL near `BY`: invalid expression / unexpected token (did you mean `GROUP BY` for `GRUP`?)"
    ],
    "SELECT carrier FROM flights AS orders WHERE": [
        "1:39: invalid SQL near `WHERE`: something is missing after it",
    ],
    "SELECT carrier FROM flights LIMIT 1 FORMT JSON": [
        "1:37: invalid SQL near `FORMT`: invalid expression / unexpected token (did you mean `FORMAT` for `FORMT`?)"
    ],
    "SELECT (": ["1:8: invalid SQL near `(`: something is missing after it"],
    "SELECT count(": ["1:13: invalid SQL near `(`: expecting )"],
    "SELECT carrier FROM": ["1:16: invalid SQL near `FROM`: expected table name"],
    "SELECT carrier FROM flights WHERE carrier IN": ["1:35: IN of nothing (write IN (…))"],
    "SELECT carrier FROM flights WHERE carrier NOT IN ORDER BY carrier": ["1:35: IN of nothing (write IN (…))"],
    "SELECT 1 UNION ALL SELECT": ["1:1: SELECT of nothing (name a column, or write *)"],
    "SELECT a.day FROM flights AS a JOIN flights AS b ON": ["1:50: ON of nothing (write a condition, or CROSS JOIN)"],
    "SELECT a.day FROM flights AS a JOIN flights AS b USING WHERE 1": ["1:37: USING of nothing (write USING (…))"],
    "SELECT count() FROM flights GROUP BY": ["1:8: GROUP BY of nothing (name its keys, or leave it out)"],
    "SELECT carrier FROM flights WHERE carrier = 'x": ["1:45: the quote that begins here is not closed"],
    "SELECT 'it''s', \"x\" -- '\nFROM `flights": ["2:6: the backquote that begins here is not closed"],
    "SELECT 1 /* one": ["1:10: the comment that begins here is not closed"],
    "SELECT carier FROM flights": ["1:8: unknown column `carier` (did you mean `carrier`?)"],
    "SELECT 1 FROM flihts": ["1:15: unknown data source or pipe `flihts` (did you mean `flights`?)"],
    "SELECT {{ Int32(x, 1) }} FROM flights": [
        "1:8: this is a template, which begins with `%` (write `%` before the SQL, on a line of its own)"
    ],
    "SELECT carrier FROM flights {% if x %} LIMIT 1 {% end %}": [
        "1:29: this is a template, which begins with `%` (write `%` before the SQL, on a line of its own)"
    ],
    "SELECT '{{ {% ' AS a -- {{ {%\n, carier FROM flights": ["2:3: unknown column `carier` (did you mean `carrier`?)"],
    "SELECT geoToH3(1, 2, 3)": [
        "1:8: unknown function `geoToH3` (docs/sql-functions.md lists the functions that there are)"
    ],
    "SELECT sizeReadableFormat(1)": ["1:8: unknown function `sizeReadableFormat` (did you mean `formatReadableSize`?)"],
    "SELECT if(count() > 3, minState(day), minState(day)) AS s FROM flights": [
        "1:8: AggregateFunction(min, UInt8) is the state of an aggregate, and no value"
        " (finalizeAggregation(…) gives its value)"
    ],
    "SELECT 1, [uniqState(day)] AS s FROM flights": [
        "1:12: AggregateFunction(uniq, UInt8) is the state of an aggregate, and no value"
        " (finalizeAggregation(…) gives its value)"
    ],
    "SELECT arrayReduce('xyzzyplugh', [1])": ["1:20: unknown aggregate function `xyzzyplugh`"],
    "SELECT xyzzyplugh(1) OVER ()": ["1:8: `xyzzyplugh` is not a window function"],
    "SELECT xyzzyplugh(1)": [
        "1:8: unknown function `xyzzyplugh` (docs/sql-functions.md lists the functions that there are)"
    ],
    "SELECT FROM WHERE": ["1:13: invalid SQL near `WHERE`: expected table name"],
    "SELECT toDat(time_hour) FROM flights": ["1:8: unknown function `toDat` (did you mean `toDate`?)"],
    "SELECT x.flight\nFROM flights AS y": ["1:8: unknown table or column `x` (available: y)"],
    "SELECT\n  carier,\n  orign\nFROM flights": [
        "2:3: unknown column `carier` (did you mean `carrier`?)",
        "3:3: unknown column `orign` (did you mean `origin`?)",
    ],
    "SELECT carrier, count() FROM flights": [
        "1:8: `carrier` is neither grouped by nor aggregated (add it to GROUP BY, or use any(…))"
    ],
    "SELECT count() FROM flights WHERE count() > 1": [
        "1:35: the aggregate `count` is not allowed in WHERE (use HAVING)"
    ],
    "SELECT sum(count()) FROM flights": ["1:12: the aggregate `count` is not allowed inside another aggregate"],
    "SELECT carrier FROM flihgts FINAL": ["1:21: unknown data source or pipe `flihgts` (did you mean `flights`?)"],
    "SELECT carrier FROM flights FINAL": ["1:21: FINAL is not supported by the engine MergeTree (leave FINAL out)"],
    "SELECT carrier FROM flights ORDER BY carrier WITH FILL": [
        "1:38: WITH FILL needs an integer, Float64, Date or DateTime, this is LowCardinality(String)"
    ],
    "SELECT a.day FROM flights a ASOF JOIN flights b ON a.day = b.day": [
        "1:52: ASOF JOIN needs one inequality (<, <=, > or >=) of both sides in ON, there is none "
        "(a.key = b.key AND a.time >= b.time)"
    ],
    "SELECT day + flight FROM flights": ["1:8: `+` is not defined for UInt8 and String (cast one of them)"],
    "SELECT flight = 1 FROM flights": ["1:8: String and UInt8 cannot be compared (cast one of them)"],
    "SELECT toUInt8() FROM flights": ["1:8: `toUInt8` takes 1 arguments, 0 are given"],
    "SELECT lower(day) FROM flights": ["1:14: argument 1 of `lower` must be a string, this is UInt8"],
    "SELECT time_hour > 'soon' FROM flights": [
        "1:8: 'soon' is not a value of DateTime (a time is written '2024-01-31 23:59:59')"
    ],
    "SELECT time_hour > '2024-05-01T00:00:00.123Z' FROM flights": [
        "1:8: '2024-05-01T00:00:00.123Z' is not a value of DateTime "
        "(parseDateTimeBestEffort('2024-05-01T00:00:00.123Z') reads a time with a zone)"
    ],
    "SELECT toDateTime64(time_hour, 3) IN ('2024-05-01 00:00:00+02:00') FROM flights": [
        "1:39: '2024-05-01 00:00:00+02:00' is not a value of DateTime64(3) "
        "(parseDateTime64BestEffort('2024-05-01 00:00:00+02:00') reads a time with a zone)"
    ],
    "SELECT toDate(time_hour) = '31/01/2024' FROM flights": [
        "1:8: '31/01/2024' is not a value of Date (a day is written '2024-01-31')"
    ],
    "SELECT CAST(1, 'Enum8(\\'new\\' = 1, \\'paid\\' = 2)') = 'payd' FROM flights": [
        "1:13: 'payd' is not a value of Enum8('new' = 1, 'paid' = 2) (did you mean `paid`?)"
    ],
    "SELECT CAST('payd', 'Enum8(\\'new\\' = 1, \\'paid\\' = 2)') FROM flights": [
        "1:13: 'payd' is not a value of Enum8('new' = 1, 'paid' = 2) (did you mean `paid`?)"
    ],
    "SELECT * EXCEPT (dey) FROM flights": ["1:18: unknown column `dey` (did you mean `day`?)"],
    "SELECT max_delay FROM carrier_daily WHERE max_delay > 3": [
        "1:43: AggregateFunction(max, Nullable(Float64)) and UInt8 cannot be compared: a state is no value "
        "(finalizeAggregation(…) of it)"
    ],
    "SELECT countMerge(planes) FROM carrier_daily": [
        "1:8: `countMerge` needs a state of `count`, this is AggregateFunction(uniq, Nullable(String)) "
        "(did you mean `uniqMerge`?)"
    ],
    "SELECT CAST(day, 'Uint8') FROM flights": ["1:13: unknown type `Uint8` (did you mean `UInt8`?)"],
    "SELECT day FROM flights LIMIT -1": [
        "1:32: expected a number from 0 that is known when the SQL is compiled "
        "(ORDER BY the other way round has the last rows first)"
    ],
    "SELECT name FROM system.tables": [
        "1:18: unknown table `system.tables` (SHOW TABLES lists the data sources and pipes)"
    ],
    "SELECT day FROM flights ORDER BY 4": ["1:34: position 4 is not in the select list of 1 columns"],
    "SELECT row_number() FROM flights": ["1:8: `row_number` needs OVER (…)"],
    "SELECT day FROM flights WHERE (SELECT 1, 2) = 1": [
        "1:39: a subquery as a value needs one column, this has 2 ((SELECT tuple(…) FROM …))"
    ],
    "INSERT INTO flights VALUES (1)": ["1:1: only SELECT is allowed here"],
    "-- a\n  DROP TABLE flights": ["2:3: only SELECT is allowed here"],
    "SELECT 1; SELECT 2": ["1:11: expected one statement"],
    "SELECT 1;; DROP TABLE x": ["1:12: expected one statement"],
    "SELECT (1": ["1:9: invalid SQL near `1`: expecting )"],
    "": ["1:1: expected a SELECT, found nothing"],
}


@pytest.mark.parametrize("sql", CASES)
def test_problems(sql: str) -> None:
    assert problems(sql) == CASES[sql]
