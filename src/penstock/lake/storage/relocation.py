"""Tell tables where they are, after the folder of the warehouse was moved or copied.

In: the rows of the catalog, and the move. Out: the same tables, whose metadata names the files where they are now;
data files are not touched. Invariant: only files inside the new folder are written, each as a new file that takes the
place of the old one, so a file that is shared with a copy by a hard link stays as it was there. After a crash it can
run again: what was done is found done.
"""

from __future__ import annotations

import gzip
import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson

from penstock.errors import Conflict
from penstock.lake.storage.avro_files import AvroFile, AvroRecord, read_avro, write_avro
from penstock.lake.storage.local_paths import FolderMove
from penstock.lake.storage.sql_catalog import CatalogTable, SqlCatalogRows
from penstock.lake.storage.table_metadata import (
    POSITION_DELETES,
    Json,
    TableMetadata,
    data_file,
    manifest_lists,
    read_metadata,
    require_local,
)

SUFFIX = ".moved"
log = logging.getLogger("penstock.lake")


def relocate_tables(catalog: SqlCatalogRows, move: FolderMove) -> int:
    """Rewrite the metadata of all tables, then the rows of the catalog. Returns the number of tables. Raises Conflict
    for a table that cannot be moved, Failed for damaged metadata, FileNotFoundError; then the catalog is unchanged."""
    began, rows = time.monotonic(), catalog.read()
    files = _Relocation(move)
    for table in rows.tables:
        files.relocate_table(table)
    files.put_in_place()
    catalog.write(rows.moved(move))
    took = time.monotonic() - began
    log.info("%d tables are at %s now: %d files rewritten in %.1f s", len(rows.tables), move.new, files.count, took)
    return len(rows.tables)


class _Relocation:
    """The new metadata files of all tables: written beside the old ones first, then all put in place."""

    def __init__(self, move: FolderMove):
        self._move = move
        self._sizes: dict[str, int] = {}
        """The new size of each manifest that was looked at, by its new location."""
        self._lists: set[str] = set()
        self._written: list[Path] = []

    @property
    def count(self) -> int:
        return len(self._written)

    def relocate_table(self, table: CatalogTable) -> None:
        metadata = read_metadata(self._move.moved(table.metadata))
        for each in manifest_lists(metadata):
            self._relocate_list(self._move.moved(each), table.name)
        document = {key: _map_texts(value, self._move.moved) for key, value in metadata.document.items()}
        if document != metadata.document:
            self._write(metadata.path, lambda path: _write_metadata(path, replace(metadata, document=document)))

    def put_in_place(self) -> None:
        """Replace the old files. All new ones are on disk before the first is replaced, and in place before this
        returns."""
        os.sync()
        for path in self._written:
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)  # Hadoop's checksum of the old content
            _beside(path).replace(path)
        os.sync()

    def _relocate_list(self, location: str, table: str) -> None:
        if location in self._lists:
            return
        self._lists.add(location)
        found = read_avro(require_local(location))
        records = tuple(self._relocated_manifest(each, table) for each in found.records)
        if records != found.records:
            self._write(require_local(location), lambda path: write_avro(path, AvroFile(found.header, records)))

    def _relocated_manifest(self, record: AvroRecord, table: str) -> AvroRecord:
        location = self._move.moved(str(record["manifest_path"]))
        if location not in self._sizes:
            self._sizes[location] = self._relocate_manifest(require_local(location), table)
        return {**record, "manifest_path": location, "manifest_length": self._sizes[location]}

    def _relocate_manifest(self, path: Path, table: str) -> int:
        """Rewrite a manifest; returns its size in bytes."""
        found = read_avro(path)
        records = tuple(self._relocated_entry(each, table) for each in found.records)
        if records == found.records:
            return path.stat().st_size
        self._write(path, lambda fresh: write_avro(fresh, AvroFile(found.header, records)))
        return _beside(path).stat().st_size

    def _relocated_entry(self, entry: AvroRecord, table: str) -> AvroRecord:
        file = data_file(entry)
        location = self._move.moved(str(file["file_path"]))
        if file.get("content") == POSITION_DELETES and location != file["file_path"]:
            raise Conflict(
                f"table {table} has deletes that name files by their old paths; somebody else than Penstock wrote them",
                hint="move the folder back, rewrite the table's position deletes there, and move it again",
            )
        return {**entry, "data_file": {**file, "file_path": location}}

    def _write(self, path: Path, write: Callable[[Path], None]) -> None:
        fresh = _beside(path)
        write(fresh)
        os.chmod(fresh, path.stat().st_mode & 0o777)
        self._written.append(path)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}{SUFFIX}")


def _write_metadata(path: Path, metadata: TableMetadata) -> None:
    content = orjson.dumps(metadata.document)
    path.write_bytes(gzip.compress(content) if metadata.packed else content)


def _map_texts(value: Json, change: Callable[[str], str]) -> Json:
    """The document with every text changed; keys stay."""
    match value:
        case str():
            return change(value)
        case list():
            return [_map_texts(each, change) for each in value]
        case dict():
            return {key: _map_texts(each, change) for key, each in value.items()}
        case _:
            return value
