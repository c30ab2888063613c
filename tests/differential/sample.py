"""The rows that both engines get: every family of types, with edge values.

Out: the project, the DDL and inserts for ClickHouse, the rows for Spark. Both engines get the same literals.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from penstock.errors import Location
from penstock.model.datasource import Column, DataSource
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.parse.column_types import parse_type

SCHEMA = {
    "id": "UInt32",
    "u8": "UInt8",
    "u16": "UInt16",
    "u64": "UInt64",
    "i8": "Int8",
    "i32": "Int32",
    "i64": "Int64",
    "ni": "Nullable(Int32)",
    "f": "Float64",
    "nf": "Nullable(Float64)",
    "f32": "Float32",
    "dec": "Decimal(10, 2)",
    "b": "Bool",
    "s": "String",
    "ns": "Nullable(String)",
    "lc": "LowCardinality(String)",
    "d": "Date",
    "t": "DateTime",
    "t3": "DateTime64(3)",
    "nt": "Nullable(DateTime)",
    "arr": "Array(Int32)",
    "sarr": "Array(String)",
    "m": "Map(String, Int32)",
    "js": "String",
    "url": "String",
    "num": "String",
}
_UTC = dt.timezone.utc


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=_UTC)


NAN, INF = float("nan"), float("inf")
ROWS: list[tuple[object, ...]] = [
    (
        1,
        0,
        0,
        0,
        -128,
        -5,
        -(2**40),
        None,
        0.0,
        None,
        0.5,
        Decimal("0.00"),
        False,
        "",
        None,
        "a",
        dt.date(1970, 1, 1),
        _moment("1970-01-01T00:00:00"),
        _moment("1970-01-01T00:00:00.001"),
        None,
        [],
        [],
        {},
        "",
        "",
        "0",
    ),
    (
        2,
        255,
        65535,
        2**64 - 1,
        127,
        7,
        2**40,
        5,
        1.5,
        2.5,
        -1.25,
        Decimal("12.34"),
        True,
        "Hello World",
        "x",
        "b",
        dt.date(2024, 2, 29),
        _moment("2024-02-29T23:59:59"),
        _moment("2024-02-29T23:59:59.999"),
        _moment("2024-03-01T00:00:00"),
        [3, 1, 2],
        ["b", "a", "b"],
        {"a": 1, "b": 2},
        '{"a": "x", "b": 12, "c": [1, 2, {"d": true}], "e": 1.5, "f": null}',
        "https://www.example.com/a/b?q=1&r=%20x#f",
        "42",
    ),
    (
        3,
        1,
        100,
        10,
        -1,
        -7,
        3,
        -5,
        -2.5,
        -0.5,
        3.75,
        Decimal("-0.50"),
        True,
        "été",
        "é",
        "a",
        dt.date(2023, 12, 31),
        _moment("2023-12-31T12:34:56"),
        _moment("2023-12-31T12:34:56.789"),
        None,
        [1, 1],
        ["é"],
        {"z": -1},
        "not json",
        "http://user@sub.example.org:8080/path",
        "-17",
    ),
    (
        4,
        7,
        7,
        7,
        7,
        3,
        -3,
        7,
        1e21,
        1e-7,
        100.0,
        Decimal("99999999.99"),
        False,
        "a,b,,c",
        "",
        "c",
        dt.date(2024, 7, 15),
        _moment("2024-07-15T06:07:08"),
        _moment("2024-07-15T06:07:08.010"),
        _moment("2024-07-15T06:07:08"),
        [-1, 0, 1],
        ["", "x"],
        {"a": 0},
        '{"b": -3, "a": true, "g": "12"}',
        "example.com/x",
        "abc",
    ),
    (
        5,
        7,
        8,
        9,
        10,
        11,
        12,
        7,
        123456.789,
        0.1,
        0.1,
        Decimal("1.10"),
        True,
        "Hello World",
        "x",
        "b",
        dt.date(2024, 7, 20),
        _moment("2024-07-20T18:00:00"),
        _moment("2024-07-20T18:00:00.500"),
        _moment("2024-01-01T00:00:00"),
        [5],
        ["q", "w"],
        {"k": 9},
        '{"a": "y", "b": 18446744073709551615}',
        "https://www.example.com/a/b?q=2",
        "3.5",
    ),
    (
        6,
        3,
        9,
        1,
        -10,
        11,
        -12,
        None,
        2.675,
        None,
        -0.1,
        Decimal("5.05"),
        False,
        "back\\slash 'q'",
        None,
        "c",
        dt.date(2000, 1, 1),
        _moment("2000-01-01T00:00:01"),
        _moment("2000-01-01T00:00:01.000"),
        None,
        [2, 2, 3],
        ["a"],
        {},
        '[1, "two", 3.5]',
        "ftp://x.y/z",
        "12abc",
    ),
]


def project() -> Project:
    columns = tuple(Column(name, parse_type(of), location=Location("t.datasource")) for name, of in SCHEMA.items())
    return Project.of([DataSource("t", columns, Engine()), DataSource("none", columns, Engine())], [])


def clickhouse_literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case dt.datetime():
            shown = value.strftime("%Y-%m-%d %H:%M:%S.%f")
            return f"'{shown[:-7]}'" if value.microsecond == 0 else f"'{shown[:-3]}'"
        case dt.date():
            return f"'{value}'"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case list():
            return "[" + ", ".join(map(clickhouse_literal, value)) + "]"
        case dict():
            return "map(" + ", ".join(f"{clickhouse_literal(k)}, {v}" for k, v in value.items()) + ")"
        case _:
            return str(value)
