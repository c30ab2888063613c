"""The metadata of moved tables: only paths change, and what cannot be moved is refused before anything is."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import fastavro
import orjson
import pytest
import zstandard

from penstock.errors import Conflict, Failed
from penstock.lake.storage.avro_files import MAGIC, SYNC_BYTES, AvroFile, read_avro, write_avro
from penstock.lake.storage.local_paths import FolderMove
from penstock.lake.storage.relocation import relocate_tables
from penstock.lake.storage.sql_catalog import SqlCatalogRows, open_sql_catalog
from penstock.lake.storage.table_metadata import POSITION_DELETES, data_file, read_metadata
from penstock.model.settings import Settings

FORMER = Path(__file__).parents[3] / "former_release" / "folder.tar.gz"
OLD = Path("/srv/former/.penstock/warehouse")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with tarfile.open(FORMER) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / ".penstock"


@pytest.fixture
def catalog(home: Path) -> SqlCatalogRows:
    found = open_sql_catalog(Settings(), home)
    assert found is not None
    return found


def avro_files(home: Path) -> list[Path]:
    return sorted((home / "warehouse").rglob("*.avro"))


def test_records_that_are_written_again_are_the_same_bytes(home: Path, tmp_path: Path) -> None:
    """Also those with decimals, dates and maps: a reader with logical types sees the same."""
    for path in avro_files(home):
        content = read_avro(path)
        write_avro(tmp_path / "again.avro", content)
        assert read_avro(tmp_path / "again.avro") == content
        with path.open("rb") as old, (tmp_path / "again.avro").open("rb") as new:
            assert list(fastavro.reader(old)) == list(fastavro.reader(new))


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_every_codec_that_iceberg_writes_is_read(home: Path, tmp_path: Path, codec: str) -> None:
    path = next(each for each in avro_files(home) if each.name.startswith("snap-"))
    with path.open("rb") as file, (tmp_path / "other.avro").open("wb") as other:
        reader = fastavro.reader(file)
        assert reader.writer_schema is not None
        fastavro.writer(other, reader.writer_schema, reader, codec=codec)
    assert read_avro(tmp_path / "other.avro").records == read_avro(path).records


def test_zstandard_is_read(tmp_path: Path) -> None:
    schema, number = fastavro.parse_schema({"type": "record", "name": "r", "fields": []}), fastavro.parse_schema("long")
    block = zstandard.compress(b"")
    with (tmp_path / "x.avro").open("wb") as file:
        file.write(MAGIC)
        header = {"avro.schema": orjson.dumps(schema), "avro.codec": b"zstandard"}
        fastavro.schemaless_writer(file, fastavro.parse_schema({"type": "map", "values": "bytes"}), header)
        file.write(b"s" * SYNC_BYTES)
        for value in (3, len(block)):
            fastavro.schemaless_writer(file, number, value)
        file.write(block + b"s" * SYNC_BYTES)
    assert read_avro(tmp_path / "x.avro").records == ({}, {}, {})


@pytest.mark.parametrize("content", [b"", b"Obj\x01", b"no avro at all", b"Obj\x01\x02"])
def test_a_damaged_file_is_told_with_its_path(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.avro").write_bytes(content)
    with pytest.raises(Failed, match=r"x\.avro is damaged"):
        read_avro(tmp_path / "x.avro")


def test_lengths_of_manifests_are_those_of_the_new_files(home: Path, catalog: SqlCatalogRows) -> None:
    """Iceberg reads as many bytes as the list says."""
    relocate_tables(catalog, FolderMove(OLD, home / "warehouse"))
    for path in avro_files(home):
        for record in read_avro(path).records:
            if "manifest_path" in record:
                manifest = Path(str(record["manifest_path"]).removeprefix("file:"))
                assert manifest.is_relative_to(home)
                assert manifest.stat().st_size == record["manifest_length"]


def test_compressed_metadata_stays_compressed(home: Path, catalog: SqlCatalogRows) -> None:
    table = catalog.read().tables[0]
    path = Path(table.metadata.removeprefix("file:").replace(str(OLD), str(home / "warehouse")))
    path.write_bytes(gzip.compress(path.read_bytes()))
    relocate_tables(catalog, FolderMove(OLD, home / "warehouse"))
    moved = read_metadata(catalog.read().tables[0].metadata)
    assert moved.packed
    assert moved.document["location"] == f"file://{home}/warehouse/penstock/{table.name}"


def test_deletes_that_name_files_by_path_are_refused_and_nothing_is_changed(
    home: Path, catalog: SqlCatalogRows
) -> None:
    path = next(each for each in avro_files(home) if each.name.endswith("-m0.avro") and "events__d1" in str(each))
    found = read_avro(path)
    deletes = tuple({**each, "data_file": {**data_file(each), "content": POSITION_DELETES}} for each in found.records)
    write_avro(path, AvroFile(found.header, deletes))
    before = (catalog.read(), [each.read_bytes() for each in avro_files(home)])
    with pytest.raises(Conflict, match="events__d1 has deletes"):
        relocate_tables(catalog, FolderMove(OLD, home / "warehouse"))
    assert (catalog.read(), [each.read_bytes() for each in avro_files(home) if not each.name.startswith(".")]) == before
