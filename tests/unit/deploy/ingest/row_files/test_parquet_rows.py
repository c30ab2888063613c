"""Parquet as the events that it stands for."""

from __future__ import annotations

import datetime as dt
import decimal
import io
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock.deploy.ingest.row_files.parquet_rows import parquet_rows
from penstock.errors import InvalidRequest
from unit.deploy.ingest.row_files.landings import landed, landing_of

NAMES = {
    "u": "UInt64",
    "d": "Decimal(38, 10)",
    "at": "DateTime64(9)",
    "day": "Date32",
    "s": "LowCardinality(String)",
    "a": "Array(Nullable(Int64))",
    "t": "Tuple(x Float64, y Tuple(z String))",
    "m": "Map(String, DateTime64(3))",
    "b": "Nullable(Bool)",
}
WIDE = landing_of(*(f"`{name}` {of} `json:$.{'x.a[:]' if name == 'a' else name}`" for name, of in NAMES.items()))
NANOS = 1_700_000_000_123_456_789
TABLE = pa.table(
    {
        "u": pa.array([2**64 - 1, 0], pa.uint64()),
        "d": pa.array([decimal.Decimal("1234567890123456789012345678.0123456789"), decimal.Decimal("-0.5")]),
        "at": pa.array([NANOS, -1], pa.timestamp("ns", "Europe/Madrid")),
        "day": pa.array([dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
        "s": pa.array(["é\n", 'a"'], pa.string()).dictionary_encode(),
        "a": pa.array([[1, None], []], pa.large_list(pa.int32())),
        "t": pa.array([{"x": float("inf"), "y": {"z": "q"}}, {"x": 0.1, "y": {"z": ""}}]),
        "m": pa.array([[("k", 1_500)], []], pa.map_(pa.string(), pa.timestamp("ms"))),
        "b": pa.array([None, True]),
        "unknown": pa.array([1, 2]),
    }
)


def written(table: pa.Table, **options: object) -> bytes:
    file = io.BytesIO()
    parquet.write_table(table, file, **options)
    return file.getvalue()


def test_every_value_is_exact() -> None:
    one, two = landed(WIDE, parquet_rows(written(TABLE, row_group_size=1), WIDE, "x"))
    assert isinstance(one, dict), one
    assert isinstance(two, dict), two
    assert (int(str(one["u"])), str(one["d"])) == (2**64 - 1, "1234567890123456789012345678.0123456789")
    assert (one["s"], one["a"], one["b"], two["b"], two["a"]) == ("é\n", [1, None], None, True, [])
    assert b"2023-11-14 22:13:20.123456789Z" in next(parquet_rows(written(TABLE), WIDE, "x"))
    assert b"1969-12-31 23:59:59.999999999Z" in list(parquet_rows(written(TABLE), WIDE, "x"))[1]
    assert b'"1969-12-31"' in next(parquet_rows(written(TABLE), WIDE, "x"))


def test_a_time_without_a_zone_is_of_utc_unless_the_file_says_that_it_is_of_its_column() -> None:
    berlin = landing_of("`at` DateTime64(3, 'Europe/Berlin')")
    table = pa.table({"at": pa.array([0], pa.timestamp("ms"))})
    marked = table.replace_schema_metadata({"penstock.naive": "column"})
    assert list(parquet_rows(written(table), berlin, "x")) == [b'{"at":"1970-01-01 00:00:00Z"}']
    assert list(parquet_rows(written(marked), berlin, "x")) == [b'{"at":"1970-01-01 00:00:00"}']


def test_a_document_is_a_text_or_a_struct() -> None:
    documents = landing_of("`j` JSON")
    texts = pa.table({"j": ['{"a": {"b": [1.5, "x"]}}', None, "[1]", "no JSON"]})
    structs = pa.table({"j": [{"a": {"b": 2}}]})
    expected = [b'{"j":{"a":{"b":[1.5,"x"]}}}', b'{"j":null}', b'{"j":[1]}', b'{"j":"no JSON"}']
    assert list(parquet_rows(written(texts), documents, "x")) == expected
    assert list(parquet_rows(written(structs), documents, "x")) == [b'{"j":{"a":{"b":2}}}']


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("Map(String, Nullable(String))", {"a": "b"}),
        ("Array(Map(String, Int64))", [{"a": 1}]),
        ("Map(String, Map(String, Int64))", [("k", {"a": 1})]),
        ("Tuple(x Int64, y Array(Map(String, Int64)))", {"x": 1, "y": [{"a": 1}]}),
    ],
)
def test_a_struct_is_no_map_since_its_rows_have_all_keys(of: str, value: object) -> None:
    landing = landing_of("`k` String", f"`m` {of}")
    kind = pa.map_(pa.string(), pa.struct([("a", pa.int64())])) if of.startswith("Map(String, Map") else None
    table = pa.table({"k": ["x"], "m": pa.array([value], kind)})
    with pytest.raises(InvalidRequest, match="the column `m` is a Map, and the file has a struct"):
        list(parquet_rows(written(table), landing, "x"))
    rows = list(parquet_rows(written(table), landing_of("`k` String"), "x", [landing]))
    assert landed(landing_of("`k` String"), rows) == [{"k": "x"}]
    (rejected,) = landed(landing, rows)
    assert "a struct, in which each row has all keys" in str(rejected)


def test_a_value_that_does_not_fit_rejects_its_row_alone() -> None:
    narrow = landing_of("`u` UInt8", "`s` String")
    table = pa.table({"u": [1, 256, 3, None], "s": pa.array([b"a", b"b", b"\xff", b"d"], pa.binary())})
    found = landed(narrow, parquet_rows(written(table), narrow, "x"))
    assert [each for each in found if isinstance(each, dict)] == [{"u": 1, "s": "a"}]


def test_many_rows_come_in_order_whatever_the_row_groups() -> None:
    numbers = landing_of("`n` Int64")
    table = pa.table({"n": range(20_000)})
    for size in (7_000, 20_000):
        found = landed(numbers, parquet_rows(written(table, row_group_size=size), numbers, "x"))
        assert found == [{"n": n} for n in range(20_000)]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1", written(TABLE)[:-20]])
def test_a_damaged_file(content: bytes) -> None:
    with pytest.raises(InvalidRequest, match="no Parquet file"):
        list(parquet_rows(content, WIDE, "x"))


def test_a_file_that_is_cut_off_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "half").write_bytes(written(TABLE)[:-20])
    for content in (tmp_path / "half", written(TABLE)[:50]):
        with pytest.raises(InvalidRequest, match="it is cut off"):
            list(parquet_rows(content, WIDE, "x"))


def test_a_file_of_other_columns() -> None:
    with pytest.raises(InvalidRequest, match="no column of the file"):
        list(parquet_rows(written(pa.table({"z": [1]})), WIDE, "x"))
