"""PyIceberg's SQL catalog, which reads each metadata file once.

In: the name of a table. Out: the table as the catalog names it now. Invariant: the catalog is asked at every call, and
only the file that it names may come from memory: a metadata file never changes. A file that was changed or is gone all
the same (a damaged disk, a file put back from a backup) is read again, so that the damage, and its end, are seen.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

import sqlalchemy as sa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.io import load_file_io
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Identifier

MOST_BYTES = 192 * 2**20
"""The most memory that contents of metadata files take, about."""
TABLE_BYTES, SNAPSHOT_BYTES = 12 * 2**10, 6 * 2**10
"""The memory that the contents of a file take, and each snapshot in it, as measured. The size of the file says little,
since it is packed."""
REMOTE_SECONDS = 60.0
"""Seconds after which a file that is not local is read again, since its damage cannot be seen otherwise."""

_NEWEST_FILE = sa.select(IcebergTables.metadata_location).where(
    IcebergTables.catalog_name == sa.bindparam("catalog"),
    IcebergTables.table_namespace == sa.bindparam("namespace"),
    IcebergTables.table_name == sa.bindparam("table"),
)

_REPLACE_FILE = (
    sa.update(IcebergTables)
    .where(
        IcebergTables.catalog_name == sa.bindparam("catalog"),
        IcebergTables.table_namespace == sa.bindparam("namespace"),
        IcebergTables.table_name == sa.bindparam("table"),
        IcebergTables.metadata_location == sa.bindparam("before"),
    )
    .values(metadata_location=sa.bindparam("after"), previous_metadata_location=sa.bindparam("before"))
)

FileStamp: TypeAlias = tuple[int, ...]
"""What is different once a file was changed or replaced."""


@dataclass(frozen=True, slots=True)
class CachedFile:
    """The newest metadata file of a table, when it was read."""

    location: str
    stamp: FileStamp
    metadata: TableMetadata

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return TABLE_BYTES + SNAPSHOT_BYTES * len(self.metadata.snapshots)


class CachedSqlCatalog(SqlCatalog):
    """Thread-safe, as the catalog that it extends."""

    def __init__(self, name: str, **properties: str):
        super().__init__(name, **properties)
        self._files: dict[Identifier, CachedFile] = {}
        self._bytes = 0
        self._files_guard = threading.Lock()

    def load_table(self, identifier: str | Identifier) -> Table:
        """The table with its newest metadata. Raises NoSuchTableError, and what reading a damaged file raises."""
        location = self._newest_file(identifier)
        # Before the file is read: if it is replaced meanwhile, what was read counts as the older one.
        stamp = _file_stamp(location) if location is not None else None
        if location is None or stamp is None:
            return super().load_table(identifier)
        table = Catalog.identifier_to_tuple(identifier)
        known = self._cached(table)
        if known is not None and (known.location, known.stamp) == (location, stamp):
            io = load_file_io({**self.properties, **known.metadata.properties}, location)
            return Table(table, known.metadata, location, io, self)
        found = super().load_table(identifier)
        if found.metadata_location == location:
            self._keep(table, CachedFile(location, stamp, found.metadata))
        return found

    def replace_metadata(self, table: Table, location: str, metadata: TableMetadata) -> bool:
        """Let the catalog name the metadata file `location`, which has this content, in the place of that of `table`.
        Returns False if it names another one by now. Raises what the database raises; then the outcome may be
        unknown."""
        identifier = table.name()
        moved = {
            "catalog": self.name,
            "namespace": Catalog.namespace_to_string(Catalog.namespace_from(identifier)),
            "table": Catalog.table_name_from(identifier),
            "before": table.metadata_location,
            "after": location,
        }
        with self.engine.begin() as connection:
            replaced = connection.execute(_REPLACE_FILE, moved).rowcount == 1
        stamp = _file_stamp(location) if replaced else None
        if stamp is not None:
            self._keep(identifier, CachedFile(location, stamp, metadata))
        return replaced

    def _newest_file(self, identifier: str | Identifier) -> str | None:
        asked = {
            "catalog": self.name,
            "namespace": Catalog.namespace_to_string(Catalog.namespace_from(identifier)),
            "table": Catalog.table_name_from(identifier),
        }
        with self.engine.connect() as connection:
            return connection.execute(_NEWEST_FILE, asked).scalar_one_or_none()

    def _cached(self, table: Identifier) -> CachedFile | None:
        """What is kept of a table, whose file then counts as the one used last."""
        with self._files_guard:
            known = self._files.pop(table, None)
            if known is not None:
                self._files[table] = known
            return known

    def _keep(self, table: Identifier, known: CachedFile) -> None:
        """Remember the file of a table instead of the one before, and forget those that were not used for longest while
        there are too many bytes."""
        with self._files_guard:
            before = self._files.pop(table, None)
            self._bytes += known.bytes - (before.bytes if before is not None else 0)
            self._files[table] = known
            while self._bytes > MOST_BYTES and len(self._files) > 1:
                self._bytes -= self._files.pop(next(iter(self._files))).bytes


def _file_stamp(location: str) -> FileStamp | None:
    """The stamp of a file; None for a local one that is missing."""
    parts = urlsplit(location)
    if parts.scheme not in ("", "file"):
        return (int(time.monotonic() // REMOTE_SECONDS),)
    for path in dict.fromkeys((parts.path, unquote(parts.path))):  # some writers take the name as it is written
        with suppress(OSError):
            found = os.stat(path)
            return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
    return None
