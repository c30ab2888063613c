"""CSV and Parquet files on a real pipeline: exact values, quarantine, once under a key, and replaced as a whole."""

from __future__ import annotations

import decimal
import io

import pyarrow as pa
from pyarrow import parquet

from deploy.conftest import Running
from penstock.deploy.ingest.row_files.csv_rows import CsvForm
from penstock.deploy.ingest.row_files.file_ingestion import ParquetForm
from waiting import wait_until

SCHEMA = "`id` UInt64, `d` Decimal(20, 3), `at` DateTime64(9), `tags` Array(String), `m` Map(String, Nullable(Int32))"
FILES = {"rf_items.datasource": f"SCHEMA >\n    {SCHEMA}\nENGINE MergeTree\n"}
ALL = "SELECT id, toString(d), toString(at), tags, m['k'] FROM rf_items ORDER BY id"
CSV = (
    b"id,at,d,tags,m\n"
    b"18446744073709551615,2024-01-02 03:04:05.123456789,12345678901234567.891,\"['a','b,c']\",{'k':1}\n"
    b"x,2024-01-02 03:04:05,1,[],{}\n"
)


def rows(running: Running, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in running.pipeline.reader.sql(sql, "live").rows]


def test_files_of_rows(running: Running) -> None:
    assert running.deploy(FILES).state == "live"
    files, ingestion = running.pipeline.files, running.pipeline.ingestion
    for _ in range(2):
        receipt = ingestion.wait(files.append("rf_items", CSV, CsvForm(), "one"), 60)
        assert (receipt.successful_rows, receipt.quarantined_rows) == (1, 1)
    expected = (2**64 - 1, "12345678901234567.891", "2024-01-02 03:04:05.123456789", ["a", "b,c"], 1)
    assert [(*row[:3], list(row[3]), row[4]) for row in rows(running, ALL)] == [expected]  # type: ignore[call-overload]
    # The quarantine is committed after the rows that fit.
    wait_until(lambda: rows(running, "SELECT count() FROM rf_items_quarantine") == [(1,)])
    table = pa.table(
        {
            "id": pa.array([7, 8], pa.uint64()),
            "d": pa.array([decimal.Decimal("0.001"), decimal.Decimal("-1")]),
            "at": pa.array([1_700_000_000_123_456_789, 0], pa.timestamp("ns")),
            "tags": pa.array([["x"], []]),
            "m": pa.array([[("k", None)], [("k", 5)]], pa.map_(pa.string(), pa.int32())),
        }
    )
    file = io.BytesIO()
    parquet.write_table(table, file)
    ingestion.wait(files.replace("rf_items", file.getvalue(), ParquetForm(), "two"), 60)
    found = [(*row[:3], list(row[3]), row[4]) for row in rows(running, ALL)]  # type: ignore[call-overload]
    assert found == [
        (7, "0.001", "2023-11-14 22:13:20.123456789", ["x"], None),
        (8, "-1", "1970-01-01 00:00:00.000000000", [], 5),
    ]
