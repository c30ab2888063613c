"""Values of Postgres as values of JSON.

In: the text of a value and the name of its type. Out: what a JSON row has for it: booleans and whole numbers as such,
everything else as the text that Postgres sends. Invariant: no digit is lost; what a store's time cannot be is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.postgres.packages.package import PackageColumn, PackageRow, PackageSchema

WHOLE_NUMBERS = frozenset({"smallint", "integer", "bigint", "oid"})
TIMES = frozenset({"date", "timestamp without time zone", "timestamp with time zone"})
VERSION, DELETED, COMMIT, ORDINAL = "cdc_version", "cdc_is_deleted", "cdc_commit_lsn", "cdc_ordinal"
OWN_COLUMNS = (VERSION, DELETED, COMMIT, ORDINAL)
"""The columns that a landing has beside those of its table."""
_YEAR = re.compile(r"(\d{4,})-\d\d-\d\d")
_ZEROS: Mapping[str, object] = {
    **dict.fromkeys(WHOLE_NUMBERS, 0),
    "boolean": False,
    "real": 0,
    "double precision": 0,
    "date": "1970-01-01",
    "timestamp without time zone": "1970-01-01 00:00:00",
    "timestamp with time zone": "1970-01-01 00:00:00",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "numeric": "0",
}
_EMPTY_TEXTS: Mapping[str, str] = {"json": "null", "jsonb": "null", "bytea": r"\x", "numeric": "0"}


def empty_text(type_name: str) -> str:
    """What stands for a large value that cannot be had, in a column without NULL, as Postgres writes it."""
    return "{}" if type_name.endswith("[]") else _EMPTY_TEXTS.get(type_name, "")


def json_value(of: PackageColumn, text: str | None) -> object:
    """The value in a JSON row."""
    if text is None:
        return None
    if of.type in WHOLE_NUMBERS:
        return int(text)
    if of.type == "boolean":
        return text == "t"
    return text


def json_row(schema: PackageSchema, row: PackageRow) -> dict[str, object]:
    """The row with the values of its columns and of the columns of a landing. Where only the key of a deleted row is
    known, its other columns are left out."""
    found: dict[str, object] = {
        each.name: json_value(each, value)
        for each, value in zip(schema.columns, row.values, strict=True)
        if each.is_key or not row.key_only
    }
    commit, ordinal, *_ = row.position
    return {**found, VERSION: row.version, DELETED: int(row.is_deleted), COMMIT: commit, ORDINAL: ordinal}


def with_zeros(schema: PackageSchema, row: dict[str, object]) -> dict[str, object]:
    """The row with a value for each column that it lacks, for a store whose columns must have one."""
    lacking = {each.name: _ZEROS.get(each.type, "") for each in schema.columns if each.name not in row}
    return {**lacking, **row}


def unstorable_time(of: PackageColumn, text: str | None) -> str | None:
    """Why a day or time is none that a store has; None if it is one."""
    if text is None or of.type not in TIMES:
        return None
    year = _YEAR.match(text)
    if year is not None and 1900 <= int(year[1]) <= 2299 and not text.endswith("BC"):
        return None
    return f"`{of.name}` is {text[:40]}, and the stores have days and times of the years 1900 to 2299"
