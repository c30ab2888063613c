"""Tell tables where they are, after the folder of the warehouse was moved or copied.

In: the rows of the catalog, and the move. Out: the same tables, whose metadata names the files where they are now;
data files are not touched. Invariant: only files inside the new folder are written, each as a new file that takes the
place of the old one, so a file that is shared with a copy by a hard link stays as it was there. After a crash it can
run again: what was done is found done. A table with a damaged file is left as it is, and the catalog names no file of
it that exists: whoever mended it would else read and write the files at the old place, which may be another project's.
"""

from __future__ import annotations

import gzip
import logging
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import orjson

from penstock.errors import Conflict
from penstock.lake.spark.names import NAMESPACE, UNMOVED
from penstock.lake.storage.avro_files import AvroFile, AvroRecord, write_avro
from penstock.lake.storage.local_paths import DamagedFile, FolderMove, local_path
from penstock.lake.storage.sql_catalog import CatalogTable, SqlCatalogRows
from penstock.lake.storage.table_metadata import (
    POSITION_DELETES,
    Json,
    TableMetadata,
    data_file,
    manifest_lists,
    read_manifest,
    read_manifest_list,
    read_metadata,
    require_local,
)

SUFFIX = ".moved"
log = logging.getLogger("penstock.lake")


def relocate_tables(catalog: SqlCatalogRows, move: FolderMove) -> Mapping[str, str]:
    """Rewrite the metadata of all tables, then the rows of the catalog. Returns the tables that were left as they are,
    each with the damage. Raises Conflict for a table that cannot be moved; then the catalog is unchanged."""
    began, rows, damaged = time.monotonic(), catalog.read(), dict[str, str]()
    files = _Relocation(move, move.moved)
    for table in rows.tables:
        if not table.metadata.endswith(UNMOVED) and (why := files.relocate_table(table)) is not None:
            damaged[table.name] = why
    files.put_in_place()
    moved = rows.moved(move)
    catalog.write(replace(moved, tables=tuple(_mark_unmoved(each, damaged) for each in moved.tables)))
    took, there = time.monotonic() - began, len(rows.tables) - len(damaged)
    log.info("%d tables are at %s now: %d files rewritten in %.1f s", there, move.new, files.count, took)
    for name, why in damaged.items():
        log.error("the table %s was not told that it is at %s now: %s", name, move.new, why)
    return damaged


def relocate_mended_tables(catalog: SqlCatalogRows, warehouse: Path) -> None:
    """Tell those tables where they are that were damaged when their folder was moved, if they can be read by now. They
    say themselves where they were."""
    rows = catalog.read()
    mended: dict[str, CatalogTable] = {}
    for table in rows.tables:
        if table.metadata.endswith(UNMOVED):
            found = replace(table, metadata=table.metadata.removesuffix(UNMOVED))
            why = _relocate_mended_table(found, warehouse)
            if why is None:
                mended[table.name] = found
            else:
                log.error("the table %s cannot be read since its folder was moved: %s", table.name, why)
    if mended:
        catalog.write(replace(rows, tables=tuple(mended.get(each.name, each) for each in rows.tables)))


def _relocate_mended_table(table: CatalogTable, warehouse: Path) -> str | None:
    """Returns the damage that is left, if any."""
    try:
        old, inside, _ = str(read_metadata(table.metadata).document["location"]).rpartition(f"/{NAMESPACE}/")
    except (DamagedFile, FileNotFoundError) as error:
        return str(error)
    move = FolderMove((local_path(old) if inside else None) or warehouse, warehouse)
    files = _Relocation(move, partial(_into_warehouse, warehouse))
    try:
        why = files.relocate_table(table)
    except Conflict as error:
        return error.message
    files.put_in_place()
    return why


def _into_warehouse(warehouse: Path, location: str) -> str:
    """The location of a file in the warehouse, whatever the place where it was: some files of a damaged table may have
    been told of a later place than others."""
    root, inside, _ = location.rpartition(f"/{NAMESPACE}/")
    old = local_path(root) if inside else None
    return FolderMove(old, warehouse).moved(location) if old is not None else location


def _mark_unmoved(table: CatalogTable, damaged: Collection[str]) -> CatalogTable:
    return replace(table, metadata=table.metadata + UNMOVED) if table.name in damaged else table


class _Relocation:
    """The new metadata files of all tables: written beside the old ones first, then all put in place."""

    def __init__(self, move: FolderMove, place: Callable[[str], str]):
        """`place` is where a file is now that a manifest or a manifest list names."""
        self._move = move
        self._place = place
        self._sizes: dict[str, int] = {}
        """The new size of each manifest that was looked at, by its new location."""
        self._lists: set[str] = set()
        self._written: list[Path] = []

    @property
    def count(self) -> int:
        return len(self._written)

    def relocate_table(self, table: CatalogTable) -> str | None:
        """Write the new files of a table. Returns why that cannot be done, if one of its files is missing or damaged:
        then the table is as it was, and only files that it shares with others may be new."""
        try:
            metadata = read_metadata(self._move.moved(table.metadata))
            for each in manifest_lists(metadata):
                self._relocate_list(self._place(each), table.name)
        except (DamagedFile, FileNotFoundError) as error:
            return str(error)
        document = {key: _map_texts(value, self._move.moved) for key, value in metadata.document.items()}
        if document != metadata.document:
            self._write(metadata.path, lambda path: _write_metadata(path, replace(metadata, document=document)))
        return None

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
        found = read_manifest_list(require_local(location))
        records = tuple(self._relocated_manifest(each, table) for each in found.records)
        if records != found.records:
            self._write(require_local(location), lambda path: write_avro(path, AvroFile(found.header, records)))
        self._lists.add(location)

    def _relocated_manifest(self, record: AvroRecord, table: str) -> AvroRecord:
        location = self._place(str(record["manifest_path"]))
        if location not in self._sizes:
            self._sizes[location] = self._relocate_manifest(require_local(location), table)
        return {**record, "manifest_path": location, "manifest_length": self._sizes[location]}

    def _relocate_manifest(self, path: Path, table: str) -> int:
        """Rewrite a manifest; returns its size in bytes."""
        found = read_manifest(path)
        records = tuple(self._relocated_entry(each, table) for each in found.records)
        if records == found.records:
            return path.stat().st_size
        self._write(path, lambda fresh: write_avro(fresh, AvroFile(found.header, records)))
        return _beside(path).stat().st_size

    def _relocated_entry(self, entry: AvroRecord, table: str) -> AvroRecord:
        file = data_file(entry)
        location = self._place(str(file["file_path"]))
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
