"""Parsing times without a format: parseDateTimeBestEffort, parseDateTime64BestEffort, parseDateTimeBestEffortUS

A string of no known form is an error, zero or NULL, as the function's name says. ClickHouse knows a few more forms
(docs/sql-functions.md), so the rows are not `exact`.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.dates import parse_time_best_effort
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
    if end == "OrZero":
        other = value_default(of)
    else:
        other = f"raise_error(concat('cannot read a time from ', {value.sql}))"
    other = unless_null(other, value)
    return typed_sql(f"coalesce({found}, {other})", t.Nullable(of) if value.nullable else of)


def _require_string(value: TypedSql) -> str:
    if not isinstance(value.bare, t.String):
        raise BadArguments(f"expected a String, this is {value.type}")
    return value.sql


def _datetime_function(name: str, us: str, end: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = t.DateTime(zone_argument(values, 1))
        found = parse_time_best_effort(_require_string(values[0]), of, month_first=us == "US")
        return handle_unparsable(values[0], found, of, end)

    return Function(name, (1, 2), ("string", "constant"), build, exact=False)


def _datetime64_function(name: str, us: str, end: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        precision = precision_argument(values, 1)
        of = t.DateTime64(precision, zone_argument(values, 2))
        found = parse_time_best_effort(_require_string(values[0]), of, month_first=us == "US")
        return handle_unparsable(values[0], found, of, end)

    return Function(name, (1, 3), ("string", "constant"), build, exact=False)


FUNCTIONS: tuple[Function, ...] = (
    *(_datetime_function(f"parseDateTimeBestEffort{us}{end}", us, end) for us in ("", "US") for end in _SUFFIXES),
    *(_datetime_function(f"parseDateTime32BestEffort{end}", "", end) for end in _SUFFIXES),
    *(_datetime64_function(f"parseDateTime64BestEffort{us}{end}", us, end) for us in ("", "US") for end in _SUFFIXES),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
