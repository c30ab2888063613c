"""What an ingested JSON value becomes, type by type."""

from __future__ import annotations

import contextlib
import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.landing.json_row import decode_row
from penstock.flow.landing.value_parser import InvalidValue, value_converter
from penstock.parse.column_types import parse_type


def convert(type_text: str, json_text: str) -> object:
    return value_converter(parse_type(type_text))(decode_row(b'{"v":' + json_text.encode() + b"}")["v"])


SECOND = 1_000_000

FITS = [
    ("UInt8", "255", 255),
    ("UInt8", '"7"', 7),
    ("Int8", "-128", -128),
    ("Int64", "9223372036854775807", 2**63 - 1),
    ("UInt64", "18446744073709551615", Decimal(2**64 - 1)),
    ("UInt32", "3.0", 3),
    ("UInt32", "1e3", 1000),
    ("UInt8", "true", 1),
    ("Float64", "true", 1.0),
    ("Float64", "1.5", 1.5),
    ("Float64", '"2.25"', 2.25),
    ("Float64", '"+.5"', 0.5),
    ("Float64", '"-Infinity"', -math.inf),
    ("Float64", "-1" + "0" * 400, -math.inf),
    ("Float64", "1" + "0" * 5000, math.inf),
    ("DateTime", "1357034400." + "9" * 40, 1357034400 * SECOND),
    ("Decimal(10, 2)", "1.10", Decimal("1.10")),
    ("Decimal(38, 20)", "0.12345678901234567890", Decimal("0.12345678901234567890")),
    ("Bool", "true", True),
    ("Bool", "0", False),
    ("String", '"x"', "x"),
    ("String", "1.10", "1.10"),
    ("String", '{"a": [1, 2.50, null]}', '{"a":[1,2.50,null]}'),
    ("LowCardinality(Nullable(String))", '"é"', "é"),
    ("UUID", '"61F0C404-5CB3-11E7-907B-A6006AD3DBA0"', "61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
    ("Date", '"2013-01-02"', 15707),
    ("Date", "15707", 15707),
    ("Date32", '"1900-01-01"', -25567),
    ("DateTime", '"2013-01-01 10:00:00"', 1357034400 * SECOND),
    ("DateTime", '"2013-01-01T10:00:00Z"', 1357034400 * SECOND),
    ("DateTime", '"2013-01-01T12:00:00+02:00"', 1357034400 * SECOND),
    ("DateTime('Europe/Paris')", '"2013-01-01 11:00:00"', 1357034400 * SECOND),
    ("DateTime", "1357034400", 1357034400 * SECOND),
    ("DateTime", '"1357034400"', 1357034400 * SECOND),
    ("DateTime", '"2013-01-01 10:00:00.999"', 1357034400 * SECOND),
    ("DateTime64(3)", '"2013-01-01 10:00:00.123456"', 1357034400 * SECOND + 123_000),
    ("DateTime64(3)", "1357034400123", 1357034400 * SECOND + 123_000),
    ("DateTime64(6)", "1357034400.5", 1357034400 * SECOND + 500_000),
    ("DateTime64(9)", '"2013-01-01 10:00:00.123456789"', Decimal("1357034400.123456789")),
    ("DateTime64(9)", "1357034400123456789", Decimal("1357034400.123456789")),
    ("DateTime64(9)", "1357034400.1234567891", Decimal("1357034400.123456789")),
    ("DateTime64(9)", '"1969-12-31T23:59:59.999999999Z"', Decimal("-0.000000001")),
    ("DateTime64(7, 'Asia/Tokyo')", '"2013-01-01 19:00:00.123456789"', Decimal("1357034400.123456700")),
    ("DateTime64(8)", "135703440012345678", Decimal("1357034400.123456780")),
    ("Enum8('a' = 1, 'b' = 2)", '"b"', "b"),
    ("Enum8('a' = 1, 'b' = 2)", "1", "a"),
    ("Array(UInt8)", "[1, 2]", [1, 2]),
    ("Array(Nullable(UInt8))", "[1, null]", [1, None]),
    ("Map(String, UInt8)", '{"k": 1}', [("k", 1)]),
    ("Tuple(a String, b UInt8)", '{"a": "x", "b": 1}', {"a": "x", "b": 1}),
    ("Tuple(String, UInt8)", '["x", 1]', {"_1": "x", "_2": 1}),
    ("JSON", '{"b": 1.0, "a": null, "t": "2020-01-02T00:00:00Z"}', '{"b":1.0,"t":"2020-01-02 00:00:00"}'),
    ("IPv4", '"127.0.0.1"', "127.0.0.1"),
    ("FixedString(2)", '"ab"', "ab"),
]

DOES_NOT_FIT = [
    ("UInt8", "256", "256 is outside UInt8 (0 to 255)"),
    ("UInt8", "-1", "-1 is outside UInt8 (0 to 255)"),
    ("UInt32", '"abc"', '"abc" is not a UInt32'),
    ("UInt32", '""', '"" is not a UInt32'),
    ("Int8", "1.5", "1.5 is not an Int8"),
    ("UInt32", "1e999999999", "1e999999999 is not a UInt32"),
    ("Float64", '"x"', '"x" is not a number'),
    ("Float64", '"1_000"', '"1_000" is not a number'),
    ("Float64", '"١٢"', '"١٢" is not a number'),
    ("Float64", '" 1"', '" 1" is not a number'),
    ("Float64", '"0x10"', '"0x10" is not a number'),
    ("Decimal(10, 2)", '"1_000"', '"1_000" is not a number'),
    ("Decimal(10, 2)", '"١٢"', '"١٢" is not a number'),
    ("Decimal(10, 2)", '"nan"', '"nan" is not a number'),
    ("Decimal(10, 2)", "1e99999999999999999999", "1e99999999999999999999 is not a number"),
    ("UInt8", "1e99999999999999999999", "1e99999999999999999999 is not a number"),
    ("UInt8", "9" * 5000, "9" * 57 + "... is not a UInt8"),
    ("DateTime", "1e99999999999999999999", "1e99999999999999999999 is not a number"),
    ("UUID", '"{61f0c404-5cb3-11e7-907b-a6006ad3dba0}"', '"{61f0c404-5cb3-11e7-907b-a6006ad3dba0}" is not a UUID'),
    ("IPv6", '"fe80::1%eth0"', '"fe80::1%eth0" is not an IPv6 address'),
    ("Decimal(4, 2)", "100", "100 is outside Decimal(4, 2)"),
    ("Decimal(4, 2)", "1.111", "1.111 has more than 2 digits after the point"),
    ("Bool", "2", "2 is not true or false"),
    ("UUID", '"x"', '"x" is not a UUID'),
    ("Date", '"2150-01-01"', '"2150-01-01" is outside Date'),
    ("DateTime", '"yesterday"', '"yesterday" is not a time (expected YYYY-MM-DD hh:mm:ss)'),
    ("DateTime", '"2013-02-30 00:00:00"', '"2013-02-30 00:00:00" is not a time: day is out of range for month'),
    ("DateTime", "-1", "-1 is outside what the type holds"),
    ("Enum8('a' = 1)", '"c"', '"c" is not one of a'),
    ("Array(UInt8)", '"x"', '"x" where an array was expected'),
    ("Array(UInt8)", "[null]", "null where UInt8 was expected"),
    ("Tuple(UInt8, UInt8)", "[1]", "1 values where 2 were expected"),
    ("FixedString(2)", '"éé"', '"éé" is longer than 2 bytes'),
    ("JSON", "[1]", "a JSON object was expected"),
    ("JSON", '"{}"', "a JSON object was expected"),
    ("JSON", '{"a.b": 1, "a": {"b": 2}}', 'the path "a.b" stands twice'),
    (
        "AggregateFunction(count)",
        "1",
        "an aggregate state cannot be ingested; only a materialized view fills this column",
    ),
]


@pytest.mark.parametrize(("type_text", "json_text", "stored"), FITS)
def test_fits(type_text: str, json_text: str, stored: object) -> None:
    assert convert(type_text, json_text) == stored


@pytest.mark.parametrize(("type_text", "json_text", "reason"), DOES_NOT_FIT)
def test_does_not_fit(type_text: str, json_text: str, reason: str) -> None:
    with pytest.raises(InvalidValue) as raised:
        convert(type_text, json_text)
    assert str(raised.value) == reason


TYPES = sorted({type_text for type_text, _, _ in FITS})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(TYPES), JSON.filter(lambda value: value is not None))
def test_any_json_is_stored_or_unfit(type_text: str, value: object) -> None:
    parsed = decode_row(json.dumps({"v": value}).encode())["v"]
    with contextlib.suppress(InvalidValue):
        assert value_converter(parse_type(type_text))(parsed) is not None


@given(st.integers(0, 2**64 - 1))
def test_every_uint64_is_kept(number: int) -> None:
    assert convert("UInt64", str(number)) == number
