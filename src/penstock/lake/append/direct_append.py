"""Append Arrow rows to a table, together with the progress of its flows, without Spark.

In: rows in memory, the progress of every flow into the table, and the snapshot that they follow. Out: one Iceberg
snapshot. Invariant: the commit follows exactly that snapshot, or is refused: it names the metadata file that it was
made from, and the catalog takes it only while that is the newest. Rows and cursors are one commit, whose files are on
disk before the catalog names them.
"""

from __future__ import annotations

import gzip
import re
import threading
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
from pyiceberg.manifest import (
    DataFile,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import (
    MetadataLogEntry,
    Operation,
    Snapshot,
    SnapshotLogEntry,
    SnapshotSummaryCollector,
    Summary,
    update_snapshot_summaries,
)

from penstock.crash_points import crash_point
from penstock.lake.append.arrow_schema import arrow_schema, same_values
from penstock.lake.append.data_files import write_data_files
from penstock.lake.append.direct_tables import needs_merge, why_only_spark
from penstock.lake.append.local_files import LocalFiles, remove_file
from penstock.lake.spark.cached_catalog import CachedSqlCatalog
from penstock.lake.spark.names import MADE_BY
from penstock.lake.spark.session import Lake
from penstock.lake.storage.local_paths import local_path
from penstock.lake.tables.commit import CommitConflict
from penstock.lake.tables.physical_tables import load_table
from penstock.lake.tables.snapshots import Progress, summary_entries

_CODEC: Literal["deflate"] = "deflate"
_MOST_LISTS = 256
_lists: dict[str, list[ManifestFile]] = {}
"""The contents of manifest lists, which never change, the newest at the end."""
_guard = threading.Lock()
_NUMBER = re.compile(r"(\d+)-")


@dataclass(frozen=True, slots=True)
class DirectAppend:
    """What a commit appended."""

    snapshot: int
    parent: int | None
    """The snapshot that it follows."""
    rows: pa.Table
    """The rows, with all columns that the table stores."""


class NotDirect(Exception):
    """This process cannot write the rows as they are; nothing is committed, and Spark can."""


def direct_table(lake: Lake, table: str) -> IcebergTable | None:
    """The table as it is now, if this process can append to it; None if Spark is to make the next commit."""
    if not isinstance(lake.catalog, CachedSqlCatalog):
        return None
    found = load_table(lake, table)
    if found is None or why_only_spark(found.metadata) is not None:
        return None
    return None if needs_merge(found.metadata, _manifests(found)) else found


def append_directly(
    lake: Lake, table: str, rows: pa.Table, made: tuple[Mapping[str, Progress], int | None]
) -> DirectAppend:
    """Append `rows` to a table that `direct_table` gives, with the progress that `made` has, after the snapshot that it
    has (None: if there is none at all). Columns of the table that `rows` lacks become NULL. Raises CommitConflict and
    NotDirect; then nothing is committed."""
    progress, follows = made
    found = load_table(lake, table)
    before = found.metadata.current_snapshot_id if found is not None else None
    if found is None or before != follows:
        raise CommitConflict(f"{table}: its snapshot is {before}, and the rows follow {follows}")
    if (why := why_only_spark(found.metadata)) is not None:
        raise NotDirect(f"{table}: {why}")
    assert isinstance(lake.catalog, CachedSqlCatalog), "direct_table gave the table"
    files = LocalFiles()
    stored, location, metadata = _written(found, rows, progress, files)
    crash_point("lake.before")
    # If this raises it is not known which file the catalog names, so all of them stay.
    if not lake.catalog.replace_metadata(found, location, metadata):
        files.remove()
        raise CommitConflict(f"{table}: another commit came first")
    crash_point("lake.after")
    _remove_old_metadata(found.metadata, metadata)
    assert metadata.current_snapshot_id is not None, "it was just made"
    return DirectAppend(metadata.current_snapshot_id, before, stored)


def _written(
    table: IcebergTable, rows: pa.Table, progress: Mapping[str, Progress], files: LocalFiles
) -> tuple[pa.Table, str, TableMetadata]:
    """Write all files of a commit. Returns the rows as they are stored, and the place and the content of the metadata
    file. If it raises, no file is left."""
    try:
        stored = as_stored(table, rows)
        return stored, *_write_commit(table, stored, progress, files)
    except (OSError, MemoryError):
        files.remove()
        raise
    except Exception as error:
        files.remove()
        raise NotDirect(f"{table.name()[-1]}: {error}") from error


def as_stored(table: IcebergTable, rows: pa.Table) -> pa.Table:
    """The rows with the columns and field ids of a table. Raises NotDirect unless each column has the type that the
    table stores: what Spark converts when it writes is left to Spark."""
    schema = arrow_schema(table.schema())
    names, unknown = set(rows.column_names), set(rows.column_names) - set(schema.names)
    if unknown or len(names) < rows.num_columns:
        raise NotDirect(f"columns that the table does not have once: {sorted(unknown) or rows.column_names}")
    return pa.table([_stored_column(rows, field, names) for field in schema], schema=schema)


def _stored_column(rows: pa.Table, field: pa.Field, names: Collection[str]) -> pa.ChunkedArray | pa.Array:
    if field.name not in names:
        return pa.nulls(rows.num_rows, field.type)
    column = rows.column(field.name)
    if not same_values(column.type, field.type):
        raise NotDirect(f"{field.name} is {column.type}, and the table stores {field.type}")
    return column.cast(field.type)


def _write_commit(
    table: IcebergTable, rows: pa.Table, progress: Mapping[str, Progress], files: LocalFiles
) -> tuple[str, TableMetadata]:
    """Write the files. Returns the place and the content of the metadata file."""
    data = write_data_files(table, rows, files)
    crash_point("append.written")
    metadata = _with_snapshot(table, _write_snapshot(table, data, progress, files))
    packed = table.properties.get("write.metadata.compression-codec") == "gzip"
    number = _NUMBER.match(table.metadata_location.rpartition("/")[2])
    version = int(number[1]) + 1 if number else 0
    name = f"{version:05d}-{uuid.uuid4()}{'.gz' if packed else ''}.metadata.json"
    location = table.location_provider().new_metadata_location(name)
    text = metadata.model_dump_json(exclude_none=True).encode()
    files.write(location, gzip.compress(text, 1) if packed else text)
    files.sync()
    return location, metadata


def _write_snapshot(
    table: IcebergTable, data: Sequence[DataFile], progress: Mapping[str, Progress], files: LocalFiles
) -> Snapshot:
    """Write the manifest and the manifest list of a new snapshot."""
    metadata, commit = table.metadata, uuid.uuid4()
    id, parent = metadata.new_snapshot_id(), metadata.current_snapshot_id
    sequence = metadata.next_sequence_number()
    place = table.location_provider().new_metadata_location
    added = [_write_manifest(table, data, (id, place(f"{commit}-m0.avro")), files)] if data else []
    for each in added:  # as the list has it, so that it need not be read
        each.sequence_number = each.min_sequence_number = sequence
    listed, manifests = place(f"snap-{id}-1-{commit}.avro"), added + _manifests(table)
    with write_manifest_list(
        format_version=2,
        output_file=files.output(listed),
        snapshot_id=id,
        parent_snapshot_id=parent,
        sequence_number=sequence,
        avro_compression=_CODEC,
    ) as writer:
        writer.add_manifests(manifests)
    _remember(listed, manifests)
    described = {
        "snapshot-id": id,
        "parent-snapshot-id": parent,
        "sequence-number": sequence,
        "timestamp-ms": max(round(time.time() * 1000), metadata.last_updated_ms),
        "manifest-list": listed,
        "schema-id": metadata.current_schema_id,
    }
    return Snapshot(**described, summary=_summary(table, data, progress))  # type: ignore[arg-type]


def _write_manifest(
    table: IcebergTable, data: Sequence[DataFile], made: tuple[int, str], files: LocalFiles
) -> ManifestFile:
    snapshot, location = made
    with write_manifest(
        format_version=2,
        spec=table.spec(),
        schema=table.schema(),
        output_file=files.output(location),
        snapshot_id=snapshot,
        avro_compression=_CODEC,
    ) as writer:
        for each in data:
            writer.add(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=each))
    return writer.to_manifest_file()


def _summary(table: IcebergTable, data: Sequence[DataFile], progress: Mapping[str, Progress]) -> Summary:
    """As Iceberg counts for `append_rows`: a commit without rows is no append."""
    counts = SnapshotSummaryCollector()
    for each in data:
        counts.add_file(each, table.schema(), table.spec())
    before = table.current_snapshot()
    operation = Operation.APPEND if data else Operation.OVERWRITE
    partitions = {"changed-partition-count": "1"} if data else {}
    return update_snapshot_summaries(
        Summary(operation, **{**partitions, **counts.build(), MADE_BY: "penstock", **summary_entries(progress)}),
        before.summary if before is not None else None,
    )


def _with_snapshot(table: IcebergTable, snapshot: Snapshot) -> TableMetadata:
    """The table's metadata with one more snapshot."""
    base = table.metadata
    main = base.refs.get(MAIN_BRANCH)
    moved = {"snapshot_id": snapshot.snapshot_id}
    head = (
        main.model_copy(update=moved)
        if main is not None
        else SnapshotRef.model_validate({"snapshot-id": snapshot.snapshot_id, "type": SnapshotRefType.BRANCH})
    )
    most = int(base.properties.get("write.metadata.previous-versions-max", "100"))
    former = MetadataLogEntry.model_validate(
        {"metadata-file": table.metadata_location, "timestamp-ms": base.last_updated_ms}
    )
    logged = SnapshotLogEntry.model_validate(
        {"snapshot-id": snapshot.snapshot_id, "timestamp-ms": snapshot.timestamp_ms}
    )
    return base.model_copy(
        update={
            "last_sequence_number": snapshot.sequence_number,
            "last_updated_ms": snapshot.timestamp_ms,
            "current_snapshot_id": snapshot.snapshot_id,
            "snapshots": [*base.snapshots, snapshot],
            "snapshot_log": [*base.snapshot_log, logged],
            "metadata_log": [*base.metadata_log, former][-most:],
            "refs": {**base.refs, MAIN_BRANCH: head},
        }
    )


def _remove_old_metadata(before: TableMetadata, now: TableMetadata) -> None:
    """Delete the metadata files that the newest one does not name any more."""
    if now.properties.get("write.metadata.delete-after-commit.enabled") != "true":
        return
    named = {each.metadata_file for each in now.metadata_log}
    for gone in (each.metadata_file for each in before.metadata_log if each.metadata_file not in named):
        path = local_path(gone)
        if path is not None:
            remove_file(path)


def _manifests(table: IcebergTable) -> list[ManifestFile]:
    """The manifests of a table's current snapshot."""
    current = table.current_snapshot()
    if current is None:
        return []
    with _guard:
        known = _lists.get(current.manifest_list)
    return known if known is not None else _remember(current.manifest_list, current.manifests(table.io))


def _remember(location: str, manifests: list[ManifestFile]) -> list[ManifestFile]:
    """Keep what a manifest list has, and forget the oldest of what is kept."""
    with _guard:
        _lists[location] = manifests
        while len(_lists) > _MOST_LISTS:
            del _lists[next(iter(_lists))]
    return manifests
