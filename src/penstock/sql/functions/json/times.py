"""Dates and times that JSONExtract reads from JSON.

In: the SQL of a VARIANT. Out: SQL, NULL where the value does not fit the type. Invariant: a day is read from a text
that is nothing but a day; a time from any text that parseDateTimeBestEffort reads, or from a number of seconds.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.sql.conversions.dates import date_of_text
from penstock.sql.conversions.parse_best_effort import parse_best_effort, refuse_without_year
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.functions.json.numbers import Reader, is_number
from penstock.sql.functions.json.paths import variant_kind
from penstock.sql.spark_text import string_literal

_ONE_DAY = string_literal(r"^([0-9]{4}[^0-9][0-9]{1,2}[^0-9][0-9]{1,2}|[0-9]{8})\z")
_LAST_SECOND = 2**32 - 1


def read_date(of: t.Date) -> Reader:
    """A text that is a day, without a time."""

    def formula(v: str) -> str:
        shown = f"CAST({v} AS STRING)"
        day = bind_if_long(shown, lambda s: f"if({s} RLIKE {_ONE_DAY}, {date_of_text(s, of)}, NULL)")
        return f"if({variant_kind(v)} = 'STRING', {day}, NULL)"

    return formula


def read_time(of: t.DateTime) -> Reader:
    """A text as parseDateTimeBestEffort reads it, or a number of seconds, of which the nearest that there is."""

    def formula(v: str) -> str:
        shown = f"CAST({v} AS STRING)"
        text = bind_if_long(
            shown, lambda s: refuse_without_year(s, parse_best_effort(s, of, month_first=False), month_first=False)
        )
        seconds = f"CAST(least(greatest(try_cast({shown} AS DOUBLE), 0D), {_LAST_SECOND}D) AS BIGINT)"
        number = f"timestamp_seconds({seconds})"
        return f"CASE WHEN {variant_kind(v)} = 'STRING' THEN {text} WHEN {is_number(v)} THEN {number} END"

    return formula
