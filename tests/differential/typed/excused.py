"""Differences that docs/sql-functions.md lists under "Known differences", and forms that are left out.

In: a query and what differs. Out: the words of the line that excuses it; why a query is not asked at all. Invariant:
the words stand in the page (test_typed_queries checks that), so an excuse goes when its line goes.
"""

from __future__ import annotations

import re

EXCUSES: tuple[tuple[str, str], ...] = (
    (r"\[DUPLICATED_MAP_KEY\]", "duplicate keys of a map made at run time"),
    (r"\[DATETIME_OVERFLOW\]|timestamp|date value \d+ out of range", "dates moved by amounts beyond what Spark's"),
    (r"\[CAST_OVERFLOW\].*DECIMAL\(20,0\)", "dates moved by amounts beyond what Spark's"),
    (r"moved so far that ClickHouse wraps around", "dates moved by amounts beyond what Spark's"),
    (r"a time without a year, which ClickHouse takes from the date of the query", "Texts without a year"),
    (r"a time beyond the years 0 to 9999", "Decimals of seconds beyond the year 9999"),
    (r"cannot be represented as Decimal\((9|18), ", "Decimals past their digits"),
    (r"Decimal\(38, |Overflow in sum of decimals|rounded half up from", "Decimals past 38 digits"),
    (r"year -?\d+ is out of range|ordinal must be >= 1|before the year 1", "an answer that holds one fails"),
    (r"cannot convert \d+ to U?Int(8|16|32|64) ", "Texts of numbers that do not fit"),
    (r"cannot read a timestamp from", "with more behind its time"),
    (r"cannot (read a time from (0000-|[A-Z][a-z]+ |\d{1,2}(\.\d+)? )|convert 0000-)", "Texts without a year"),
    (r"quantile of a Decimal of more than 15 digits", "quantiles of Decimals of more than 15 digits"),
)
"""What an error of Spark says, and words of the line. No wrong answer is excused, only an error."""

LEFT_OUT: tuple[tuple[str, str], ...] = (
    (r"(covar|corr|var|stddev|skew|kurt)\w*\(.*FROM w", "moments of extremes, NaN and infinities"),
    (r"toJSONString\(.*(covar|corr|var|stddev|skew|kurt)", "ClickHouse writes the sign of NaN"),
    (r"quantiles?GK\w*\(.*\b(f32|f64|g64|nf|af|mi|tn)\b.*FROM w", "the order of NaN in its sketch is that of the rows"),
    (r"(groupUniqArray|topK)\w*Array", "the order of elements that occur equally often is not defined"),
    (r"(max|min|argMax|argMin)\w*\((\d\)\()?(af|tn)\b.*GROUP BY b", "NaN inside of arrays and tuples"),
    (r"(greatCircle|geoDistance).*FROM w", "infinite coordinates"),
    (
        r"toJSONString\(.*(\b(d9|d18|d38|nd)\b|toDecimal\w+| - )",
        "the setting of this test writes Decimals as texts in JSON",
    ),
)
"""Patterns of queries, and why they are not asked."""


def excuse(error: str) -> str | None:
    """The words of the page that say so."""
    return next((line for said, line in EXCUSES if re.search(said, error, re.DOTALL)), None)


def reason_to_leave_out(sql: str) -> str | None:
    """Why a query is not asked."""
    return next((reason for form, reason in LEFT_OUT if re.search(form, sql)), None)
