"""UUIDs: generateUUIDv4, UUIDStringToNum, UUIDNumToString, UUIDv7ToDateTime

A UUID is a string of 36 characters in Spark; its 16 bytes are a FixedString(16), as in ClickHouse. The time in a UUID
of version 7 is its first 48 bits, in milliseconds (RFC 9562).
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import binary_to_string, zone_argument
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.spark_text import string_literal

_ZERO_UUID = f"'{'0' * 32}'"
_SIXTEEN_BYTES = t.FixedString(16)
_UUID = string_literal(r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\z")


def _uuid_to_bytes(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0].sql
    known = f"if({value} RLIKE {_UUID}, replace({value}, '-', ''), {_ZERO_UUID})"
    return typed_sql(
        binary_to_string(f"unhex(if({value} IS NULL, NULL, {known}))"), nullable_if_any(_SIXTEEN_BYTES, list(values))
    )


def _uuid_to_string(values: Sequence[TypedSql]) -> TypedSql:
    if values[0].bare != _SIXTEEN_BYTES:
        raise BadArguments(f"`UUIDNumToString` needs a FixedString(16), this is {values[0].type}")
    digits = f"lower(hex({values[0].sql}))"
    sql = f"regexp_replace({digits}, '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})(.{{12}})$', '$1-$2-$3-$4-$5')"
    return typed_sql(sql, nullable_if_any(STRING, list(values)))


def _uuid_to_number(values: Sequence[TypedSql]) -> TypedSql:
    if not isinstance(values[0].bare, t.UUID):
        raise BadArguments(f"`UUIDToNum` needs a UUID, this is {values[0].type}", "toUUID, or UUIDStringToNum")
    return typed_sql(
        binary_to_string(f"unhex(replace({values[0].sql}, '-', ''))"), nullable_if_any(t.FixedString(16), [values[0]])
    )


def _uuid_timestamp(values: Sequence[TypedSql]) -> TypedSql:
    """The time in a UUID of version 7; 1970-01-01 for other versions."""
    value = values[0]
    if not isinstance(value.bare, t.UUID):
        raise BadArguments(f"`UUIDv7ToDateTime` needs a UUID, this is {value.type}", "toUUID")
    of = t.DateTime64(3, zone_argument(values, 1))
    digits = f"replace(left({value.sql}, 13), '-', '')"
    millis = f"CAST(conv({digits}, 16, 10) AS BIGINT)"
    found = f"timestamp_millis(if(substring({value.sql}, 15, 1) = '7', {millis}, 0L))"
    return typed_sql(unless_null(found, value), nullable_if_any(of, [value]))


FUNCTIONS: tuple[Function, ...] = (
    Function("UUIDStringToNum", (1, 1), ("text",), _uuid_to_bytes),
    Function("UUIDNumToString", (1, 1), ("bytes",), _uuid_to_string),
    Function("generateUUIDv4", (0, 1), ("any",), lambda values: typed_sql("uuid()", t.UUID())),
    Function("UUIDToNum", (1, 1), ("any",), _uuid_to_number),
    Function("UUIDv7ToDateTime", (1, 2), ("any", "constant"), _uuid_timestamp),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
