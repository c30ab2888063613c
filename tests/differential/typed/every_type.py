# ruff: noqa: E501
"""A table that holds every type: ordinary values, and the values at which answers go wrong.

Out: `COLUMNS`, by name the type and its values, one a row; the rows up to `ORDINARY` are ordinary ones (NULL among
them), the others hold extremes, NaN, infinities, and days on both sides of every limit. Invariant: both engines get the
same values. A String that is no UTF-8 is not among them, because no row can hold one: landing, row files, copies and
bridges refuse it; functions of bytes make such texts from the others.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.parse.column_types import parse_type

Value: TypeAlias = object
NAN, INF = math.nan, math.inf
ORDINARY = 6
"""So many rows, the first ones, are ordinary."""


def _days(*texts: str) -> list[Value]:
    return [dt.date.fromisoformat(text) for text in texts]


def _times(*texts: str) -> list[Value]:
    return [dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc) for text in texts]


def _with_nulls(values: Sequence[Value]) -> list[Value]:
    """NULL in an ordinary row and in one of the others."""
    return [None if place in (1, 7) else value for place, value in enumerate(values)]


def _integers(bits: int, *, signed: bool) -> list[Value]:
    of = t.Int(bits, signed=signed)
    below = -7 if signed else 7
    return [0, 1, 3, below, 10, 100, of.high, of.low, of.high - 1, of.low + 1]


_FLOATS: list[Value] = [0.0, 1.5, -2.25, 0.1, 7.0, 1234.5678, NAN, INF, -1e-300, -INF]
_WIDE_FLOATS: list[Value] = [0.0, 2.5, -0.1, 1e-5, 33.0, 2.675, 1e16 / 3, NAN, 5e-324, 1.7976931348623157e308]
_TEXTS: list[Value] = [
    "",
    "Hello World",
    "été ß",
    "a,b,,c",
    " x y ",
    "日本 😀!",
    "%_\\'",
    "İıſ\u212a",
    "ﬃ\u0301é😀",
    "\x00a\tb\n",
]
_SHORT: list[Value] = ["", "ab", "é", "a", "z9", "x", "é1", "-5", "😀", "0"]
_TIME_TEXTS = (
    "1970-01-01T00:00:00.000001",
    "2024-02-29T23:59:59.999000",
    "2024-03-31T01:30:00.500000",
    "2023-12-31T12:34:56.789012",
    "2024-11-03T05:59:59.000000",
    "2000-01-01T00:00:00.000000",
)
_SECONDS = _times(*(each[:19] for each in _TIME_TEXTS), "1970-01-01T00:00:01", "2106-02-07T06:28:15", "2038-01-19T03:14:08", "1970-01-02T00:00:00")  # fmt: skip
_MILLIS = _times(*(f"{each[:19]}.{each[20:23]}" for each in _TIME_TEXTS), "1969-12-31T23:59:59.999", "1900-01-01T00:00:00", "2299-12-31T23:59:59.999", "2106-02-07T06:28:16.001")  # fmt: skip
_MICROS = _times(*_TIME_TEXTS, "1969-12-31T23:59:59.999999", "1900-01-02T00:00:00.000001", "2299-12-30T23:59:59.999999", "2149-06-07T00:00:00")  # fmt: skip
_DAYS = _days("1970-01-01", "2024-02-29", "2023-12-31", "2024-03-31", "2000-01-01", "1999-12-27", "2149-06-06", "1970-01-02", "2106-02-07", "2106-02-08")  # fmt: skip
_WIDE_DAYS = _days("1970-01-01", "2024-02-29", "2023-12-31", "2024-03-31", "2000-01-01", "1969-12-31", "2299-12-31", "1900-01-01", "2149-06-06", "2149-06-07")  # fmt: skip
_JSON: list[Value] = [
    "",
    '{"b": 12, "a": "x", "c": [1, 2, {"d": true}], "e": 1.5, "f": null}',
    '{"a": {"z": 1, "y": [null, "é"]}, "b": "7"}',
    "[1, -2.5, null, \"3\"]",
    '{"a": true, "b": -3}',
    "not json",
    '{"a": 18446744073709551615, "b": 1e400, "c": [1e300]}',
    '{"a": -9223372036854775808, "b": 0.1, "e": "-0.0"}',
    '{"a": "\\u00e9\\ud83d\\ude00\\n", "c": []}',
    '{"a": 9223372036854775808, "b": 123456789012345678901234567890}',
]  # fmt: skip
_URLS: list[Value] = [
    "",
    "https://www.example.com/a/b?q=1&r=%20x#f",
    "http://user@sub.example.co.uk:8080/p/été?x=😀",
    "example.com/x",
    "ftp://x.y/z?",
    "//h/p?a&b=&c=1",
    "http://[::1]:99999/?q=%ff%zz",
    "HTTP://WWW.EXAMPLE.COM",
    "mailto:a@b.c",
    "http://1.2.3.4#a?b",
]
_NUMBERS: list[Value] = ["0", "42", "-17", "3.5", "12abc", "", "18446744073709551615", "-9223372036854775809", "1e400", "nan"]  # fmt: skip
_MOMENTS: list[Value] = [
    "2024-02-29 12:34:56",
    "2024-01-31",
    "1970-01-01 00:00:00",
    "2024-03-10T01:02:03.5Z",
    "20240715",
    "x",
    "2299-12-31 23:59:59",
    "1900-01-01",
    "2149-06-07",
    "1969-12-31 23:59:59.999",
]
_PLACES: list[Value] = ["192.168.0.1", "1.2.3.4", "0.0.0.0", "10.0.0.255", "127.0.0.1", "8.8.8.8", "255.255.255.255", "0.0.0.0", "224.0.0.1", "100.64.0.1"]  # fmt: skip
_WIDE_PLACES: list[Value] = ["::1", "2001:db8::1", "::", "fe80::1:2", "::ffff:1.2.3.4", "2001:db8:0:1:1:1:1:1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::", "ff02::1", "1::"]  # fmt: skip
_UUIDS: list[Value] = [f"61f0c404-5cb3-11e7-907b-a6006ad3db{each}" for each in ("a0", "a1", "ff", "00", "7f", "80")]
_UUIDS += ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]
_UUIDS += ["80000000-0000-0000-0000-000000000000", "018f3a5c-7b2e-7cc0-8000-0123456789ab"]

_VALUES: dict[str, tuple[str, list[Value]]] = {
    "id": ("UInt32", list(range(1, 11))),
    **{f"i{bits}": (f"Int{bits}", _integers(bits, signed=True)) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (f"UInt{bits}", _integers(bits, signed=False)) for bits in (8, 16, 32, 64)},
    "nu8": ("Nullable(UInt8)", _with_nulls(_integers(8, signed=False))),
    "ni32": ("Nullable(Int32)", _with_nulls(_integers(32, signed=True))),
    "ni64": ("Nullable(Int64)", _with_nulls(_integers(64, signed=True))),
    "f32": ("Float32", [0.0, 1.5, -0.25, 0.1, 7.0, 1e-5, NAN, INF, -1.5e-10, 3.4028235e38]),
    "f64": ("Float64", _FLOATS),
    "g64": ("Float64", _WIDE_FLOATS),
    "z64": ("Float64", [0.0, -0.0, 1.0, -1.0, -0.0, 0.5, -0.0, 1e308, -1e308, -5e-324]),
    "nf": ("Nullable(Float64)", _with_nulls(_FLOATS)),
    "d9": ("Decimal(9, 2)", [Decimal(each) for each in ("0", "12.34", "-0.50", "1.10", "5.05", "100", "9999999.99", "-9999999.99", "0.01", "-0.01")]),
    "d18": ("Decimal(18, 4)", [Decimal(each) for each in ("0", "12.3456", "-0.5", "2.0001", "7", "1000.5", "99999999999999.9999", "-99999999999999.9999", "0.0001", "0.5")]),
    "d38": ("Decimal(38, 6)", [Decimal(each) for each in ("0", "1.000001", "-7.5", "0.1", "10", "123456789.123456", "99999999999999999999999999999999.999999", "-99999999999999999999999999999999.999999", "0.000001", "18446744073709551616")]),
    "nd": ("Nullable(Decimal(18, 4))", _with_nulls([Decimal(each) for each in ("0", "1", "-0.5", "2.5", "7.25", "1000.5", "99999999999999.9999", "1", "0.0001", "-1")])),
    "b": ("Bool", [False, True, True, False, True, False, True, False, False, True]),
    "nb": ("Nullable(Bool)", _with_nulls([False, True, True, False, True, False, True, False, False, True])),
    "s": ("String", _TEXTS),
    "ns": ("Nullable(String)", _with_nulls(_SHORT)),
    "lc": ("LowCardinality(String)", ["a", "b", "a", "é", "b", "c", "a", "", "b", "c"]),
    "lcn": ("LowCardinality(Nullable(String))", _with_nulls(["a", "b", "a", "é", "b", "c", "a", "", "b", "c"])),
    "js": ("String", _JSON),
    "url": ("String", _URLS),
    "num": ("String", _NUMBERS),
    "mo": ("String", _MOMENTS),
    "fs": ("FixedString(5)", ["", "ab", "é", "hello", "z9", "x y", "a\x00b", "12345", "😀", "0"]),
    "nfs": ("Nullable(FixedString(3))", _with_nulls(["", "ab", "é", "abc", "z9", "x y", "a\x00b", "123", "é1", "0"])),
    "e8": ("Enum8('a' = 1, 'b' = -2, 'é' = 127)", ["a", "b", "é", "a", "b", "a", "é", "b", "a", "b"]),
    "e16": ("Enum16('x' = 300, 'y z' = -32768, '' = 0)", ["x", "y z", "", "x", "x", "y z", "y z", "", "x", "x"]),
    "ne": ("Nullable(Enum8('a' = 1, 'c' = 2))", _with_nulls(["a", "c", "a", "a", "c", "a", "c", "c", "a", "c"])),
    "ip4": ("IPv4", _PLACES),
    "ip6": ("IPv6", _WIDE_PLACES),
    "nip": ("Nullable(IPv4)", _with_nulls(_PLACES)),
    "uu": ("UUID", _UUIDS),
    "nuu": ("Nullable(UUID)", _with_nulls(_UUIDS)),
    "d": ("Date", _DAYS),
    "dd": ("Date32", _WIDE_DAYS),
    "nd32": ("Nullable(Date32)", _with_nulls(_WIDE_DAYS)),
    "nday": ("Nullable(Date)", _with_nulls(_DAYS)),
    "t": ("DateTime", _SECONDS),
    "tz": ("DateTime('America/New_York')", _SECONDS),
    "nt": ("Nullable(DateTime)", _with_nulls(_SECONDS)),
    "t3": ("DateTime64(3)", _MILLIS),
    "t6": ("DateTime64(6, 'Europe/Berlin')", _MICROS),
    "nt3": ("Nullable(DateTime64(3))", _with_nulls(_MILLIS)),
    "t9": ("DateTime64(9)", _times(*_TIME_TEXTS, "1969-12-31T23:59:59.999999", "1900-01-02T00:00:00.000001", "2262-04-10T23:59:59.999999", "2106-02-07T06:28:16")),
    "ai": ("Array(Int32)", [[], [3, 1, 2], [1, 1], [-1, 0, 1], [5], [2, 2, 3], [2**31 - 1, -(2**31)], [0], [7, 7, 7, 7], [1, 2]]),
    "ani": ("Array(Nullable(Int64))", [[], [None, 1], [3, None, 2], [1], [None], [5, 5], [2**63 - 1, None, -(2**63)], [None, None], [0, 1], [1, None]]),
    "as_": ("Array(String)", [[], ["b", "a", "b"], ["é"], ["", "x"], ["q", "w"], ["a"], ["😀", "ß"], ["\\'", "\n"], ["1", "2", "10"], ["a", "A"]]),
    "ans": ("Array(Nullable(String))", [[], [None, "a"], ["é", None], ["x"], [None], ["", "x"], ["😀", None], [None, None], ["b", "a"], ["a"]]),
    "af": ("Array(Float64)", [[], [1.5, -2.5], [0.1], [1.0, 2.0, 3.0], [7.0], [0.0, 0.5], [NAN, 1.0], [INF, -INF], [-1.0, 0.0], [1.0, NAN, -INF]]),
    "ad": ("Array(Date)", [[], _days("2024-02-29", "1970-01-01"), _days("2000-01-01"), [], _days("2024-01-01", "2023-12-31"), _days("2024-03-31"), _days("2149-06-06"), _days("1970-01-01"), _days("2106-02-07", "2106-02-08"), _days("1999-12-27")]),
    "aa": ("Array(Array(Int32))", [[], [[1], [2, 3]], [[]], [[1, 2], []], [[5]], [[-1]], [[2**31 - 1], [-(2**31)]], [[], []], [[0, 0]], [[1], [1]]]),
    "at": ("Array(Tuple(Int32, String))", [[], [(1, "a"), (0, "b")], [(1, "é")], [(2, "")], [(3, "x"), (3, "a")], [(5, "q")], [(2**31 - 1, "😀")], [], [(-1, "a"), (-1, "A")], [(0, "")]]),
    "m": ("Map(String, Int32)", [{}, {"a": 1, "b": 2}, {"z": -1}, {"a": 0}, {"k": 9}, {"é": 3, "a": 1}, {"😀": 2**31 - 1}, {"": -(2**31)}, {"b": 1, "a": 2}, {}]),
    "mn": ("Map(String, Nullable(String))", [{}, {"a": None, "b": "x"}, {"z": "é"}, {"a": ""}, {"k": None}, {"a": "1"}, {"😀": None}, {"": "x"}, {"b": "1", "a": None}, {}]),
    "mi": ("Map(Int32, Float64)", [{}, {1: 1.5, 2: -2.5}, {3: 0.1}, {-1: 7.0}, {5: 0.0}, {0: 2.0}, {2**31 - 1: NAN}, {-(2**31): INF}, {2: 1.0, 1: -2.0}, {}]),
    "tu": ("Tuple(Int32, String)", [(0, ""), (1, "a"), (1, "é"), (-1, "x"), (7, "a"), (7, "b"), (2**31 - 1, "😀"), (-(2**31), ""), (2, "A"), (2, "a")]),
    "tn": ("Tuple(a Nullable(Int32), b Float64)", [(0, 0.0), (None, 1.5), (1, -0.5), (2, 0.1), (None, 7.0), (1, 2.0), (2**31 - 1, NAN), (None, INF), (-(2**31), -2.0), (1, NAN)]),
}  # fmt: skip


@dataclass(frozen=True)
class EveryColumn:
    """A column: its type and one value for each row."""

    name: str
    type: Type
    written: str
    values: tuple[Value, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """What there is among the values: "value", and "NULL", "NaN", "extreme" where there is such a value."""
        found = [word for word, test in _CLASSES.items() if any(map(test, map(_parts, self.values)))]
        return ("value", *found, *(() if unwrap_type(self.type) == t.Bool() else ("extreme",)))


def _parts(value: Value) -> list[Value]:
    match value:
        case list() | tuple():
            return [part for each in value for part in _parts(each)]
        case dict():
            return [part for each in value.values() for part in _parts(each)]
        case _:
            return [value]


_CLASSES = {
    "NULL": lambda parts: None in parts,
    "NaN": lambda parts: any(isinstance(each, float) and not math.isfinite(each) for each in parts),
}

COLUMNS = {name: EveryColumn(name, parse_type(of), of, tuple(values)) for name, (of, values) in _VALUES.items()}
TABLES = {"w": 10, "tame": ORDINARY, "nil": 0}
"""Each table with its number of rows: all, the ordinary ones, none."""


def clickhouse_value(value: Value, of: Type) -> str:
    """A value as INSERT … VALUES takes it."""
    match unwrap_type(of), value:
        case t.Array(inner), list():
            return f"[{', '.join(clickhouse_value(each, inner) for each in value)}]"
        case t.Map(key, item), dict():
            pairs = (f"{clickhouse_value(k, key)}, {clickhouse_value(v, item)}" for k, v in value.items())
            return f"map({', '.join(pairs)})"
        case t.Tuple(fields), tuple():
            return f"({', '.join(clickhouse_value(v, inner) for v, (_, inner) in zip(value, fields, strict=True))})"
        case t.DateTime(), dt.datetime():
            return f"toDateTime('{value:%Y-%m-%d %H:%M:%S}', 'UTC')"
        case t.DateTime64(precision), dt.datetime():
            return f"toDateTime64('{value:%Y-%m-%d %H:%M:%S.%f}', {precision}, 'UTC')"
        case _:
            return _plain_value(value)


def _plain_value(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\0").replace("\n", "\\n")
            return f"'{escaped}'"
        case bool() | float() | int():
            return str(value).lower()
        case _:
            return f"'{value}'"


def arrow_value(value: Value, of: Type) -> Value:
    """A value as Arrow takes it for Spark's type."""
    match unwrap_type(of), value:
        case _, None:
            return None
        case t.Array(inner), list():
            return [arrow_value(each, inner) for each in value]
        case t.Map(key, item), dict():
            return [(arrow_value(k, key), arrow_value(v, item)) for k, v in value.items()]
        case t.Tuple(fields), tuple():
            names = (name or f"_{place}" for place, (name, _) in enumerate(fields, start=1))
            return {name: arrow_value(v, of) for name, v, (_, of) in zip(names, value, fields, strict=True)}
        case t.Int(64, signed=False), int():
            return Decimal(value)
        case t.FixedString(length), str():
            return value + "\x00" * (length - len(value.encode()))
        case t.DateTime64(precision), dt.datetime() if precision > 6:
            since = value - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
            return Decimal(since // dt.timedelta(microseconds=1)) / Decimal(1_000_000)
        case _:
            return value
