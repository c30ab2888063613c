"""What a program inserts is what the server's own parser reads: every value, exactly, or an error with its place."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy
import pandas  # noqa: TID251 what a program may insert
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, computed_field

from penstock import (
    ClickHouseDefault,
    ClickHouseType,
    JsonPath,
    UInt64,
    clickhouse_datetime64,
    clickhouse_decimal,
)
from penstock.api.objects.column_types import field_type
from penstock.api.objects.columns import json_path_of
from penstock.client.rows.row_lines import RowWriter, row_check
from penstock.client.rows.sendable_values import UnsendableValue, key_text
from penstock.flow.landing.row_parser import RowParser
from penstock.model.json_path import path_of_key
from penstock.model.manifest import Landing, LandingColumn
from penstock.parse.column_types import parse_type


def parse(model: type[BaseModel], line: bytes) -> Mapping[str, object]:
    """The values of a line, as the table of the model stores them."""
    columns = []
    for name, field in model.model_fields.items():
        has_default = any(isinstance(each, ClickHouseDefault) for each in field.metadata)
        path = json_path_of(field) or path_of_key(name)
        columns.append(
            LandingColumn(name, name, parse_type(field_type(field, (model,))), path, "1" if has_default else None)
        )
    parsed = RowParser([Landing("t", "t", "v", tuple(columns))]).parse(line)
    assert parsed.values is not None, parsed.rejects
    return parsed.values


def sent(row: object, model: type[BaseModel] | None = None) -> bytes:
    return RowWriter(model, row_check(model, validates=True)).line(row)


class Colour(Enum):
    RED, BLUE = "red", "blue"


class Level(Enum):
    LOW, HIGH = 1, 200


class Point(BaseModel):
    x: int
    label: str | None = Field(None, alias="l")


class Everything(BaseModel):
    price: clickhouse_decimal(38, 18)  # type: ignore[valid-type]
    at: datetime
    fine: clickhouse_datetime64(9, "Europe/Berlin")  # type: ignore[valid-type]
    day: date
    id: UUID
    v4: ipaddress.IPv4Address
    v6: ipaddress.IPv6Address
    raw: bytes
    number: float
    colour: Colour
    level: Level
    point: Point
    points: list[Point]
    by_day: dict[date, float]
    by_number: dict[int, str]
    big: UInt64
    text: str
    none: str | None


BERLIN = ZoneInfo("Europe/Berlin")
SECOND_HALF_PAST_TWO = datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN)


def everything(**changes: object) -> Everything:
    given: dict[str, Any] = {
        "price": Decimal("12345678901234567890.123456789012345678"),
        "at": SECOND_HALF_PAST_TWO,
        "fine": datetime(2024, 10, 27, 2, 30, 0, 123456, fold=1, tzinfo=BERLIN),
        "day": date(1999, 12, 31),
        "id": UUID(int=7),
        "v4": ipaddress.IPv4Address("1.2.3.4"),
        "v6": ipaddress.IPv6Address("::1"),
        "raw": "ä\0".encode(),
        "number": math.nan,
        "colour": Colour.BLUE,
        "level": Level.HIGH,
        "point": Point(x=1, l="ü"),
        "points": [Point(x=2**53 + 1)],
        "by_day": {date(2024, 1, 2): math.inf},
        "by_number": {2**63 - 1: "😀"},
        "big": 2**64 - 1,
        "text": "Ω\u2028 'quoted' \"twice\" \\",
        "none": None,
    }
    return Everything(**given | changes)


def test_every_value_of_a_model_arrives() -> None:
    values = dict(parse(Everything, sent(everything())))
    number = values.pop("number")
    assert isinstance(number, float)
    assert math.isnan(number)
    moment = 1729992600  # half past two in winter time
    assert values == {
        "price": Decimal("12345678901234567890.123456789012345678"),
        "at": moment * 1_000_000,
        "fine": Decimal(f"{moment}.123456000"),
        "day": 10956,
        "id": str(UUID(int=7)),
        "v4": "1.2.3.4",
        "v6": "::1",
        "raw": "ä\0",
        "colour": "blue",
        "level": "HIGH",
        "point": {"x": 1, "label": "ü"},
        "points": [{"x": 2**53 + 1, "label": None}],
        "by_day": [(19724, math.inf)],
        "by_number": [(2**63 - 1, "😀")],
        "big": Decimal(2**64 - 1),
        "text": "Ω\u2028 'quoted' \"twice\" \\",
        "none": None,
    }


def test_a_dict_arrives_as_its_model_does() -> None:
    """Its values are not those that Pydantic makes of them: they keep digits that Python's times do not have."""
    row = everything().model_dump(by_alias=True) | {"fine": "2024-01-01 00:00:00.123456789Z", "number": 1.5}
    assert parse(Everything, sent(row, Everything)) | {"number": 0, "fine": 0} == parse(
        Everything, sent(everything())
    ) | {
        "number": 0,
        "fine": 0,
    }
    assert parse(Everything, sent(row, Everything))["fine"] == Decimal("1704067200.123456789")


class Exact(BaseModel):
    a: clickhouse_decimal(38, 6)  # type: ignore[valid-type]


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_decimals_keep_their_digits(value: Decimal) -> None:
    assert parse(Exact, sent({"a": value}))["a"] == value


class Float(BaseModel):
    a: float


@given(st.floats(allow_nan=False))
def test_floats_keep_their_bits(value: float) -> None:
    found = parse(Float, sent({"a": value}))["a"]
    assert (found, math.copysign(1, found)) == (value, math.copysign(1, value))  # type: ignore[arg-type]


class Moment(BaseModel):
    a: clickhouse_datetime64(6, "Asia/Tokyo")  # type: ignore[valid-type]


@given(st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.timezones()))
def test_times_with_a_zone_are_the_same_moment(value: datetime) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    assert parse(Moment, sent({"a": value}))["a"] == (value - epoch) // timedelta(microseconds=1)


class Text(BaseModel):
    a: str


@given(st.text())
def test_texts_arrive_or_are_refused(value: str) -> None:
    assert parse(Text, sent({"a": value}))["a"] == value


def test_a_time_without_a_zone_is_of_the_columns_zone() -> None:
    class Row(BaseModel):
        a: clickhouse_datetime64(3, "Europe/Berlin")  # type: ignore[valid-type]

    assert parse(Row, sent({"a": datetime(2024, 1, 1, 1)}))["a"] == 1704067200 * 1_000_000
    with pytest.raises(UnsendableValue, match="give it its zone"):
        sent({"a": datetime(2024, 10, 27, 2, 30, fold=1)})


def test_values_of_pandas_and_numpy() -> None:
    class Row(BaseModel):
        a: clickhouse_datetime64(9)  # type: ignore[valid-type]
        b: clickhouse_datetime64(9)  # type: ignore[valid-type]
        c: int
        d: float
        e: list[int]
        f: str | None
        g: bool

    row = {
        "a": pandas.Timestamp("2024-01-01 01:00:00.123456789", tz="Europe/Berlin"),
        "b": numpy.array("2024-01-01T00:00:00.123456789", dtype="datetime64[ns]"),
        "c": numpy.array(2**62 + 1),
        "d": numpy.float32(0.1),
        "e": numpy.array([1, 2]),
        "f": pandas.NaT,
        "g": numpy.bool_(True),
    }
    moment = Decimal("1704067200.123456789")
    assert parse(Row, sent(row)) == {
        "a": moment, "b": moment, "c": 2**62 + 1, "d": float(numpy.float32(0.1)), "e": [1, 2], "f": None, "g": True
    }  # fmt: skip


class Placed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    user: Annotated[str, JsonPath("$.user.name")]
    prices: Annotated[list[float], JsonPath("$.items[:].price")]
    page: str = Field(alias="p")
    made: Annotated[int | None, ClickHouseDefault("1")] = None
    kept: int = 7


def test_aliases_and_paths_lead_to_their_columns() -> None:
    expected = {"user": "a", "prices": [1.0, 2.5], "page": "x", "made": None, "kept": 7}
    row = Placed(user="a", prices=[1, 2.5], page="x")
    assert parse(Placed, sent(row)) == expected | {"_absent_made": True}
    assert parse(Placed, sent(Placed(user="a", prices=[1, 2.5], page="x", made=None))) == expected
    for key in ("p", "page"):
        found = parse(Placed, sent({"user": "a", "prices": [1, 2.5], key: "x", "kept": 7}, Placed))
        assert found == expected | {"_absent_made": True}


class Outer(BaseModel):
    inner: list[Point]


def test_a_dict_inside_of_a_dict_has_the_names_of_the_parts() -> None:
    found = parse(Outer, sent({"inner": [{"x": 1, "l": "a"}]}, Outer))
    assert found == {"inner": [{"x": 1, "label": "a"}]}


@dataclass
class Plain:
    a: int
    b: str


def test_a_dataclass_is_a_row() -> None:
    assert sent(Plain(1, "x")) == b'{"a":1,"b":"x"}'


class Documents(BaseModel):
    a: Annotated[dict[str, object], ClickHouseType("JSON(b UInt8)")]


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({"a": "\ud800"}, "a: the text has half of a surrogate pair"),
        ({"a": {"b": ["x", "\udfff"]}}, "a.b.1: the text has half"),
        ({"\ud800": 1}, "has half of a surrogate pair"),
        ({"a": b"\xff"}, "a: byte 0 is no text in UTF-8"),
        ({"a": {1: "x", "1": "y"}}, "a: two keys are the same text: `1`"),
        ({"a": {None: 1}}, "a: a NoneType is no key of a map"),
        ({"a": {1, 2}}, "a: a set is no value of a column; a set has no order"),
        ({"a": timedelta(1)}, "a: a timedelta is no value"),
        ({"a": numpy.timedelta64(5, "ns")}, "a: a timedelta64 is no value"),
        ({"a": [object()]}, "a.0: a object is no value"),
        ({"a": 10**5000}, "a: an integer of thousands of digits"),
        ({"a": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))}, "a: 0001-01-01"),
        ({1: 2}, "the name of a value is a text, not 1"),
        ([1], "a list is no row"),
    ],
)
def test_what_has_no_exact_form_is_refused_at_its_place(row: object, shown: str) -> None:
    with pytest.raises(UnsendableValue) as caught:
        sent(row)
    assert shown in str(caught.value)


def test_a_row_that_contains_itself() -> None:
    row: dict[str, object] = {}
    row["a"] = row
    with pytest.raises(UnsendableValue, match="contains itself"):
        sent(row)


def test_a_document_has_no_nan() -> None:
    assert sent(Documents(a={"b": 1})) == b'{"a":{"b":1}}'
    with pytest.raises(UnsendableValue, match=r"a: a document of JSON has no NaN"):
        sent(Documents(a={"b": [math.nan]}))


class Item(BaseModel):
    sku: str
    count: int = Field(1, alias="n")


class Order(BaseModel):
    id: str
    coupon: str | None = None
    items: list[Item] = []
    by_day: dict[str, Item | None] = {}
    pair: tuple[int, Item] | None = None
    more: Annotated[Item | None, ClickHouseType("JSON")] = None
    user: Annotated[str | None, JsonPath("$.user.name")] = None

    @computed_field
    def size(self) -> int:
        return len(self.items)


class CouponOrder(Order):
    cupon: str = "X10"


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({"cupon": "X10"}, "Order has no field `cupon`: did you mean `coupon`?"),
        ({"items": [{"sku": "a"}, {"sku": "a", "skuu": 1}]}, "items.1: Item has no field `skuu`: did you mean `sku`?"),
        ({"by_day": {"mon": None, "tue": {"sku": "a", "m": 1}}}, "by_day.tue: Item has no field `m`"),
        ({"pair": (1, {"sku": "a", "x": 1})}, "pair.1: Item has no field `x`"),
        ({1: 2}, "Order has no field `1`"),
    ],
)
def test_a_key_that_no_field_has_is_refused_with_the_nearest(row: dict[object, object], shown: str) -> None:
    with pytest.raises(UnsendableValue) as caught:
        sent({"id": "a", **row}, Order)
    assert shown in str(caught.value)


def test_a_subclass_with_a_field_more_is_refused() -> None:
    with pytest.raises(UnsendableValue, match=r"Order has no field `cupon`: did you mean `coupon`\?"):
        sent(CouponOrder(id="a"), Order)
    assert sent(CouponOrder(id="a"), CouponOrder) == sent({"id": "a", "cupon": "X10"} | SENT_DEFAULTS, CouponOrder)


SENT_DEFAULTS: dict[str, object] = {"items": [], "by_day": {}}


def test_keys_that_something_reads_are_accepted() -> None:
    order = Order(id="a", items=[Item(sku="b", n=2)], pair=(1, Item(sku="c")), user="u")
    for row in (order.model_dump(), order.model_dump(by_alias=True)):
        assert b'"sku":"b"' in sent(row, Order)
    assert b'"x":1' in sent({"id": "a", "more": {"sku": "b", "x": 1}}, Order), "a document has keys of its own"
    assert b'"user":{"name":"u"}' in sent({"id": "a", "user": "u"}, Order)

    class Whole(BaseModel):
        id: str
        row: Annotated[dict[str, object] | None, JsonPath("$"), ClickHouseType("JSON")] = None

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        id: str

    for model in (Whole, Open, None):
        assert b'"cupon":"X10"' in sent({"id": "a", "cupon": "X10"}, model)
    unchecked = RowWriter(Order, row_check(Order, validates=False))
    assert b'"cupon":"X10"' in unchecked.line({"id": "a", "cupon": "X10"})


def test_a_row_that_does_not_fit_its_model_is_refused_with_the_places() -> None:
    with pytest.raises(UnsendableValue, match=r"x: Input should be a valid integer.*"):
        sent({"x": "one"}, Point)
    with pytest.raises(UnsendableValue, match="a Outer, where a Point was expected"):
        sent(Outer(inner=[]), Point)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (True, "true"),
        (2**70, str(2**70)),
        (1.5, "1.5"),
        (Decimal("1.50"), "1.50"),
        (Colour.RED, "red"),
        (UUID(int=1), str(UUID(int=1))),
    ],
)
def test_keys_of_maps_are_texts(key: object, text: str) -> None:
    assert key_text(key) == text
