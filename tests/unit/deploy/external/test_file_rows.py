"""Files are read as ClickHouse reads them: its rows and ours, of the same bytes. What it reads by wrapping around,
cutting digits or guessing is an error here."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chdb.session import Session
from hypothesis import given
from hypothesis import strategies as some

from clickhouse_session import open_session
from penstock.deploy.external.file_rows import LocalFile, file_batches, parquet_columns
from penstock.deploy.external.text_records import BrokenFile, csv_records, json_objects, tsv_records
from penstock.deploy.external.web_client import UnreadableSource
from penstock.errors import Location, Problem
from penstock.model.datasource import Text
from penstock.model.external_tables import FileFormat
from penstock.parse.schema import parse_schema

MANY = 2**30
I_S = "i Nullable(Int32), s String"


@pytest.fixture(scope="module")
def clickhouse() -> Session:
    return open_session()


def columns_of(structure: str) -> list[tuple[str, object]]:
    problems: list[Problem] = []
    columns = parse_schema(Text(structure, Location("structure")), problems)
    assert not problems
    return [(each.name, each.type) for each in columns]


def read(path: Path, file_format: FileFormat, structure: str, used: Sequence[str] = ()) -> list[dict[str, object]]:
    columns = columns_of(structure)
    file = LocalFile(path, file_format, "none", MANY)
    batches = file_batches(file, columns, used or [name for name, _ in columns])  # type: ignore[arg-type]
    return [_shown(row) for batch in batches for row in batch.to_pylist()]


def _shown(value: object) -> object:
    """A value as ClickHouse's JSON has it."""
    match value:
        case dict():
            return {name: _shown(each) for name, each in value.items()}
        case list() if value and isinstance(value[0], tuple):
            return {str(key): _shown(each) for key, each in value}
        case list():
            return [_shown(each) for each in value]
        case dt.datetime():
            parts = f".{value.microsecond // 1000:03}" if value.microsecond else ""
            return value.strftime("%Y-%m-%d %H:%M:%S") + parts
        case dt.date():
            return str(value)
        case Decimal():
            return float(value) if value % 1 else int(value)
        case _:
            return value


def rows_of_clickhouse(
    clickhouse: Session, path: Path, file_format: str, structure: str, used: Sequence[str] = ()
) -> list[dict[str, object]]:
    listed = ", ".join(used) or "*"
    call = f"file('{path}', '{file_format}', '{structure}')".replace("\\", "")
    options = "output_format_json_quote_64bit_integers=0, output_format_json_quote_decimals=0, session_timezone='UTC'"
    answer = clickhouse.query(f"SELECT {listed} FROM {call} SETTINGS {options}", "JSONEachRow")
    return [json.loads(line) for line in str(answer.data()).splitlines()]


SAME = [
    ("CSV", b'1, x \n2,"y" \n3,"a""b"\n4,\n5,\\N\n6,""\n7,"\\N"\n8,a\\nb\n9,\'q\'\n10,a"b\n', "i Int64, s String"),
    ("CSV", b'4,\n5,\\N\n6,""\n7,"\\N"\n8,\\N \n9, \\N\n10,\\Nx\n11,NULL\n', "i Int64, s Nullable(String)"),
    ("CSV", b"i,s\n1,x\n", I_S),
    ("CSV", b"s,i\nx,1\n", I_S),
    ("CSV", b"i\n1\n", I_S),
    ("CSV", b"i,other\n1,2\n", "i String, s String"),
    ("CSV", b'"i" ,"s"\r\n1,x\r\n', I_S),
    ("CSV", b"", I_S),
    ("CSV", b"a\n\nb\n", "s String"),
    ("CSV", b"1,x", I_S),
    ("CSV", b'1,"l1\nl2, ""q"""\r\n2,y\r\n', I_S),
    ("CSV", b"\xef\xbb\xbfx,1\n", "s String, i Int8"),
    ("CSV", b'"",1\n,2\n', "i Nullable(Int8), n Int8"),
    ("CSV", b'"",1\n,2\n1.5,3\n', "d Decimal(9, 2), n Int8"),
    ("CSV", b",,,,,,,\n", "a Date, b DateTime, c Bool, d UUID, e Float64, f Array(Int8), g IPv4, z Int8"),
    (
        "CSV",
        b"2024-01-02,2024-01-02 03:04:05,true,61f0c404-5cb3-11e7-907b-a6006ad3dba0,1.5e3\n",
        "a Date, b DateTime, c Bool, d UUID, e Float64",
    ),
    (
        "CSV",
        b"\"[1,NULL]\",\"['a','b''c']\",\"{'k':1}\"\n",
        "a Array(Nullable(Int8)), b Array(String), c Map(String, Int8)",
    ),
    ("CSV", b"x\r1,1\n", "s String, i Int8"),
    ("CSV", b"\tx\t,1\n   ,2\n", "s Nullable(String), i Int8"),
    ("CSV", "é,1\n😀,2\n".encode(), "s String, i Int8"),
    ("CSVWithNames", b"", I_S),
    ("CSVWithNames", b"s\n", I_S),
    ("CSVWithNames", b"\xef\xbb\xbfs,i,more\nx,1,2\n", I_S),
    ("CSVWithNames", b"s\nx\n", I_S),
    ("TabSeparated", b'1\ta\\tb\\\\\\\'\\"\\n\n2\t\n3\t\\N\n\\N\t x \n\t"q"\n', I_S),
    ("TabSeparated", b"1\t\\N\n2\t\n3\tnull\n", "i Int8, s Nullable(String)"),
    ("TabSeparated", b"1\tx\\\ny\n2\tz\\x41\\q\\,\\a\\b\\e\\f\\r\\v\\0\\`\\/\\=\\1\n", I_S),
    ("TabSeparated", b"i\ts\n1\tx\n", I_S),
    ("TabSeparated", b"[1,2]\t['a','b']\t2024-01-02\n", "a Array(Int8), b Array(String), c Date"),
    ("TabSeparatedWithNames", b"s\ti\nx\t1\n", I_S),
    ("JSONEachRow", b'[{"i":1,"s":"a"},\n{"i":null,"s":null}]', I_S),
    ("JSONEachRow", b'{"i":1}{"s":"}{\\"","x":{}},{"i":"3"}\n\n{"more":1}', I_S),
    ("JSONEachRow", b'{\n "i" : 1,\n "s" : {"b":[1,"x"]}\n}\n', I_S),
    ("JSONEachRow", b"[]", I_S),
    ("JSONEachRow", b'{"I":1,"S":"x"}', I_S),
    ("JSONEachRow", b'{"t":1577934245,"u":1577934245}', "t DateTime, u DateTime64(0)"),
    ("JSONEachRow", b'{"t":1577934245.5}{"t":"1577934245.25"}{"t":"2020-01-02 03:04:05.125"}', "t DateTime64(3)"),
    ("CSV", b"1577934245.5,1969-12-31 23:59:59.25\n", "t DateTime64(3), u DateTime64(3)"),
    (
        "JSONEachRow",
        b'{"a":[1,null],"m":{"k":"v"},"d":"2024-01-02","t":1700000000,"b":true}',
        "a Array(Nullable(Int8)), m Map(String, String), d Date, t DateTime, b Bool",
    ),
]


@pytest.mark.parametrize(("file_format", "content", "structure"), SAME)
def test_texts_are_read_as_clickhouse_reads_them(
    clickhouse: Session, tmp_path: Path, file_format: FileFormat, content: bytes, structure: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert read(path, file_format, structure) == rows_of_clickhouse(clickhouse, path, file_format, structure)


@pytest.mark.parametrize(
    ("file_format", "content", "structure", "told"),
    [
        ("CSV", b"1,a\n2,b,c\n", I_S, "row 2: it has 3 values, and 2 were expected"),
        ("CSV", b"1,a\n\n2,b\n", I_S, "row 2: it has 1 values"),
        ("CSV", b"1,a\nx,b\n", I_S, 'row 2: `i`: "x" is not an Int32'),
        ("CSV", b"300,a\n", "i UInt8, s String", "row 1: `i`: 300 is outside UInt8"),
        ("CSV", b"1.239\n", "d Decimal(9, 2)", "has more than 2 digits after the point"),
        ("CSV", b'1,"a\n', I_S, "behind row 0: a quote is not closed"),
        ("CSV", b'1,"a"b\n', I_S, "text stands behind a value in quotes"),
        ("CSV", b"1,a\n2,\xff\n", I_S, "no UTF-8 text"),
        ("CSV", b"1,a\n2,\xc3", I_S, "no UTF-8 text"),
        ("CSV", b",1\n", "e Enum8('a' = 1), i Int8", "an Enum has no default"),
        ("CSVWithNames", b"i,i\n1,2\n", I_S, "the header has `i` twice"),
        ("CSVWithNames", b"id,name\n1,2\n", I_S, "none of the columns of the structure; did you mean"),
        ("TabSeparated", b"1\tx\r\n", I_S, "CR LF"),
        ("TabSeparated", b"1\tx\\", I_S, "ends with a backslash"),
        ("TabSeparated", b"1\t\\xff\n", I_S, "a byte that is no text"),
        ("TabSeparated", b"1\n", I_S, "it has 1 values"),
        ("JSONEachRow", b'{"i":1', I_S, "the file ends within an object"),
        ("JSONEachRow", b'[{"i":1},', I_S, "the file ends within an array"),
        ("JSONEachRow", b'{"i":1} x', I_S, "an object is expected, and not 'x'"),
        ("JSONEachRow", b'{"i":1.5}', I_S, "row 1: `i`: 1.5 is not an Int32"),
        ("JSONEachRow", b'{"i":1}{"i":1,"i":2}', I_S, "row 2: an object has the same key twice"),
        ("JSONEachRow", b'{"i":}', I_S, "not JSON"),
        ("JSONEachRow", b"<html>", I_S, "an object is expected"),
        ("JSONEachRow", b'{"t":1577934245}', "t DateTime64(3)", "row 1: `t`: 1577934245 may be seconds or parts"),
        ("JSONEachRow", b'{"t":{"k":[null,0]}}', "t Map(String, Array(Nullable(DateTime64(6))))", "0 may be seconds"),
        ("JSONEachRow", b'{"t":{"b":-1}}', "t Tuple(a Int8, b DateTime64(9))", "-1 may be seconds"),
        ("CSV", b'"[1577934245]"\n', "t Array(DateTime64(3))", "1577934245 may be seconds"),
    ],
)
def test_what_is_wrong_is_told_with_its_row(
    tmp_path: Path, file_format: FileFormat, content: bytes, structure: str, told: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UnreadableSource) as refused:
        read(path, file_format, structure)
    assert told in str(refused.value)


@pytest.mark.parametrize("used", ["i", "s"])
@pytest.mark.parametrize("content", [b"i,s\n1,x\n", b"i,s,more\n1,x,2\n", b"1,x\n"])
def test_columns_that_are_not_used_do_not_matter(
    clickhouse: Session, tmp_path: Path, content: bytes, used: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    expected = rows_of_clickhouse(clickhouse, path, "CSV", I_S, [used])
    assert read(path, "CSV", I_S, [used]) == expected


@given(
    text=some.text('a",\n\r\t\\N{}[ ', max_size=40),
    cuts=some.lists(some.integers(0, 40), max_size=6),
)
def test_records_do_not_depend_on_the_parts_in_which_they_come(text: str, cuts: list[int]) -> None:
    places = sorted({0, *cuts, len(text)})
    parts = [text[start:end] for start, end in itertools.pairwise(places)]
    for records in (csv_records, tsv_records, json_objects):
        assert outcome(records, parts) == outcome(records, [text])


@pytest.mark.parametrize("text", ['"' + '""' * 2**23, "x" * (2**24), "[" + '{"a":"' + "\\\\" * 2**23])
def test_a_record_without_an_end_is_given_up(text: str) -> None:
    parts = [text[at : at + 2**20] for at in range(0, len(text), 2**20)]
    records = json_objects if text[0] == "[" else csv_records
    began = time.monotonic()
    with pytest.raises(BrokenFile) as refused:
        list(records(iter(parts)))
    assert "a record has more than 8388608 characters" in str(refused.value)
    assert time.monotonic() - began < 20


def outcome(records: object, parts: list[str]) -> object:
    found: list[object] = []
    try:
        for each in records(iter(parts)):  # type: ignore[operator]
            found.append(each)
    except BrokenFile:
        found.append("broken")
    return found


TABLE = pa.table(
    {
        **{f"i{bits}": pa.array([1, None], getattr(pa, f"int{bits}")()) for bits in (8, 16, 32, 64)},
        **{f"u{bits}": pa.array([2**bits - 1, None], getattr(pa, f"uint{bits}")()) for bits in (8, 16, 32, 64)},
        "f": pa.array([0.1, None], pa.float32()),
        "d": pa.array([0.1, None]),
        "s": pa.array(["é", None]),
        "b": pa.array([b"ab", None]),
        "fb": pa.array([b"abcd", None], pa.binary(4)),
        "bo": pa.array([True, None]),
        "day": pa.array([dt.date(1931, 2, 3), None]),
        "ms": pa.array([1700000000123, None], pa.timestamp("ms")),
        "us": pa.array([-1, None], pa.timestamp("us", "Europe/Berlin")),
        "ns": pa.array([-1700000000123456789, None], pa.timestamp("ns")),
        "dec": pa.array([Decimal("-1.23"), None], pa.decimal128(10, 2)),
        "li": pa.array([[1, None], None], pa.list_(pa.int32())),
        "ll": pa.array([[["x"], []], [None]], pa.list_(pa.list_(pa.string()))),
        "st": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": None}]),
        "mp": pa.array([[("k", 1)], [("l", None)]], pa.map_(pa.string(), pa.int64())),
        "dic": pa.array(["q", None]).dictionary_encode(),
    }
).append_column(pa.field("req", pa.int64(), nullable=False), pa.array([5, 6]))


def test_a_parquet_file_has_the_columns_that_clickhouse_infers(clickhouse: Session, tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(TABLE, path)
    described = str(clickhouse.query(f"DESCRIBE file('{path}', Parquet)", "JSONEachRow").data())
    expected = {each["name"]: " ".join(each["type"].split()) for each in map(json.loads, described.splitlines())}
    found = parquet_columns(LocalFile(path, "Parquet", "none", MANY))
    shown = {name: str(of).replace("Tuple(a", "Tuple( a") for name, of in found.types.items()}
    assert shown == expected
    assert not found.unreadable


def test_a_parquet_file_has_the_values_that_clickhouse_reads(clickhouse: Session, tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(TABLE, path)
    file = LocalFile(path, "Parquet", "none", MANY)
    types = parquet_columns(file).types
    batches = file_batches(file, [*types.items()], [*types])
    rows = [row for batch in batches for row in batch.to_pylist()]
    times = {"ms": "toUnixTimestamp64Micro(CAST(ms AS Nullable(DateTime64(6))))", "us": "toUnixTimestamp64Micro(us)"}
    listed = ", ".join(f"{times.get(name, name)} AS {name}_" for name in types if name != "ns")
    call = f"file('{path}', Parquet)"
    options = "output_format_json_quote_64bit_integers=0"
    answer = str(
        clickhouse.query(
            f"SELECT {listed}, toString(toUnixTimestamp64Nano(ns)) AS ns_ FROM {call} SETTINGS {options}", "JSONEachRow"
        ).data()
    )
    expected = [{name[:-1]: value for name, value in json.loads(line).items()} for line in answer.splitlines()]
    for row in rows:
        for name in ("ms", "us"):
            row[name] = row[name] and round(row[name].timestamp() * 1_000_000)
        row["ns"] = str(int(row["ns"].scaleb(9))) if row["ns"] is not None else None
        row["f"] = row["f"] and round(row["f"], 7)
    assert [_shown(row) for row in rows] == expected


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pa.array([b"\xff"]), "`x` cannot be kept: Invalid UTF8"),
        (pa.array([200_000], pa.date32()), "outside of the years 1900 to 2299"),
        (pa.array([10**18], pa.timestamp("us")), "outside of the years 1900 to 2299"),
        (pa.array([None], pa.struct([("a", pa.int8())])), "a Tuple cannot be"),
    ],
)
def test_a_value_that_no_type_has_is_an_error(tmp_path: Path, column: pa.Array, told: str) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"x": column}), path)
    file = LocalFile(path, "Parquet", "none", MANY)
    with pytest.raises(UnreadableSource) as refused:
        list(file_batches(file, [*parquet_columns(file).types.items()], ["x"]))
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("structure", "told"),
    [
        ("i64 Int32", "the column `i64` is Nullable(Int64) in the file, and Int32 was expected"),
        ("i65 Int64", "the file has no column `i65`; did you mean"),
        ("us DateTime64(3)", "is Nullable(DateTime64(6, 'UTC')) in the file"),
    ],
)
def test_a_structure_must_be_that_of_the_file(tmp_path: Path, structure: str, told: str) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(TABLE, path)
    with pytest.raises(UnreadableSource) as refused:
        read(path, "Parquet", structure)
    assert told in str(refused.value)


def test_a_structure_without_null_takes_the_default_for_it(clickhouse: Session, tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(TABLE, path)
    structure = "i64 Int64, s LowCardinality(String), dec Decimal(10, 2), li Array(Int32)"
    used = ["i64", "s", "dec"]
    assert read(path, "Parquet", structure, used) == rows_of_clickhouse(clickhouse, path, "Parquet", structure, used)


@pytest.mark.parametrize("end", [0, 3, 100, -1])
def test_a_parquet_file_that_is_cut_off_is_an_error(tmp_path: Path, end: int) -> None:
    whole, path = tmp_path / "whole", tmp_path / "file.parquet"
    pq.write_table(TABLE, whole)
    path.write_bytes(whole.read_bytes()[:end])
    with pytest.raises(UnreadableSource) as refused:
        parquet_columns(LocalFile(path, "Parquet", "none", MANY))
    assert "no whole Parquet file" in str(refused.value)
