"""Types of Postgres as types of the stores.

In: a column. Out: its type in ClickHouse, in Penstock and in Iceberg. Invariant: the type has every value that a row
can have, or it is text, and then it holds the text that Postgres sends: arrays (which may be NULL and have any number
of dimensions), `numeric` without a precision, intervals, times of the day, JSON, bytes, and what is not known here.
Days and times outside of 1900 … 2299 are the one exception: the consumer sets a row with one aside.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.postgres.catalog.replicated_table import ReplicatedColumn, ReplicatedType

_NUMBERS: dict[str, t.Type] = {
    "smallint": t.Int(16),
    "integer": t.Int(32),
    "bigint": t.Int(64),
    "oid": t.Int(64),
    "real": t.Float(32),
    "double precision": t.Float(64),
    "boolean": t.Bool(),
    "date": t.Date(wide=True),
    "timestamp without time zone": t.DateTime64(6, "UTC"),
    "timestamp with time zone": t.DateTime64(6, "UTC"),
    "uuid": t.UUID(),
}
_ICEBERG: dict[str, str] = {
    "smallint": "int",
    "integer": "int",
    "bigint": "long",
    "oid": "long",
    "real": "float",
    "double precision": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
}
LANDING_COLUMNS = frozenset(
    ("cdc_version", "cdc_is_deleted", "cdc_commit_lsn", "cdc_ordinal", "cdc_source", "cdc_position")
)
"""The names that a landing has for its own columns, in one store or another: none of a table can be called so."""
MOST_DIGITS = 38
"""Of a Decimal in Penstock and in Iceberg; ClickHouse has 76."""
_CLICKHOUSE_DIGITS = 76
_SMALL_ENUM = 127


def numeric_digits(of: ReplicatedType) -> tuple[int, int] | None:
    """Precision and scale of a numeric that has them. Source: PostgreSQL, `numeric_typmod_precision` and `_scale`; the
    scale is a number of 11 bits with a sign."""
    if of.name != "numeric" or of.typmod < 0:
        return None
    packed = of.typmod - 4
    return (packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024


def clickhouse_type(column: ReplicatedColumn) -> str:
    """The type in ClickHouse, as it is written there."""
    of = column.type.stored
    inner = clickhouse_enum({each.label: at for at, each in enumerate(of.labels, 1)}) if of.labels else None
    plain = inner or str(_plain(of, _CLICKHOUSE_DIGITS))
    return plain if column.not_null else f"Nullable({plain})"


def clickhouse_enum(values: dict[str, int]) -> str:
    """An Enum8, or an Enum16 where its numbers need one."""
    bits = 8 if max(values.values()) <= _SMALL_ENUM else 16
    return str(t.Enum(bits, tuple(values.items())))


def penstock_type(column: ReplicatedColumn) -> t.Type:
    """The type in Penstock; an enum is text there, which takes every new label."""
    plain = _plain(column.type.stored, MOST_DIGITS)
    return plain if column.not_null else t.Nullable(plain)


def iceberg_type(column: ReplicatedColumn) -> str:
    """The type in Iceberg, by the name in its specification."""
    of = column.type.stored
    digits = numeric_digits(of)
    if digits is not None:
        return f"decimal({digits[0]}, {digits[1]})" if _fits(digits, MOST_DIGITS) else "string"
    return _ICEBERG.get(of.name, "string")


def _plain(of: ReplicatedType, most: int) -> t.Type:
    digits = numeric_digits(of)
    if digits is not None:
        return t.Decimal(*digits) if _fits(digits, most) else t.String()
    return _NUMBERS.get(of.name, t.String())


def _fits(digits: tuple[int, int], most: int) -> bool:
    precision, scale = digits
    return precision <= most and 0 <= scale <= precision
