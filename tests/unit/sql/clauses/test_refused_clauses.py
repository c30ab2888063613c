"""What is refused after FROM though ClickHouse answers it, and what settings may stand there.

Each refusal names the clause or the function, at its place.
"""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

REFUSED = {
    "SELECT * APPLY(toString) EXCEPT (day) FROM flights": "EXCEPT, REPLACE and APPLY stand in this order",
    "SELECT COLUMNS('day') REPLACE (1 AS day) APPLY(x -> x + 1) FROM flights": "APPLY of a lambda behind REPLACE",
    "SELECT * APPLY((x, y) -> x) FROM flights": "APPLY of a lambda with several parameters",
    "SELECT carrier LIKE unhex('25c325') FROM flights": "LIKE a pattern of bytes is not supported",
    "SELECT [toFixedString(carrier, 9)] = ['a'] FROM flights": "a FixedString in them has zeros at its end",
    "SELECT rank() OVER (ORDER BY day ROWS 1 PRECEDING) FROM flights": "`rank` is not supported with this frame",
    "SELECT lag(day, day) OVER (ORDER BY day) FROM flights": "`lag` needs a literal number from 0 here",
    "SELECT nth_value(day, month) OVER (ORDER BY day) FROM flights": "`nth_value` needs a literal number from 1 here",
    "SELECT count() OVER (ORDER BY day GROUPS 1 PRECEDING) FROM flights": "only frames in ROWS or RANGE are supported",
    "SELECT count() OVER (ORDER BY dep_delay RANGE 1 PRECEDING) FROM flights": (
        "RANGE with a number is not supported over a Nullable(Float64) in this order"
    ),
    "SELECT count() OVER (ORDER BY toNullable(day) RANGE 1 PRECEDING) FROM flights": (
        "RANGE with a number is not supported over a Nullable(UInt8) in this order"
    ),
    "SELECT count() OVER (ORDER BY toNullable(day) DESC NULLS FIRST RANGE 1 PRECEDING) FROM flights": (
        "RANGE with a number is not supported over a Nullable(UInt8) in this order"
    ),
    "SELECT count() OVER (ORDER BY toFloat64(day) NULLS FIRST RANGE 1 PRECEDING) FROM flights": (
        "RANGE with a number over a Float needs the order ASC NULLS LAST"
    ),
    "SELECT sum(DISTINCT day) OVER (ORDER BY month) FROM flights": "`sum` is not supported with OVER",
    "SELECT leadInFrame(day) OVER (ORDER BY day RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM flights": (
        "`leadInFrame` is not supported with this frame"
    ),
    "SELECT max(day) RESPECT NULLS OVER (ORDER BY day) FROM flights": "RESPECT NULLS of `max` is not supported",
    "SELECT day FROM flights ORDER BY dep_delay WITH FILL": (
        "WITH FILL needs a key without NULL, this is Nullable(Float64)"
    ),
    "SELECT day FROM flights ORDER BY day WITH FILL FROM 250 TO 260": (
        "a bound of WITH FILL over UInt8 must be of that type"
    ),
    "SELECT day FROM flights ORDER BY day WITH FILL, month WITH FILL": (
        "WITH FILL of a second column needs FROM and TO"
    ),
    "SELECT day FROM flights ORDER BY day WITH FILL, year, month WITH FILL FROM 1 TO 3": (
        "a key between two keys WITH FILL is not supported"
    ),
    "SELECT day, month FROM flights ORDER BY day WITH FILL INTERPOLATE (month AS day + 1)": (
        "INTERPOLATE of `month` may use `month` only"
    ),
    "SELECT day, toUInt8(day) AS d FROM flights ORDER BY day WITH FILL": (
        "WITH FILL: it is not certain that `d` is the sort key"
    ),
    "SELECT planes, day FROM carrier_daily ORDER BY day WITH FILL": (
        "WITH FILL beside a column of AggregateFunction(uniq, Nullable(String)) is not supported"
    ),
    "SELECT DISTINCT carrier FROM flights ORDER BY day": "a SELECT DISTINCT can be ordered by what it selects only",
    "SELECT day FROM flights ORDER BY carrier COLLATE 'en'": "COLLATE is not supported",
    "SELECT sumState(month) OVER (ORDER BY day) AS s FROM flights ORDER BY s": "finalizeAggregation(…)",
    "SELECT day FROM flights ORDER BY map('a', day)": "Map(String, UInt8) cannot be ordered or partitioned by",
    "SELECT DISTINCT map('a', day) FROM flights": "rows cannot be compared by Map(String, UInt8)",
    "SELECT count() FROM flights GROUP BY [map('a', day)]": "rows cannot be compared by Array(Map(String, UInt8))",
    "SELECT count() FROM flights GROUP BY map('a', day) WITH ROLLUP": "rows cannot be compared by Map(String, UInt8)",
    "SELECT day FROM flights LIMIT 1 BY map('a', day)": "rows cannot be compared by Map(String, UInt8)",
    "SELECT INTERVAL 1 DAY FROM flights": "an interval (DAY) is not supported here",
    "SELECT if(day = 1, INTERVAL 1 DAY, 2) FROM flights": "an interval (DAY) is not supported here",
    "SELECT [toIntervalHour(day)] FROM flights": "an interval (HOUR) is not supported here",
    "SELECT (toIntervalHour(day), 1) FROM flights": "an interval (HOUR) is not supported here",
    "SELECT sum(toIntervalHour(day)) FROM flights": "an interval (HOUR) is not supported here",
    "SELECT toString(toIntervalHour(day)) FROM flights": "an interval (HOUR) is not supported here",
    "SELECT toIntervalHour(day) = 1 FROM flights": "an interval (HOUR) is not supported here",
    "SELECT *, day + 1 AS day FROM (SELECT day FROM flights)": "two columns are called `day`, of UInt8 and UInt16",
    "SELECT arrayJoin([]) FROM flights": "`arrayJoin([])` has no type",
    "SELECT day FROM flights LIMIT (SELECT avg(day) FROM flights)": "expected a whole number from 0",
    "SELECT day FROM flights LIMIT (SELECT 1 FROM flights) + month": "expected a whole number from 0",
    "SELECT day FROM flights ORDER BY day LIMIT (SELECT count() FROM flights) WITH TIES": "expected a number from 0",
    "SELECT day FROM flights LIMIT (SELECT count() FROM flights) BY day": "expected a number from 0",
    "SELECT count() FROM flights GROUP BY day WITH TOTALS LIMIT (SELECT 1 FROM flights)": "which may be 0",
    "SELECT day FROM flights LIMIT 0.5": "expected a number from 0 that is known",
    "SELECT count() FROM flights GROUP BY GROUPING SETS ((day), (), ())": (
        "ROLLUP, CUBE and GROUPING SETS do not support a repeated set"
    ),
    "SELECT count() FROM flights WHERE rand() > 5 GROUP BY GROUPING SETS ((day), ())": (
        "an empty set beside rows that may differ when they are read again (`rand`)"
    ),
    "SELECT day FROM flights GROUP BY GROUPING SETS ((day), ()) HAVING count() = 0": (
        "an empty set with aggregates in other clauses than the select list only"
    ),
    "SELECT (day, month) AS k, count() FROM flights GROUP BY k WITH CUBE": "a key that is a tuple of others",
    "SELECT count() FROM flights GROUP BY ROLLUP(day, (month, year))": (
        "ROLLUP, CUBE and GROUPING SETS do not support a nested list of keys"
    ),
    "SELECT count() FROM flights GROUP BY 'x', day WITH CUBE": (
        "ROLLUP, CUBE and GROUPING SETS do not support a constant"
    ),
    "SELECT count() FROM flights GROUP BY month, toNullable(month) WITH CUBE": "two keys that are one value",
    "SELECT count() OVER () FROM flights GROUP BY day WITH ROLLUP HAVING count() > 1": (
        "HAVING beside window functions and grouping sets is not supported"
    ),
    "SELECT [untuple((day, month))] FROM flights": "`untuple` is an item of the select list, and nothing else",
    "SELECT untuple(day) FROM flights": "`untuple` needs a Tuple that is not Nullable",
    "SELECT untuple(day, month) FROM flights": "`untuple` takes 1 argument",
    "SELECT day FROM flights SETTINGS join_use_nulls = 2": "join_use_nulls is 0 or 1",
    "SELECT day FROM flights UNION ALL SELECT month FROM flights SETTINGS join_use_nulls = 1": "behind a UNION",
    "(SELECT day FROM flights) SETTINGS join_use_nulls = 1": "behind a UNION or parentheses",
    "SELECT day FROM flights UNION ALL SELECT month FROM flights SETTINGS transform_null_in = 1": (
        "the setting transform_null_in is not supported"
    ),
    "SELECT day FROM flights SETTINGS aggregate_functions_null_for_empty = true": (
        "the setting aggregate_functions_null_for_empty is not supported"
    ),
    "SELECT day FROM flights SETTINGS no_such_setting = 1": "the setting no_such_setting is not supported",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    found = problems(sql)
    assert len([each for each in found if REFUSED[sql] in each]) == 1, found


@pytest.mark.parametrize(
    "settings", ["max_threads = 4", "join_algorithm = 'hash'", "join_use_nulls = 0, optimize_read_in_order = 0"]
)
def test_settings_that_change_no_answer(settings: str) -> None:
    plain = query("SELECT day FROM flights").sql
    assert query(f"SELECT day FROM flights SETTINGS {settings}").sql == plain


def test_one_level_stays_one_level() -> None:
    """What needs no levels is the text that it always was: views are told apart by it."""
    found = query("SELECT carrier, count() AS c FROM flights GROUP BY carrier ORDER BY c DESC LIMIT 3").sql
    assert found.count("SELECT") == 1


@pytest.mark.parametrize("group", ["ROLLUP((carrier, day), month)", "CUBE(carrier, 1)", "map('a', 1), day"])
def test_a_problem_of_group_by_stands_alone(group: str) -> None:
    """What is grouped by is not known then, so nothing is said of the columns that are not."""
    (problem,) = problems(f"SELECT carrier, count() FROM flights GROUP BY {group} HAVING max(day) > 1 ORDER BY carrier")
    assert "neither grouped by nor aggregated" not in problem
