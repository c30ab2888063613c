"""Parses a text of unknown format as a time, as parseDateTimeBestEffort and its US variant do.

In: SQL of a text and a time type. Out: SQL of a time, NULL for a text of no known format. Invariant: a text without a
year, which ClickHouse completes with the year of the query, gives no value: it is an error, as no lasting value can be
made of it. The formats are those of ClickHouse's src/IO/parseDateTimeBestEffort.cpp, which a Java class reads.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.json_documents.spark_functions import (
    FINE_TIME_OF_TEXT,
    LACKS_YEAR,
    TIME64_OF_TEXT,
    TIME_OF_TEXT,
)
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import zone_of
from penstock.sql.expr.fine_times import cut_fine_time
from penstock.sql.expr.spark_types import is_fine_time
from penstock.sql.spark_text import string_literal

_LAST_OF_DIGITS = {8: "92233720368.54775807BD", 9: "9223372036.854775807BD"}
"""The greatest number of seconds in 64 bits, by the digits after its point; of fewer digits every year is less."""


def parse_best_effort(text: str, want: t.DateTime | t.DateTime64, *, month_first: bool) -> str:
    """The time that a text shows, on the clock of the type's zone unless the text names an offset; NULL if it shows
    none, or has no year. `month_first` reads 2/1/2026 as February (the US variant)."""
    arguments = f"{text}, {string_literal(zone_of(want) or '')}, {_style(month_first=month_first)}"
    if not isinstance(want, t.DateTime64):
        return f"{TIME_OF_TEXT}({arguments})"
    if not is_fine_time(want):
        return truncate_fraction(f"{TIME64_OF_TEXT}({arguments})", want.precision)
    last = _LAST_OF_DIGITS.get(want.precision)

    def checked(seconds: str) -> str:
        cut = cut_fine_time(seconds, want.precision)
        return f"if(abs({seconds}) <= {last}, {cut}, NULL)" if last else cut

    return bind_if_long(f"{FINE_TIME_OF_TEXT}({arguments})", checked)


def refuse_without_year(text: str, found: str, *, month_first: bool) -> str:
    """The time `found` in a text; NULL if there is none, but an error where only the year is missing."""
    message = string_literal("a time without a year, which ClickHouse takes from the date of the query: ")
    error = f"raise_error(concat({message}, {text}))"
    return f"coalesce({found}, if({lacks_year(text, month_first=month_first)}, {error}, NULL))"


def lacks_year(text: str, *, month_first: bool) -> str:
    """Whether a text is a time but for its year; NULL for NULL."""
    return f"{LACKS_YEAR}({text}, {_style(month_first=month_first)})"


def truncate_fraction(sql: str, precision: int) -> str:
    """A time without the digits of its fraction after the first `precision`."""
    if precision >= 6:
        return sql
    unit = {0: "SECOND", 3: "MILLISECOND"}.get(precision)
    if unit:
        return f"date_trunc('{unit}', {sql})"
    step = 10 ** (6 - precision)
    return bind_if_long(f"unix_micros({sql})", lambda x: f"timestamp_micros({x} - pmod({x}, {step}L))")


def _style(*, month_first: bool) -> str:
    return "'us'" if month_first else "''"
