"""Make a backup of a project while rows arrive.

In: the settings, the folder of the embedded state, the state store, and a block during which nothing is expired or
trimmed. Out: a folder with everything of one moment. Invariant: the catalog is read first, the state store then, the
raw rows last. So every batch that a table contains is in the batch log, and every batch that the log names is there as
a file: the backup is what a crash at that moment would have left, and a server starts on it as after one.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import sqlalchemy as sa

from penstock import __version__
from penstock.deploy.backup.files import CopiedFiles
from penstock.deploy.backup.layout import ADMIN_TOKEN, FORMAT, BackupFolder, BackupInfo
from penstock.deploy.backup.state_copy import copy_state_to_file, structure_digest
from penstock.deploy.runtime_config import inbox_folder
from penstock.errors import Conflict, Failed, InvalidRequest, StorageFull
from penstock.lake.spark.catalog import spark_catalog_properties
from penstock.lake.spark.names import UNMOVED
from penstock.lake.storage.local_paths import DamagedFile, local_path
from penstock.lake.storage.sql_catalog import (
    CatalogRows,
    CatalogTable,
    SqlCatalogRows,
    open_catalog_file,
    open_sql_catalog,
)
from penstock.lake.storage.table_metadata import (
    data_files,
    manifest_lists,
    manifests,
    read_metadata,
    require_local,
    statistics_files,
)
from penstock.model.settings import Settings
from penstock.parse.project_files import read_folder
from penstock.state.database import Database, open_database
from penstock.state.schema import batches, jobs

ATTEMPTS, PAUSE = 20, 0.5
"""How often it is tried to find a moment at which no deployment changes its tables, and the seconds in between."""
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class BackupSource:
    """What a backup is made of."""

    settings: Settings
    home: Path
    """The project's `.penstock` folder."""
    database: Database
    held: Callable[[], AbstractContextManager[object]]
    """A block during which no file of a table and no raw batch is removed by maintenance."""


class _Moved(Exception):
    """Something was changed while it was read: begin anew."""


class _Damage:
    """The tables that cannot be read. A file that is missing may only have been removed meanwhile: it is damage if the
    table still names it at the next attempt."""

    def __init__(self) -> None:
        self._missing: set[tuple[str, str]] = set()
        self.tables: dict[str, str] = {}

    @contextmanager
    def of_table(self, table: CatalogTable) -> Iterator[None]:
        """Enclose reading a table. Raises FileNotFoundError for a file that may have been removed meanwhile."""
        try:
            yield
        except DamagedFile as error:
            self.tables[table.name] = error.message
        except FileNotFoundError as error:
            key = (table.name, str(error.filename))
            if key not in self._missing:
                self._missing.add(key)
                raise
            self.tables[table.name] = f"{error.filename} is missing"


class _TableCopies:
    """Copies every file that a snapshot of a table refers to. Raises FileNotFoundError for one that may have been
    removed meanwhile, Failed for a file outside the warehouse."""

    def __init__(self, warehouse: Path, folder: BackupFolder, copied: CopiedFiles, damage: _Damage):
        self._warehouse = warehouse
        self._folder = folder
        self._copied = copied
        self._damage = damage
        self._whole: set[str] = set()

    def copy_metadata(self, table: CatalogTable) -> None:
        """Copy the file that says what the table consists of."""
        with self._damage.of_table(table):
            if table.metadata.endswith(UNMOVED):
                raise DamagedFile(
                    "a file of it was damaged when its folder was moved; server.log names it at each start"
                )
            self._take(table.metadata)

    def copy_files(self, table: CatalogTable) -> None:
        """Copy what its metadata file refers to; of a damaged table, what is left."""
        if table.name not in self._damage.tables:
            with self._damage.of_table(table):
                self._copy_referenced(table)
        if table.name in self._damage.tables:
            self._copy_folder(table)

    def _take(self, location: str) -> Path:
        """Copy one file; returns the copy."""
        path = require_local(location)
        if not path.is_relative_to(self._warehouse):
            raise Failed(f"{path} is outside the warehouse {self._warehouse}", hint="such a table cannot be backed up")
        copy = self._folder.warehouse / path.relative_to(self._warehouse)
        try:
            self._copied.link(path, copy)
        except FileNotFoundError:
            raise
        except OSError as error:
            if _is_readable(path):
                raise
            raise DamagedFile(f"{path} cannot be read: {error.strerror}") from error
        return copy

    def _copy_referenced(self, table: CatalogTable) -> None:
        metadata = read_metadata(str(self._take(table.metadata)))
        for each in statistics_files(metadata):
            self._take(each)
        for manifest_list in manifest_lists(metadata):
            self._copy_whole(manifest_list, self._copy_manifests)

    def _copy_manifests(self, manifest_list: str) -> None:
        for manifest in manifests(manifest_list):
            self._copy_whole(manifest, self._copy_data)

    def _copy_data(self, manifest: str) -> None:
        for file, size in data_files(manifest):
            if self._take(file).stat().st_size != size:
                raise DamagedFile(f"{file} is damaged: it does not have its {size} bytes")

    def _copy_whole(self, location: str, copy_what_it_lists: Callable[[str], None]) -> None:
        """Copy a file and what it lists, once: snapshots and clones share both. One of which a part is damaged is so
        for every table."""
        if location not in self._whole:
            copy_what_it_lists(str(self._take(location)))
            self._whole.add(location)

    def _copy_folder(self, table: CatalogTable) -> None:
        for here, _, names in os.walk(require_local(table.metadata).parent.parent):
            for name in names:
                with suppress(FileNotFoundError, DamagedFile):
                    self._take(os.path.join(here, name))


def _is_readable(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            while file.read(1_000_000):
                pass
    except OSError:
        return False
    return True


def make_backup(source: BackupSource, destination: Path) -> BackupInfo:
    """Write a backup into a new or empty folder. Raises InvalidRequest, Conflict if deployments change all the time,
    StorageFull, Failed; then the folder is removed."""
    began = time.monotonic()
    root = _open_destination(source, destination)
    try:
        with source.held():
            info = _copy_all(source, BackupFolder(root))
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    took = time.monotonic() - began
    log.info("backup in %s: %d tables, %d bytes, %.1f s", root, info.tables, info.bytes, took)
    for table, why in info.damaged.items():
        log.error("the backup in %s has the table %s as it is, damaged: %s", root, table, why)
    return info


def _open_destination(source: BackupSource, destination: Path) -> Path:
    if not destination.is_absolute() or not str(destination).isprintable():
        raise InvalidRequest(
            "the folder of a backup is an absolute path of printable characters",
            hint="such as /var/backups/penstock/monday",
        )
    destination = destination.resolve()
    # The saved datafiles would be a part of a project that they are inside of.
    saved = [source.home.parent, source.home, inbox_folder(source.settings, source.home)]
    saved += filter(None, [_warehouse_folder(source.settings, source.home)])
    if any(destination.is_relative_to(each.resolve()) for each in saved):
        raise InvalidRequest(
            f"{destination} is inside what is to be saved", hint="choose a folder outside the project's folder"
        )
    try:
        destination.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(destination.iterdir()):
            raise InvalidRequest(f"{destination} is not empty", hint="each backup needs a folder of its own")
    except OSError as error:
        raise InvalidRequest(f"{destination} cannot be written: {error.strerror}") from error
    return destination


def _warehouse_folder(settings: Settings, home: Path) -> Path | None:
    return local_path(spark_catalog_properties(settings, home).get("warehouse", ""))


def _copy_all(source: BackupSource, folder: BackupFolder) -> BackupInfo:
    warehouse = _warehouse_folder(source.settings, source.home)
    catalog = open_sql_catalog(source.settings, source.home)
    if warehouse is None or catalog is None:
        raise Conflict(
            "only tables on a local disk whose catalog is in SQLite or Postgres can be backed up",
            hint="docs/backup.md says how to save other storage",
        )
    try:
        return _copy_moment(source, folder, catalog, warehouse)
    except OSError as error:
        raise StorageFull(f"the backup cannot be written: {error.strerror}") from error
    finally:
        catalog.close()


def _copy_moment(source: BackupSource, folder: BackupFolder, catalog: SqlCatalogRows, warehouse: Path) -> BackupInfo:
    damage = _Damage()
    for _ in range(ATTEMPTS):
        copied = CopiedFiles()
        try:
            tables = _TableCopies(warehouse, folder, copied, damage)
            rows = _copy_stores(source, folder, catalog, tables)
            for table in rows.tables:
                tables.copy_files(table)
            number = _copy_inbox(source, folder)
        except (_Moved, FileNotFoundError) as error:
            log.info("the backup begins anew: %s", error)
            time.sleep(PAUSE)
            continue
        _copy_project(source, folder)
        os.sync()
        damaged = {table.name: damage.tables[table.name] for table in rows.tables if table.name in damage.tables}
        whole, now = len(rows.tables) - len(damaged), datetime.now(timezone.utc)
        place = str(warehouse)
        info = BackupInfo(FORMAT, __version__, now, place, whole, copied.files, copied.bytes, number, damaged)
        folder.write_info(info)
        os.sync()
        return info
    raise Conflict(
        "no moment was found at which no deployment changes its tables", hint="try again when the deployment is ready"
    )


def _copy_stores(
    source: BackupSource, folder: BackupFolder, catalog: SqlCatalogRows, tables: _TableCopies
) -> CatalogRows:
    """Copy the catalog, then the state store. What says which tables there are is the same before and after: then the
    catalog is that of the copied store. What only grows (batches, logs) may have grown."""
    before, rows = structure_digest(source.database), catalog.read()
    for table in rows.tables:
        tables.copy_metadata(table)  # at once: it is removed after some more commits
    folder.state.unlink(missing_ok=True)
    copy_state_to_file(source.database, folder.state)
    copy = open_database(f"sqlite:///{folder.state}")
    try:
        if structure_digest(copy) != before:
            raise _Moved("a deployment changed its tables")
    finally:
        copy.close()
    folder.catalog.unlink(missing_ok=True)
    saved = open_catalog_file(folder.catalog)
    saved.write(rows)
    saved.close()
    return rows


def _copy_inbox(source: BackupSource, folder: BackupFolder) -> int:
    """Copy the raw rows, and the rows of copy jobs. Returns the number of batches. Raises FileNotFoundError if a batch
    that the copied log names is missing, unless it was condemned."""
    inbox = inbox_folder(source.settings, source.home)
    CopiedFiles().copy_tree(inbox, folder.inbox, link=False)
    copy = open_database(f"sqlite:///{folder.state}")
    try:
        with copy.read() as connection:
            named = connection.execute(sa.select(batches.c.segment).where(batches.c.segment != "")).scalars().all()
            open_jobs = connection.execute(sa.select(jobs.c.id).where(jobs.c.state == "appending")).scalars().all()
    finally:
        copy.close()
    for segment in named:
        if not (folder.inbox / segment).exists() and (inbox / segment).exists():
            raise _Moved(f"{segment} arrived late")
    for job in open_jobs:
        if not (folder.inbox / ".jobs" / f"{job}.ndjson").exists():
            raise _Moved(f"job {job} ended")
    return len(named)


def _copy_project(source: BackupSource, folder: BackupFolder) -> None:
    folder.project.mkdir(exist_ok=True)
    for path, content in read_folder(source.home.parent, []):
        place = folder.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    token = source.home / ADMIN_TOKEN
    if token.exists():
        folder.admin_token.touch(mode=0o600)
        folder.admin_token.write_bytes(token.read_bytes())
