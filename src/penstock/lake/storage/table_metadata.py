"""A table's metadata as files: what they refer to, and where.

In: the location of a metadata file. Out: the manifest lists, manifests and data files that its snapshots refer to.
Invariant: every file without which a snapshot of the table cannot be read is among them. Source: Iceberg spec, "Table
Metadata", "Manifest Lists" and "Manifests".
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import orjson

from penstock.errors import Failed
from penstock.lake.storage.avro_files import AvroFile, AvroRecord, read_avro
from penstock.lake.storage.local_paths import DamagedFile, local_path

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
    """The metadata file at a location. Raises FileNotFoundError, DamagedFile, Failed if it is not on a local disk."""
    path = require_local(location)
    try:
        content = path.read_bytes()
        packed = content.startswith(_PACKED)
        document = orjson.loads(gzip.decompress(content) if packed else content)
    except FileNotFoundError:
        raise
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise DamagedFile(f"{path} is damaged: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("location"), str):
        raise DamagedFile(f"{path} is damaged: it does not describe a table")
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


def read_manifest_list(path: Path) -> AvroFile:
    """A manifest list. Raises FileNotFoundError, DamagedFile."""
    return _read_entries(path, lambda entry: isinstance(entry["manifest_path"], str))


def read_manifest(path: Path) -> AvroFile:
    """A manifest. Raises FileNotFoundError, DamagedFile."""
    return _read_entries(path, lambda entry: isinstance(data_file(entry)["file_path"], str) and "status" in entry)


def _read_entries(path: Path, is_sound: Callable[[AvroRecord], bool]) -> AvroFile:
    found = read_avro(path)
    try:
        sound = all(map(is_sound, found.records))
    except (KeyError, AssertionError):
        sound = False
    if not sound:
        raise DamagedFile(f"{path} is damaged: it lists no files")
    return found


def manifests(manifest_list: str) -> Iterator[str]:
    """The locations of the manifests in a manifest list."""
    yield from (str(each["manifest_path"]) for each in read_manifest_list(require_local(manifest_list)).records)


def data_files(manifest: str) -> Iterator[tuple[str, int]]:
    """The locations of the files in a manifest, those with deletes too, and their sizes in bytes."""
    for entry in read_manifest(require_local(manifest)).records:
        if entry["status"] != DELETED:
            found = data_file(entry)
            yield str(found["file_path"]), int(str(found["file_size_in_bytes"]))


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
