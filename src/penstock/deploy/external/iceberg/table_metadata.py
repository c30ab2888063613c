"""The metadata of an Iceberg table that has no catalog: the newest that lies beside its files.

In: the objects of the table's folder `metadata`. Out: `TableMetadata`. Invariant: if two files claim to be the newest,
there is an error and no guess. Source: ClickHouse's documentation of the table engine `Iceberg`, which finds it so.
"""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from penstock.deploy.external.buckets.object_store import objects_from
from penstock.deploy.external.iceberg.table_objects import TableObjects
from penstock.deploy.external.web_client import UnreadableSource, WebClient
from penstock.model.external_tables import IcebergTable

_METADATA = re.compile(r"v?(\d{1,18})(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
_LONGEST = 256 * 2**20
"""The most bytes that are read of it, unpacked."""
_NEWEST_FORMAT = 2


def newest_metadata(client: WebClient, table: IcebergTable, objects: TableObjects) -> tuple[str, TableMetadata]:
    """The key of the newest metadata, and what it says. Raises UnreadableSource."""
    folder = f"{table.place}/metadata/"
    versions: dict[int, list[str]] = {}
    for each in objects_from(client, table.bucket, folder):
        if found := _METADATA.fullmatch(each.key[len(folder) :]):
            versions.setdefault(int(found[1]), []).append(each.key)
    if not versions:
        raise UnreadableSource("there is no Iceberg table: its folder `metadata` has no `….metadata.json`")
    newest = max(versions)
    if len(versions[newest]) > 1:
        names = " and ".join(f"`{each.rpartition('/')[2]}`" for each in sorted(versions[newest])[:2])
        raise UnreadableSource(f"{names} both claim to be version {newest}, and only its catalog knows which is")
    (key,) = versions[newest]
    return key, _read_metadata(objects.fetch(key))


def _read_metadata(path: Path) -> TableMetadata:
    text = _text(path)
    try:
        metadata = TableMetadataUtil.parse_raw(text)
    except Exception as error:
        raise UnreadableSource(f"its metadata cannot be read: {type(error).__name__}") from None
    if metadata.format_version > _NEWEST_FORMAT:
        raise UnreadableSource(f"it is of format version {metadata.format_version}, and 1 and 2 can be read")
    return metadata


def _text(path: Path) -> str:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path) if packed else path.open("rb") as stream:
            content = stream.read(_LONGEST + 1)
        if len(content) > _LONGEST:
            raise UnreadableSource(f"its metadata has more than {_LONGEST} bytes")
        return content.decode()
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError):
        raise UnreadableSource("its metadata is damaged") from None
