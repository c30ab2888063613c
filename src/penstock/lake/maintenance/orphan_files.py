"""Find and delete files that no table refers to.

In: folders of tables. Out: fewer files. Invariant: a file that any table of the warehouse refers to in any of its
snapshots stays, even if clones share it; so does a file younger than the given age, which may belong to a commit
in progress.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError

from penstock.crash_points import crash_point
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.java_table import JavaTable


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as the storage lists it; `made` is its creation time in seconds since 1970."""

    path: str
    made: float
    bytes: int


_REFERENCES = (
    ("all_files", "file_path"),
    ("all_manifests", "path"),
    ("snapshots", "manifest_list"),
    ("metadata_log_entries", "file"),
)


def list_files(lake: Lake, by: str, folder: str, before: float) -> Iterator[StoredFile]:
    """The files below a folder that were created before a time (seconds since 1970); none if there is no such folder.
    The storage is accessed with the configuration of the table `by`, which must be in the same storage."""
    io = JavaTable(lake, by).table.io()
    try:
        files = io.listPrefix(folder).iterator()
        while files.hasNext():
            file = files.next()
            found = StoredFile(str(file.location()), file.createdAtMillis() / 1000, int(file.size()))
            if found.made < before:
                yield found
    except Py4JJavaError as error:
        if "FileNotFound" not in str(error.java_exception):
            raise


def referenced_files(lake: Lake, tables: Collection[str]) -> frozenset[str]:
    """Every file that one of the tables refers to, as `normalize_path` spells it. Raises Spark's error for a table that
    cannot be read: then no file may be deleted."""
    found: set[str] = set()
    for table in tables:
        for part, column in _REFERENCES:
            rows = lake.spark.sql(f"SELECT {column} FROM {qualified_table(table)}.{part}").collect()
            found.update(normalize_path(row[0]) for row in rows if row[0])
        known = physical_tables.load_table(lake, table)
        if known is not None:
            found.add(normalize_path(known.metadata_location))
            found.update(normalize_path(each.statistics_path) for each in known.metadata.statistics)
    return frozenset(found)


def delete_files(lake: Lake, by: str, files: Collection[StoredFile]) -> None:
    """Delete the files; a file that does not exist any more is no error."""
    io = JavaTable(lake, by).table.io()
    for file in files:
        crash_point("orphans.before")
        io.deleteFile(file.path)


def normalize_path(path: str) -> str:
    """One spelling for all spellings of the same path."""
    scheme, found, rest = path.partition(":")
    if not found or "/" in scheme:
        scheme, rest = "file", path
    return f"{scheme}:{re.sub(r'^/+', '/', rest)}" if scheme == "file" else re.sub(r"^s3[an]:", "s3:", path)
