from __future__ import annotations

import bz2
import datetime as dt
import decimal
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from penstock.cli.row_files import row_file
from penstock.cli.row_files.json_lists import divide_list
from penstock.cli.row_files.parquet_parts import divide_parquet
from penstock.cli.row_files.row_file import open_row_file
from penstock.errors import InvalidRequest

TABLE = pa.table(
    {
        "id": pa.array(range(20_000), pa.uint64()),
        "price": pa.array([decimal.Decimal(n) / 1000 if n % 7 else None for n in range(20_000)], pa.decimal128(20, 3)),
        "at": pa.array([n * 1_000_000_007 for n in range(20_000)], pa.timestamp("ns", "UTC")),
        "day": pa.array([dt.date(2026, 1, 1 + n % 28) for n in range(20_000)]),
        "name": pa.array([f"näme {n % 40}" for n in range(20_000)]).dictionary_encode(),
        "tags": pa.array([[str(n)] * (n % 4) for n in range(20_000)], pa.list_(pa.string())),
        "of": pa.array([{"a": n, "b": None} for n in range(20_000)], pa.struct({"a": pa.int64(), "b": pa.string()})),
    }
)


def _packed() -> bytes:
    packed = io.BytesIO()
    parquet.write_table(TABLE, packed, row_group_size=6_000)
    return packed.getvalue()


@pytest.mark.parametrize("name", ["rows.parquet", "rows.parquet.gz"])
def test_a_large_parquet_file_is_sent_as_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With the same values and types, in the same order."""
    monkeypatch.setattr(row_file, "BYTES_A_BODY", 50_000)
    (tmp_path / name).write_bytes(gzip.compress(_packed()) if name.endswith("gz") else _packed())
    with open_row_file(tmp_path / name) as opened:
        bodies = list(opened.bodies())
    assert len(bodies) > 3
    assert max(map(len, bodies)) < 400_000
    parts = [parquet.read_table(io.BytesIO(body)) for body in bodies]
    assert {part.schema for part in parts} == {parquet.read_table(io.BytesIO(_packed())).schema}
    assert pa.concat_tables(parts).to_pylist() == TABLE.to_pylist()


def test_a_small_parquet_file_is_sent_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(_packed())
    with open_row_file(tmp_path / "rows") as opened:
        assert list(opened.bodies()) == [_packed()]


def test_wide_rows_of_parquet_are_divided_before_they_are_written() -> None:
    packed = io.BytesIO()
    letters = [chr(0x4E00 + n * 37 % 9_000) * 3_000 for n in range(2_000)]
    parquet.write_table(pa.table({"text": letters}), packed, compression="none", use_dictionary=False)
    parts = list(divide_parquet(packed, 1_000_000))
    assert sum(parquet.read_metadata(io.BytesIO(part)).num_rows for part in parts) == 2_000
    assert max(map(len, parts)) < 3_000_000


def test_a_parquet_file_without_rows_is_one_part() -> None:
    packed = io.BytesIO()
    parquet.write_table(TABLE.slice(0, 0), packed)
    assert [parquet.read_table(io.BytesIO(part)).num_rows for part in divide_parquet(packed, 10)] == [0]


@pytest.mark.parametrize("form", ["csv", "ndjson", "json"])
def test_a_parquet_file_is_not_read_as_text(tmp_path: Path, form: row_file.RowFormat) -> None:
    (tmp_path / "rows.csv").write_bytes(_packed())
    with (
        pytest.raises(InvalidRequest, match=f"is a Parquet file, and no {form}"),
        open_row_file(tmp_path / "rows.csv", form),
    ):
        pass


def test_what_is_said_of_no_csv_is_no_advice_for_programmers(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"id,name\n1,a\rb\n")
    with open_row_file(tmp_path / "rows.csv") as opened, pytest.raises(InvalidRequest, match="no CSV") as refused:
        list(opened.bodies())
    assert "universal" not in str(refused.value)
    assert "newline=" not in str(refused.value)


def test_a_damaged_parquet_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_file, "BYTES_A_BODY", 50_000)
    (tmp_path / "rows").write_bytes(_packed()[:-20])
    with open_row_file(tmp_path / "rows") as opened, pytest.raises(InvalidRequest, match="is damaged"):
        list(opened.bodies())


VALUES = [{"a": [1, {"b": ']},[\\" \n'}], "ü": 12345678901234567890.5}, "x,y", [], 7, {"c": "\\"}]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("most", [1, 10, 40, 100])
def test_a_list_of_json_is_sent_as_several(indent: int | None, most: int) -> None:
    document = ("\ufeff \n" + json.dumps(VALUES * 3, indent=indent) + "\n").encode()
    parts = list(divide_list(document, most))
    assert len(parts) > 1
    assert [value for part in parts for value in json.loads(part)] == VALUES * 3


@pytest.mark.parametrize(
    "document", [b"[1, 2}", b"[1, 2", b"[1, 2] 3", b"[1, 2,]", b'{"a": [1, 2]}', b'[1, "2]', b"[1, {]}"]
)
def test_what_is_no_list_is_sent_as_it_is(document: bytes) -> None:
    assert list(divide_list(document, 2)) == [document]


def test_every_digit_of_a_list_is_kept() -> None:
    assert list(divide_list(b"[1.10, 1e400, 0.1000]", 4)) == [b"[1.10]", b"[ 1e400]", b"[ 0.1000]"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bz2.compress, lzma.compress])
def test_a_packed_file_that_is_cut_off_is_damaged(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Its rows before the cut look like the rows of a whole file."""
    packed = pack(b"\n".join(b'{"a": %d}' % (number * 7919) for number in range(100_000)))
    for kept in (len(packed) // 2, len(packed) - 1):
        (tmp_path / "rows").write_bytes(packed[:kept])
        with (
            pytest.raises(InvalidRequest, match=r"is damaged|cannot be read"),
            open_row_file(tmp_path / "rows") as opened,
        ):
            list(opened.bodies())
