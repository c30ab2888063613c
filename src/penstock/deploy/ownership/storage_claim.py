"""A warehouse and an inbox belong to one state store: checked at each start, before anything reads or cleans them.

In: the settings, the folder of the embedded state, and the state store with its lease. Out: markers in the warehouse
and in the inbox that match the store's records. Invariant: a server never writes into, nor cleans, a warehouse or an
inbox that another state store uses; a folder that was moved or copied goes on with what is inside it. No path decides
that: a marker is compared with a record, and a path only tells a copy from a move.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from penstock.crash_points import crash_point
from penstock.deploy.ownership.storage_records import StorageRecord, StorageRecords
from penstock.deploy.runtime_config import inbox_folder
from penstock.errors import Conflict
from penstock.lake.spark.catalog import pyiceberg_catalog_properties, spark_catalog_properties
from penstock.lake.spark.names import NAMESPACE
from penstock.lake.storage.local_paths import FolderMove, local_path
from penstock.lake.storage.marker import MarkerFile, StorageMarker
from penstock.lake.storage.relocation import relocate_mended_tables, relocate_tables
from penstock.lake.storage.sql_catalog import SqlCatalogRows, open_sql_catalog
from penstock.model.settings import Settings
from penstock.state.database import Database

WAREHOUSE, INBOX = "warehouse", "inbox"
ADOPT = "if this is the right one, `penstock up --adopt-storage` takes it as it is"
log = logging.getLogger("penstock.deploy")


class ForeignStorage(Conflict):
    """The warehouse or the inbox belongs to another state store, or is not the one that the store was used with."""

    code = "foreign-storage"


@dataclass(frozen=True, slots=True)
class StoragePart:
    """The warehouse or the inbox, where the settings say it is."""

    name: str
    location: str
    marker: MarkerFile
    setting: str
    """Where its place is set."""


def claim_storage(settings: Settings, home: Path, database: Database) -> None:
    """Make sure that warehouse and inbox are those of this state store, and tell the tables if their folder was moved
    or copied. Raises ForeignStorage, Failed, Unavailable."""
    records, store = StorageRecords(database), _sqlite_file(database)
    parts = [(part, records.find(part.name)) for part in _list_parts(settings, home)]
    for part, record in parts:
        check_part(part, record, part.marker.read(), store)
    for part, record in parts:
        if part.name == WAREHOUSE:
            _relocate_moved_tables(settings, home, part, record)
        _stamp(records, part, record, store)


def release_storage(settings: Settings, home: Path, database: Database) -> None:
    """Take the storage as it is, whatever it belonged to: the next `claim_storage` finds it its own."""
    records = StorageRecords(database)
    for part in _list_parts(settings, home):
        _stamp(records, part, None, _sqlite_file(database))


def check_part(
    part: StoragePart, record: StorageRecord | None, marker: StorageMarker | None, store: str | None
) -> None:
    """Raises ForeignStorage unless the part belongs to the state store. `store` is the file of an SQLite store."""
    rename = f"name another one in `{part.setting}`"
    if record is None:
        if marker is not None:
            _refuse(part, "belongs to another state store", rename)
    elif marker is None:
        if record.stamp == record.next_stamp:
            return  # the first start ended before it wrote the marker
        before = (
            f"the state store was used with {record.location}" if record.location != part.location else "it is empty"
        )
        hint = f"servers that share a state store share this too: mount its disk, or set `{part.setting}` to it"
        _refuse(part, f"has no marker: {before}", hint)
    elif marker.uuid != record.uuid:
        _refuse(part, "belongs to another state store", rename)
    elif marker.stamp not in (record.stamp, record.next_stamp):
        why = "was used with a newer copy of this state store, which lacks what was done since"
        _refuse(part, why, "start the server with the newer state store, or restore a backup of both")
    elif record.location == part.location and _is_copy(marker, store):
        why = f"belongs to {marker.store}, of which this state store is a copy"
        _refuse(part, why, f"{rename}; `penstock backup` and `penstock restore` make a copy of everything")


def _is_copy(marker: StorageMarker, store: str | None) -> bool:
    """Whether the state store is a copied file whose original is still there. A moved one leaves nothing behind."""
    return store is not None and marker.store not in (None, store) and Path(str(marker.store)).exists()


def _refuse(part: StoragePart, why: str, hint: str) -> None:
    raise ForeignStorage(f"the {part.name} at {part.location} {why}", hint=f"{hint}; {ADOPT}")


def _list_parts(settings: Settings, home: Path) -> list[StoragePart]:
    """The parts that have a location; the warehouse of a REST catalog may have a name only."""
    found, reached = [], pyiceberg_catalog_properties(settings, home)
    warehouse = spark_catalog_properties(settings, home).get("warehouse", "")
    if "/" in warehouse:
        place = str(local_path(warehouse) or warehouse)
        found.append(StoragePart(WAREHOUSE, place, MarkerFile(warehouse, reached), "[catalog] warehouse"))
    inbox = str(inbox_folder(settings, home).absolute())
    return [*found, StoragePart(INBOX, inbox, MarkerFile(inbox, {}), "[inbox] folder")]


def _stamp(records: StorageRecords, part: StoragePart, record: StorageRecord | None, store: str | None) -> None:
    """Give store and storage the same new stamp. The store knows both stamps while the marker is written."""
    fresh = str(uuid.uuid4())
    known = record if record is not None else StorageRecord(part.name, fresh, fresh, fresh, part.location)
    records.keep(replace(known, next_stamp=fresh))
    crash_point("storage.recorded")
    part.marker.write(StorageMarker(known.uuid, fresh, store))
    crash_point("storage.marked")
    records.keep(StorageRecord(part.name, known.uuid, fresh, None, part.location))


def _relocate_moved_tables(settings: Settings, home: Path, part: StoragePart, record: StorageRecord | None) -> None:
    new = local_path(part.location)
    catalog = open_sql_catalog(settings, home) if new is not None else None
    if catalog is None or new is None:
        return
    try:
        for move in _find_moves(catalog, new, record):
            if catalog.file is None or not catalog.file.is_relative_to(home):
                why = f"was at {move.old}, and the catalog, which is not in the project's folder, names files there"
                raise ForeignStorage(f"the warehouse at {move.new} {why}", hint=f"put it back to {move.old}")
            log.warning("the warehouse was at %s and is at %s now: its tables are told so", move.old, move.new)
            relocate_tables(catalog, move)
        relocate_mended_tables(catalog, new)
    finally:
        catalog.close()


def _find_moves(catalog: SqlCatalogRows, new: Path, record: StorageRecord | None) -> list[FolderMove]:
    """Where the warehouse was before, by the store's record, and by the catalog: a former release recorded nothing, and
    the record of storage that was adopted says nothing about the paths of its tables."""
    recorded = local_path(record.location) if record is not None else None
    found = {recorded} if recorded not in (None, new) else set()
    for table in catalog.read().tables:
        root, inside, rest = table.metadata.rpartition(f"/{NAMESPACE}/")
        old = local_path(root) if inside else None
        if old is not None and not _is_same_folder(old, new) and (new / NAMESPACE / rest).exists():
            found.add(old)
    return [FolderMove(old, new) for old in sorted(each for each in found if each is not None)]


def _is_same_folder(one: Path, other: Path) -> bool:
    """Whether both paths lead to one folder, perhaps by a link."""
    return one == other or one.resolve() == other.resolve()


def _sqlite_file(database: Database) -> str | None:
    url: sa.URL = database.engine.url
    return str(Path(url.database).absolute()) if url.get_backend_name() == "sqlite" and url.database else None
