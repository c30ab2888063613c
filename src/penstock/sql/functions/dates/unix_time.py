"""Current time and Unix time: now, today, toUnixTimestamp, fromUnixTimestamp64Milli

Unix time counts from 1970-01-01 00:00:00 UTC, in seconds unless the name of the function says milli or micro.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.explicit import STRICT_MODE, ConversionMode, convert
from penstock.sql.conversions.parse_best_effort import truncate_fraction
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.fine_times import from_nanoseconds, nanoseconds
from penstock.sql.expr.overflow import lowest_64_bits
from penstock.sql.expr.spark_types import FINE_TIME
from penstock.sql.expr.typed import TypedSql, as_spark, fine_from_timestamp, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import precision_argument, zone_argument
from penstock.sql.functions.function import INT64, UINT32, BadArguments, Function

_FIRST_SECOND, _LAST_SECOND = -62_167_219_200, 253_402_300_799
"""The first second of the year 0 and the last of the year 9999."""


def _now(values: Sequence[TypedSql]) -> TypedSql:
    zone = zone_argument(values, 0)
    return typed_sql("date_trunc('SECOND', current_timestamp())", t.DateTime(zone))


def _now64(values: Sequence[TypedSql]) -> TypedSql:
    precision = precision_argument(values, 0)
    micros = truncate_fraction("current_timestamp()", precision)
    of = t.DateTime64(precision, zone_argument(values, 1))
    return typed_sql(micros if precision <= 6 else fine_from_timestamp(micros), of)


def _to_unix_timestamp(values: Sequence[TypedSql]) -> TypedSql:
    value: TypedSql | None = values[0]
    if isinstance(values[0].bare, t.FixedString):
        raise BadArguments("ClickHouse reads a FixedString here as a number, not as a time", "toString(…) of it")
    if isinstance(values[0].bare, t.String):
        zone = zone_argument(values, 1)
        # where it may be NULL, a text that is no time is
        mode = ConversionMode("null", "refused") if values[0].nullable else STRICT_MODE
        value = convert(values[0], t.DateTime(zone), mode)
    if value is None or not isinstance(value.bare, (t.DateTime, t.DateTime64, t.Date)):
        raise BadArguments(f"`toUnixTimestamp` needs a time, this is {values[0].type}")
    if len(values) > 1:
        zone_argument(values, 1)
    seconds = f"unix_seconds({value.sql})"
    if isinstance(value.bare, t.DateTime64):
        if value.bare.precision > 0:  # the fraction is cut off, also before 1970
            seconds = f"unix_micros({value.sql}) DIV 1000000L"
        error = "raise_error('a time before 1970 or after 2106 has no UInt32')"
        seconds = bind_if_long(seconds, lambda s: f"if({s} BETWEEN 0 AND 4294967295, {s}, {unless_null(error, value)})")
    if isinstance(value.bare, t.Date):  # days after 2106 and before 1970 wrap around
        seconds = f"(unix_seconds(CAST({value.sql} AS TIMESTAMP)) & 4294967295L)"
    return typed_sql(seconds, nullable_if_any(UINT32, [values[0]]))


def _shown_units(number: str, per_second: int) -> str:
    """A number of units; beyond the years 0 to 9999 the nearest second of these, as ClickHouse shows such a time."""
    low, high = _FIRST_SECOND * per_second, (_LAST_SECOND + 1) * per_second - 1
    rest = f"pmod({number}, {per_second}L)"
    before, after = f"{low}L + {rest}", f"{_LAST_SECOND * per_second}L + {rest}"
    return f"CASE WHEN {number} < {low}L THEN {before} WHEN {number} > {high}L THEN {after} ELSE {number} END"


def _lowest_bits(number: TypedSql) -> str:
    """An integer as a BIGINT; a UInt64 beyond it is negative, as in ClickHouse."""
    wide = number.spark.startswith("DECIMAL") and number.constant is None
    return lowest_64_bits(number.sql) if wide else as_spark(number, "BIGINT")


def _from_unix_timestamp64_function(unit: str, precision: int, per_second: int) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        zone = zone_argument(values, 1)
        units = bind_if_long(_lowest_bits(values[0]), lambda n: _shown_units(n, per_second))
        micros = f"timestamp_micros({units} * {1_000_000 // per_second}L)"
        return typed_sql(micros, nullable_if_any(t.DateTime64(precision, zone), [values[0]]))

    return Function(f"fromUnixTimestamp64{unit}", (1, 2), ("integer", "constant"), build)


def _from_unix_timestamp64_nano(values: Sequence[TypedSql]) -> TypedSql:
    zone = zone_argument(values, 1)
    of = nullable_if_any(t.DateTime64(9, zone), [values[0]])
    return typed_sql(from_nanoseconds(_lowest_bits(values[0])), of)


def _to_unix_timestamp64_nano(values: Sequence[TypedSql]) -> TypedSql:
    if not isinstance(values[0].bare, t.DateTime64):
        raise BadArguments(f"`toUnixTimestamp64Nano` needs a DateTime64, not {values[0].type}", "toDateTime64")
    return typed_sql(nanoseconds(as_spark(values[0], FINE_TIME)), nullable_if_any(INT64, list(values)))


def _to_unix_timestamp64_function(unit: str, template: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        if not isinstance(values[0].bare, t.DateTime64):
            raise BadArguments(f"`toUnixTimestamp64{unit}` needs a DateTime64, not {values[0].type}", "toDateTime64")
        return typed_sql(template.format(values[0].sql), nullable_if_any(INT64, list(values)))

    return Function(f"toUnixTimestamp64{unit}", (1, 1), ("time",), build)


FUNCTIONS: tuple[Function, ...] = (
    Function("now", (0, 1), ("constant",), _now),
    Function("now64", (0, 2), ("constant", "constant"), _now64),
    Function("today", (0, 0), ("any",), lambda values: typed_sql("current_date()", t.Date())),
    Function("yesterday", (0, 0), ("any",), lambda values: typed_sql("date_sub(current_date(), 1)", t.Date())),
    Function("toUnixTimestamp", (1, 2), ("any", "constant"), _to_unix_timestamp),
    _to_unix_timestamp64_function("Second", "(unix_micros({0}) DIV 1000000L)"),
    _to_unix_timestamp64_function("Milli", "(unix_micros({0}) DIV 1000L)"),
    _to_unix_timestamp64_function("Micro", "unix_micros({0})"),
    Function("toUnixTimestamp64Nano", (1, 1), ("time",), _to_unix_timestamp64_nano),
    Function("fromUnixTimestamp64Nano", (1, 2), ("integer", "constant"), _from_unix_timestamp64_nano),
    _from_unix_timestamp64_function("Second", 0, 1),
    _from_unix_timestamp64_function("Milli", 3, 1000),
    _from_unix_timestamp64_function("Micro", 6, 1_000_000),
    Function(
        "UTCTimestamp",
        (0, 0),
        ("any",),
        lambda values: typed_sql("date_trunc('SECOND', current_timestamp())", t.DateTime("UTC")),
    ),
)
ALIASES: dict[str, str] = {
    "curdate": "today",
    "current_date": "today",
    "UTC_timestamp": "UTCTimestamp",
    "current_timestamp": "now",
    "localtimestamp": "now",
}
ANY_CASE: tuple[str, ...] = (
    "now",
    "now64",
    "curdate",
    "current_date",
    "UTCTimestamp",
    "UTC_timestamp",
    "today",
    "current_timestamp",
    "localtimestamp",
)
