from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

import orjson
import pytest

from penstock.deploy.queries.answers.json_values import json_converter
from penstock.parse.column_types import parse_type

UTC = dt.timezone.utc
MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678901)
DAY = dt.date(2026, 1, 2)
MAP_OF_TUPLES = r"""{"(1,'b\\'\\n')":2,"(NULL,'')":3}"""


@pytest.mark.parametrize(
    ("of", "value", "shown"),
    [
        ("UInt64", Decimal(2**64 - 1), "18446744073709551615"),
        ("UInt64", 2**64 - 1, "18446744073709551615"),
        ("Int64", -(2**63), "-9223372036854775808"),
        ("Float64", math.nan, "null"),
        ("Float64", -math.inf, "null"),
        ("Float64", 1e300, "1e+300"),
        ("Float32", 0.10000000149011612, "0.1"),
        ("Float32", 16777216.0, "16777216.0"),
        ("Decimal(38, 4)", Decimal("1234567890123456789012345678901234.5600"), "1234567890123456789012345678901234.56"),
        ("Decimal(10, 2)", Decimal("100.00"), "100"),
        ("Bool", True, "true"),
        ("Date", dt.date(2026, 1, 2), '"2026-01-02"'),
        ("DateTime", MOMENT, '"2026-01-02 03:04:05"'),
        ("DateTime", MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=1))), '"2026-01-02 02:04:05"'),
        ("DateTime('Europe/Madrid')", MOMENT, '"2026-01-02 04:04:05"'),
        ("DateTime64(3)", MOMENT, '"2026-01-02 03:04:05.678"'),
        ("DateTime64(6, 'Asia/Tokyo')", MOMENT, '"2026-01-02 12:04:05.678901"'),
        ("DateTime64(9)", Decimal("1767323045.678901234"), '"2026-01-02 03:04:05.678901234"'),
        ("DateTime64(7, 'Asia/Tokyo')", Decimal("1767323045.678901200"), '"2026-01-02 12:04:05.6789012"'),
        ("DateTime64(9)", Decimal("-0.000000001"), '"1969-12-31 23:59:59.999999999"'),
        ("DateTime64(0)", MOMENT, '"2026-01-02 03:04:05"'),
        ("Date32", dt.date(1901, 1, 2), '"1901-01-02"'),
        ("Nullable(String)", None, "null"),
        ("Array(Nullable(Float64))", [1.5, None, math.nan], "[1.5,null,null]"),
        ("Tuple(UInt8, String)", (1, "x"), '[1,"x"]'),
        ("Tuple(a UInt8, b DateTime)", (1, MOMENT), '{"a":1,"b":"2026-01-02 03:04:05"}'),
        ("Map(UInt8, Array(Date))", {1: [dt.date(2026, 1, 2)]}, '{"1":["2026-01-02"]}'),
        ("Map(Date, UInt8)", {dt.date(2026, 1, 2): 3}, '{"2026-01-02":3}'),
        ("Map(Float64, UInt8)", {0.0: 1, -0.5: 2, 1e16: 3}, '{"0":1,"-0.5":2,"10000000000000000":3}'),
        ("Map(Float64, UInt8)", {1e22: 1, 1e-7: 2, math.nan: 3}, '{"1e22":1,"1e-7":2,"nan":3}'),
        ("Map(Float32, UInt8)", {0.10000000149011612: 1, -math.inf: 2}, '{"0.1":1,"-inf":2}'),
        ("Map(Tuple(Nullable(UInt8), String), Int8)", {(1, "b'\n"): 2, (None, ""): 3}, MAP_OF_TUPLES),
        ("Map(Tuple(Date, Tuple(Float64)), Int8)", {(DAY, (-0.0,)): 1}, """{"('2026-01-02',(-0))":1}"""),
        ("Map(Array(String), UInt8)", {("a", "b"): 1}, """{"['a','b']":1}"""),
        ("JSON", '{"a":  1}', '{"a":  1}'),
        ("JSON", '{"a":1.0,"b":"1.0","c":[2.0]}', '{"a":1,"b":"1.0","c":[2]}'),
        ("JSON", "no json", '"no json"'),
        ("LowCardinality(Nullable(String))", "é", '"é"'),
        ("SimpleAggregateFunction(max, Nullable(DateTime))", MOMENT, '"2026-01-02 03:04:05"'),
        ("AggregateFunction(uniq, String)", b"\x00\xff", '"AP8="'),
        ("AggregateFunction(avg, Float64)", (1.5, 2), "[1.5,2]"),
        ("AggregateFunction(sum, UInt64)", Decimal(2**70), str(2**70)),
    ],
)
def test_a_value_is_shown_as_clickhouse_does(of: str, value: object, shown: str) -> None:
    text = orjson.dumps(json_converter(parse_type(of))(value)).decode()
    assert text == shown
    json.loads(text)


@pytest.mark.parametrize("of", ["UInt8", "String", "DateTime64(3)", "Decimal(5, 1)", "Array(UInt8)", "JSON", "Date"])
def test_a_null_is_null_whatever_the_type(of: str) -> None:
    assert json_converter(parse_type(of))(None) is None


def test_an_early_year_has_four_digits() -> None:
    assert json_converter(parse_type("DateTime64(3)"))(dt.datetime(901, 1, 2, tzinfo=UTC)) == "0901-01-02 00:00:00.000"
