"""Parsing times without a format: parseDateTimeBestEffort, parseDateTime64BestEffort, parseDateTimeBestEffortUS

A string of no known form is an error, zero or NULL, as the function's name says; one without a year, which ClickHouse
completes with the year of the query, is an error for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.parse_best_effort import parse_best_effort, refuse_without_year
from penstock.sql.expr.spark_types import value_default
from penstock.sql.expr.typed import TypedSql, typed_sql, unless_null
from penstock.sql.functions.arguments import precision_argument, zone_argument
from penstock.sql.functions.function import BadArguments, Function

_SUFFIXES = ("", "OrNull", "OrZero")


def handle_unparsable(value: TypedSql, found: str, of: t.DateTime | t.DateTime64, end: str) -> TypedSql:
    """The result for a string that is not a time (`found` is NULL): NULL, the first second or an error, by the suffix
    of the function's name."""
    if end == "OrNull":
        return typed_sql(found, t.Nullable(of))
    other = value_default(of) if end else f"raise_error(concat('cannot read a time from ', {value.sql}))"
    return typed_sql(f"coalesce({found}, {unless_null(other, value)})", t.Nullable(of) if value.nullable else of)


def _read(value: TypedSql, of: t.DateTime | t.DateTime64, us: str, end: str) -> TypedSql:
    found = parse_best_effort(_require_string(value), of, month_first=us == "US")
    if end:
        found = refuse_without_year(value.sql, found, month_first=us == "US")
    return handle_unparsable(value, found, of, end)


def _require_string(value: TypedSql) -> str:
    if not isinstance(value.bare, t.String):
        raise BadArguments(f"expected a String, this is {value.type}")
    return value.sql


def _datetime_function(name: str, us: str, end: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        return _read(values[0], t.DateTime(zone_argument(values, 1)), us, end)

    return Function(name, (1, 2), ("string", "constant"), build)


def _datetime64_function(name: str, us: str, end: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        precision = precision_argument(values, 1)
        return _read(values[0], t.DateTime64(precision, zone_argument(values, 2)), us, end)

    return Function(name, (1, 3), ("string", "constant"), build)


FUNCTIONS: tuple[Function, ...] = (
    *(_datetime_function(f"parseDateTimeBestEffort{us}{end}", us, end) for us in ("", "US") for end in _SUFFIXES),
    *(_datetime_function(f"parseDateTime32BestEffort{end}", "", end) for end in _SUFFIXES),
    *(_datetime64_function(f"parseDateTime64BestEffort{us}{end}", us, end) for us in ("", "US") for end in _SUFFIXES),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
