"""Iceberg tables in a bucket: rows as ClickHouse reads them, of one snapshot; what cannot be read is refused."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from pyiceberg import types as i
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record

from penstock.deploy.external.iceberg.iceberg_tables import IcebergTables
from penstock.deploy.external.web_client import WebClient
from penstock.errors import Failed
from penstock.model.external_tables import Bucket, BucketLogin, ExternalColumns, IcebergTable, UnreadableTable
from penstock.model.settings import CopySettings
from penstock.sql.query import ExternalRead

OWN = CopySettings(private_hosts=("127.0.0.1",))
F = i.NestedField
EVERY = Schema(
    F(1, "b", i.BooleanType(), required=True),
    F(2, "i", i.IntegerType()),
    F(3, "l", i.LongType(), required=True),
    F(4, "f", i.FloatType()),
    F(5, "d", i.DoubleType()),
    F(6, "day", i.DateType()),
    F(7, "ts", i.TimestampType()),
    F(8, "tz", i.TimestamptzType(), required=True),
    F(9, "s", i.StringType()),
    F(10, "bin", i.BinaryType()),
    F(11, "u", i.UUIDType()),
    F(12, "fx", i.FixedType(4)),
    F(13, "dec", i.DecimalType(20, 4)),
    F(14, "li", i.ListType(31, i.IntegerType(), element_required=False)),
    F(15, "m", i.MapType(32, i.StringType(), 33, i.LongType(), value_required=False)),
    F(
        16,
        "st",
        i.StructType(F(34, "x", i.IntegerType()), F(35, "y", i.StringType(), required=True)),
        required=True,
    ),
)
AT = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
ROW: dict[str, object] = {
    "b": True,
    "i": -(2**31),
    "l": 2**63 - 1,
    "f": 0.5,
    "d": 0.1,
    "day": dt.date(1931, 2, 3),
    "ts": AT,
    "tz": AT.replace(tzinfo=dt.timezone.utc),
    "s": "é",
    "bin": b"ab",
    "u": UUID(int=5).bytes,
    "fx": b"abcd",
    "dec": Decimal("-1234567890123456.7891"),
    "li": [1, None],
    "m": {"k": None},
    "st": {"x": None, "y": "q"},
}
NULLS = {**ROW, **dict.fromkeys(field.name for field in EVERY.fields if field.optional)}


class Lake:
    """Tables of a catalog of Iceberg, in a bucket of an S3 server."""

    def __init__(self, endpoint: str, folder: Path):
        self.bucket = Bucket(endpoint, "lake", "us-east-1", False, BucketLogin("any", "geheim"))
        login = {"aws_access_key_id": "any", "aws_secret_access_key": "geheim"}
        self.client = boto3.client("s3", region_name="us-east-1", endpoint_url=endpoint, **login)
        self.client.create_bucket(Bucket="lake")
        s3 = {"s3.endpoint": endpoint, "s3.access-key-id": "any", "s3.secret-access-key": "geheim"}
        where = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": "s3://lake/wh", "s3.region": "us-east-1"}
        self.catalog = SqlCatalog("lake", **s3, **where)
        self.catalog.create_namespace("n")

    def of(self, table: Table) -> IcebergTable:
        return IcebergTable("iceberg", table.location().removeprefix("s3://lake/"), self.bucket)

    def metadata_key(self, table: Table) -> str:
        return table.metadata_location.removeprefix("s3://lake/")

    def object(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket="lake", Key=key)["Body"].read()
        return content

    def rewrite_metadata(self, table: Table, change: Callable[[dict[str, object]], object]) -> None:
        """Change what the newest metadata says."""
        key = self.metadata_key(table)
        told = json.loads(self.object(key))
        change(told)
        self.client.put_object(Bucket="lake", Key=key, Body=json.dumps(told).encode())


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield Lake(f"http://{host}:{port}", tmp_path_factory.mktemp("lake"))
    server.stop()


def read(
    folder: Path, table: IcebergTable, used: tuple[str, ...], settings: CopySettings = OWN
) -> tuple[ExternalColumns, list[dict[str, object]]]:
    """The columns and the rows, as a copy reads them. Nothing is left of it."""
    with closing(WebClient(settings, lambda: False)) as client:
        with closing(IcebergTables(folder / "7.ndjson", lambda: False, client)) as tables:
            columns = tables.columns(table)
            found = tables.read(ExternalRead("x", table, frozenset(used)))
            rows: list[dict[str, object]] = pq.read_table(found.path).to_pylist()
            assert found.rows == len(rows)
        assert not [*folder.iterdir()], "no file of it is left"
    return columns, rows


def ids(folder: Path, table: IcebergTable) -> list[object]:
    return sorted((row["id"] for row in read(folder, table, ("id",))[1]), key=str)


def refusal(folder: Path, table: IcebergTable, settings: CopySettings = OWN) -> str:
    with pytest.raises((Failed, UnreadableTable)) as refused:
        read(folder, table, ("id",), settings)
    assert "geheim" not in str(refused.value)
    assert table.place in str(refused.value)
    return str(refused.value)


def clickhouse(table: IcebergTable, query: str) -> list[list[object]]:
    """The rows that ClickHouse answers of the same table, in a process of its own: the S3 server is in this one."""
    at = f"icebergS3('{table.bucket.endpoint}/lake/{table.place}/', 'any', 'geheim')"
    text = query.replace("TABLE", at) + " SETTINGS output_format_json_quote_64bit_integers = 0"
    code = "import sys, chdb; sys.stdout.write(str(chdb.query(sys.argv[1], 'JSONCompactEachRow')))"
    answer = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, timeout=300, check=True)
    return [json.loads(line) for line in answer.stdout.splitlines() if line]


def numbered(lake: Lake, name: str, spec: PartitionSpec | None = None, **properties: str) -> Table:
    """A table of numbers and words, without rows."""
    schema = Schema(F(1, "id", i.LongType()), F(2, "word", i.StringType()))
    given = {"format-version": "2", **properties}
    return lake.catalog.create_table(f"n.{name}", schema, partition_spec=spec or PartitionSpec(), properties=given)


def append(table: Table, *numbers: int, word: str = "a") -> None:
    rows = [{"id": number, "word": word} for number in numbers]
    table.append(pa.Table.from_pylist(rows, pa.schema([("id", pa.int64()), ("word", pa.string())])))


def test_types_and_values_are_those_of_clickhouse(lake: Lake, tmp_path: Path) -> None:
    table = lake.catalog.create_table("n.every", EVERY)
    table.append(pa.Table.from_pylist([ROW, NULLS], schema=table.schema().as_arrow()))
    names = tuple(field.name for field in EVERY.fields)
    columns, rows = read(tmp_path, lake.of(table), names)
    assert rows[0] == {**ROW, "bin": "ab", "u": str(UUID(int=5)), "fx": "abcd", "m": [("k", None)], "ts": ROW["tz"]}
    assert rows[1] == {**rows[0], **dict.fromkeys(names[1:2] + names[3:7] + names[8:13]), "li": [], "m": []}
    shown = "toString(dec), toString(u), toUnixTimestamp64Micro(assumeNotNull(ts)), li, m['k'], st.y"
    micro = int((AT - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1))
    expected = ["-1234567890123456.7891", rows[0]["u"], micro, [1, None], None, "q"]
    types = ", ".join(f"toTypeName({name})" for name in names)
    (told,) = clickhouse(lake.of(table), f"SELECT {types}, {shown} FROM TABLE WHERE i IS NOT NULL")
    as_told = [" ".join(str(of).split()).replace("( ", "(") for of in told[: len(names)]]
    assert [str(columns.types[name]) for name in names] == as_told
    assert told[len(names) :] == expected


def test_only_used_columns_are_written_and_rows_are_counted_without_one(lake: Lake, tmp_path: Path) -> None:
    table = numbered(lake, "used")
    assert read(tmp_path, lake.of(table), ("id",))[1] == []
    append(table, 1, 2)
    assert read(tmp_path, lake.of(table), ("word",))[1] == [{"word": "a"}, {"word": "a"}]
    assert len(read(tmp_path, lake.of(table), ())[1]) == 2


def test_columns_that_changed_are_those_of_today(lake: Lake, tmp_path: Path) -> None:
    schema = Schema(F(1, "id", i.IntegerType()), F(2, "old", i.StringType()), F(3, "gone", i.StringType()))
    table = lake.catalog.create_table("n.changed", schema)
    table.append(pa.Table.from_pylist([{"id": 1, "old": "x", "gone": "y"}], schema=table.schema().as_arrow()))
    with table.update_schema() as update:
        update.update_column("id", i.LongType())
        update.rename_column("old", "new")
        update.delete_column("gone")
        update.add_column("added", i.StringType())
    with table.update_schema() as update:
        update.add_column("gone", i.LongType())
    row = {"id": 2**40, "new": "z", "added": "q", "gone": 7}
    table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))
    rows = read(tmp_path, lake.of(table), ("id", "new", "added", "gone"))[1]
    expected = [{"id": 1, "new": "x", "added": None, "gone": None}, row]
    assert sorted(rows, key=lambda each: str(each["new"])) == expected
    assert {row["added"] for row in read(tmp_path, lake.of(table), ("added",))[1]} == {None, "q"}
    told = clickhouse(lake.of(table), "SELECT id, new, added, gone FROM TABLE ORDER BY new")
    assert told == [[*each.values()] for each in expected]


class DeleteManifest(ManifestWriterV2):
    """Writes a manifest of delete files, which PyIceberg only reads."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def delete_rows(lake: Lake, table: Table, content: DataFileContent, rows: list[dict[str, object]]) -> None:
    """Commit a delete file to a table, as Spark and Flink do: beside its catalog, since nothing else reads it."""
    ids_of = {"file_path": "2147483546", "pos": "2147483545", "id": "1"}
    fields = [
        pa.field(name, pa.array([value]).type, False, {"PARQUET:field_id": ids_of[name]})
        for name, value in rows[0].items()
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), sink)
    told = json.loads(lake.object(lake.metadata_key(table)))
    number, at = told["last-sequence-number"] + 1, f"{table.location()}/metadata/deletes"
    with table.io.new_output(f"{at}.parquet").create() as stream:
        stream.write(sink.getvalue().to_pybytes())
    file = DataFile.from_args(
        content=content,
        file_path=f"{at}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(rows),
        file_size_in_bytes=len(sink.getvalue()),
        equality_ids=[1] if content == DataFileContent.EQUALITY_DELETES else None,
    )
    file.spec_id = 0
    snapshot = table.current_snapshot()
    assert snapshot is not None
    with DeleteManifest(table.spec(), table.schema(), table.io.new_output(f"{at}.avro"), 7, "null") as writer:
        entry = {"status": ManifestEntryStatus.ADDED, "snapshot_id": 7, "data_file": file}
        writer.add_entry(ManifestEntry.from_args(**entry))
    output = table.io.new_output(f"{at}-list.avro")
    with write_manifest_list(2, output, 7, snapshot.snapshot_id, number, "null") as manifests:
        manifests.add_manifests([*snapshot.manifests(table.io), writer.to_manifest_file()])
    made = {**told["snapshots"][-1], "snapshot-id": 7, "parent-snapshot-id": snapshot.snapshot_id}
    made |= {"sequence-number": number, "manifest-list": f"{at}-list.avro", "summary": {"operation": "delete"}}
    told["snapshots"].append(made)
    told |= {"current-snapshot-id": 7, "last-sequence-number": number}
    told["refs"]["main"]["snapshot-id"] = 7
    key = f"{table.location()}/metadata/{10000 + number}-x.metadata.json".removeprefix("s3://lake/")
    lake.client.put_object(Bucket="lake", Key=key, Body=json.dumps(told).encode())


def test_deleted_rows_are_not_read(lake: Lake, tmp_path: Path) -> None:
    table = numbered(lake, "deleted")
    append(table, 1, 2, 3, 4)
    append(table, *range(5, 10))
    (path,) = (task.file.file_path for task in table.scan().plan_files() if task.file.record_count == 4)
    (other,) = (task.file.file_path for task in table.scan().plan_files() if task.file.record_count == 5)
    places = sorted([(path, 0), (path, 3), (other, 4)])
    deleted: list[dict[str, object]] = [{"file_path": file, "pos": row} for file, row in places]
    delete_rows(lake, table, DataFileContent.POSITION_DELETES, deleted)
    assert ids(tmp_path, lake.of(table)) == [2, 3, 5, 6, 7, 8]
    assert clickhouse(lake.of(table), "SELECT id FROM TABLE ORDER BY id") == [[2], [3], [5], [6], [7], [8]]


def test_rows_that_are_deleted_by_their_values_are_refused(lake: Lake, tmp_path: Path) -> None:
    table = numbered(lake, "equal")
    append(table, 1, 2)
    delete_rows(lake, table, DataFileContent.EQUALITY_DELETES, [{"id": 2}])
    assert "it has equality deletes, which are not read" in refusal(tmp_path, lake.of(table))


def data_files(table: Table) -> list[str]:
    return sorted(task.file.file_path for task in table.scan().plan_files())


def test_a_table_that_was_partitioned_rewritten_and_moved_is_read(lake: Lake, tmp_path: Path) -> None:
    by_word = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "word"))
    table = numbered(lake, "parts", by_word)
    append(table, 1, 2, word="a b/é")
    append(table, 3, 4, 5, word="c")
    table.delete("id = 4")
    assert ids(tmp_path, lake.of(table)) == [1, 2, 3, 5]
    for entry in lake.client.list_objects_v2(Bucket="lake", Prefix="wh/n/parts/")["Contents"]:
        moved = f"moved/here/{entry['Key'].removeprefix('wh/n/parts/')}"
        lake.client.put_object(Bucket="lake", Key=moved, Body=lake.object(entry["Key"]))
        lake.client.delete_object(Bucket="lake", Key=entry["Key"])
    moved_table = IcebergTable("iceberg", "moved/here", lake.bucket)
    assert ids(tmp_path, moved_table) == [1, 2, 3, 5]
    assert clickhouse(moved_table, "SELECT id FROM TABLE ORDER BY id") == [[1], [2], [3], [5]]


def test_a_table_of_the_first_format_is_read(lake: Lake, tmp_path: Path) -> None:
    table = numbered(lake, "first", **{"format-version": "1"})
    append(table, 1, 2)
    assert table.metadata.format_version == 1
    assert ids(tmp_path, lake.of(table)) == [1, 2]


def test_what_came_after_the_columns_were_asked_for_is_not_read(lake: Lake, tmp_path: Path) -> None:
    table = numbered(lake, "moment")
    append(table, 1)
    client = closing(WebClient(OWN, lambda: False))
    with client as web, closing(IcebergTables(tmp_path / "7.ndjson", lambda: False, web)) as tables:
        tables.columns(lake.of(table))
        append(table, 2)
        assert tables.read(ExternalRead("x", lake.of(table), frozenset(("id",)))).rows == 1
    assert ids(tmp_path, lake.of(table)) == [1, 2]


def test_what_is_not_read_is_refused(lake: Lake, tmp_path: Path) -> None:
    table = numbered(lake, "third")
    append(table, 1)
    lake.rewrite_metadata(table, lambda told: told.update({"format-version": 3, "next-row-id": 1}))
    assert "it is of format version 3, and 1 and 2 can be read" in refusal(tmp_path, lake.of(table))
    nothing = IcebergTable("iceberg", "wh/n/nothing", lake.bucket)
    assert "there is no Iceberg table" in refusal(tmp_path, nothing)
    wrong = replace(nothing, bucket=replace(lake.bucket, name="other"))
    assert "the server answers 404 Not Found: NoSuchBucket" in refusal(tmp_path, wrong)
    own = refusal(tmp_path, nothing, CopySettings())
    assert "is an address of this machine" in own


def test_two_files_that_claim_to_be_the_newest_are_refused(lake: Lake, tmp_path: Path) -> None:
    table = numbered(lake, "twice")
    append(table, 1)
    folder, _, name = lake.metadata_key(table).rpartition("/")
    lake.client.put_object(Bucket="lake", Key=f"{folder}/{name[:6]}x.metadata.json", Body=b"{}")
    assert "both claim to be version 1, and only its catalog knows which is" in refusal(tmp_path, lake.of(table))


def test_a_table_cannot_name_files_elsewhere(lake: Lake, tmp_path: Path) -> None:
    table = numbered(lake, "away")
    append(table, 1)
    for place in ("file:///etc/passwd", "s3://other/snap.avro", "http://169.254.169.254/x", "/etc/passwd"):

        def away(told: dict[str, object], place: str = place) -> None:
            told["properties"] = {"py-io-impl": "no.such.module.IO"}
            told["snapshots"] = [{**each, "manifest-list": place} for each in told["snapshots"]]  # type: ignore[attr-defined]

        lake.rewrite_metadata(table, away)
        assert "names files outside of the bucket" in refusal(tmp_path, lake.of(table))


@pytest.mark.parametrize("kind", ["gone", "cut", "manifest", "metadata"])
def test_a_file_that_is_missing_or_damaged_is_an_error(lake: Lake, tmp_path: Path, kind: str) -> None:
    table = numbered(lake, f"broken_{kind}")
    append(table, *range(1000))
    (data,) = (each.removeprefix("s3://lake/") for each in data_files(table))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    (manifest,) = (each.manifest_path.removeprefix("s3://lake/") for each in snapshot.manifests(table.io))
    if kind == "gone":
        lake.client.delete_object(Bucket="lake", Key=data)
        assert "the server answers 404 Not Found: NoSuchKey" in refusal(tmp_path, lake.of(table))
        return
    key = {"cut": data, "manifest": manifest, "metadata": lake.metadata_key(table)}[kind]
    lake.client.put_object(Bucket="lake", Key=key, Body=lake.object(key)[:-200])
    assert "cannot be read" in refusal(tmp_path, lake.of(table))
