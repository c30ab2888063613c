"""A table's metadata as files: what they refer to, and where.

In: the location of a metadata file. Out: the manifest lists, manifests and data files that its snapshots refer to.
Invariant: every file without which a snapshot of the table cannot be read is among them. Source: Iceberg spec, "Table
Metadata", "Manifest Lists" and "Manifests".
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import orjson

from penstock.errors import Failed
from penstock.lake.storage.avro_files import AvroRecord, read_avro
from penstock.lake.storage.local_paths import local_path

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
DELETED = 2
"""`status` of a manifest's entry whose file is not in the table any more."""
POSITION_DELETES = 1
"""`content` of a file that names the rows it deletes by the paths of data files."""
_PACKED = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """A metadata file."""

    path: Path
    document: Mapping[str, Json]
    packed: bool
    """Whether the file is compressed with gzip."""


def read_metadata(location: str) -> TableMetadata:
    """The metadata file at a location. Raises FileNotFoundError, Failed if it is not on a local disk or damaged."""
    path = require_local(location)
    content = path.read_bytes()
    packed = content.startswith(_PACKED)
    try:
        document = orjson.loads(gzip.decompress(content) if packed else content)
    except (ValueError, OSError, EOFError) as error:
        raise Failed(f"{path} is damaged: {error}") from error
    return TableMetadata(path, document, packed)


def manifest_lists(metadata: TableMetadata) -> Iterator[str]:
    """The locations of the manifest lists of all snapshots."""
    for snapshot in _objects(metadata.document.get("snapshots")):
        if "manifest-list" in snapshot:
            yield str(snapshot["manifest-list"])


def statistics_files(metadata: TableMetadata) -> Iterator[str]:
    """The locations of the statistics of all snapshots."""
    for part in ("statistics", "partition-statistics"):
        yield from (str(each["statistics-path"]) for each in _objects(metadata.document.get(part)))


def manifests(manifest_list: str) -> Iterator[str]:
    """The locations of the manifests in a manifest list."""
    yield from (str(each["manifest_path"]) for each in read_avro(require_local(manifest_list)).records)


def data_files(manifest: str) -> Iterator[str]:
    """The locations of the files in a manifest, those with deletes too."""
    for entry in read_avro(require_local(manifest)).records:
        if entry["status"] != DELETED:
            yield str(data_file(entry)["file_path"])


def data_file(entry: AvroRecord) -> AvroRecord:
    """The file of a manifest's entry."""
    found = entry["data_file"]
    assert isinstance(found, dict), "by the schema of manifests"
    return found


def require_local(location: str) -> Path:
    """The path of a location. Raises Failed if it is not on a local disk."""
    path = local_path(location)
    if path is None:
        raise Failed(f"{location} is not on a local disk", hint="only tables on a local disk can be moved or copied")
    return path


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))
