"""The files of a run: each row in one of them, read once, and whole however it is packed."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import pytest
import zstandard

from penstock.deploy.sinks.sink_files import spool_files
from penstock.lake.read import packed_rows
from penstock.lake.read.packed_rows import CHUNK_ROWS, PackedRows
from penstock.lake.read.query_execution import QueryResult
from penstock.model.pipe import FileCompression, FileTarget
from penstock.model.types import Int, String

COLUMNS = (("id", Int(64)), ("name", String()))
UNPACK = {"none": bytes, "gzip": gzip.decompress, "zstd": lambda packed: zstandard.decompress(packed, 2**20)}


def answer(count: int) -> QueryResult:
    rows = PackedRows()
    for number in range(count):
        rows.append((number, f"name {number % 3}"))
    return QueryResult(COLUMNS, rows, 0.0, 0, 0)


def spooled(folder: Path, template: str, compression: FileCompression, count: int) -> dict[str, list[object]]:
    target = FileTarget(str(folder), template, "ndjson", compression)
    return {
        made.name: [json.loads(line) for line in UNPACK[compression]((folder / made.file).read_bytes()).splitlines()]
        for made in spool_files(folder, target, answer(count))
    }


def test_rows_are_unpacked_a_few_times_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk was unpacked for each of its rows once: a hundred thousand rows held the server up for an hour."""
    chunks, loads, unpacked = 6, pickle.loads, list[int]()
    monkeypatch.setattr(packed_rows.pickle, "loads", lambda data: unpacked.append(1) or loads(data))
    found = spooled(tmp_path, "{name}", "none", chunks * CHUNK_ROWS)
    assert {name: len(rows) for name, rows in found.items()} == {
        f"name {number}.ndjson": chunks * CHUNK_ROWS // 3 for number in range(3)
    }
    assert [row["id"] for row in found["name 1.ndjson"]] == list(range(1, chunks * CHUNK_ROWS, 3))  # type: ignore
    assert len(unpacked) < 5 * chunks


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("count", [0, 1, 1200])
def test_a_packed_file_can_be_unpacked_also_without_rows(
    tmp_path: Path, compression: FileCompression, count: int
) -> None:
    [rows] = spooled(tmp_path, "all", compression, count).values()
    assert rows == [{"id": number, "name": f"name {number % 3}"} for number in range(count)]
    if compression == "gzip":
        assert (tmp_path / "0.part").read_bytes()[:2] == b"\x1f\x8b"
