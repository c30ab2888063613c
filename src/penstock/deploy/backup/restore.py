"""Make a project folder of a backup.

In: a backup and a folder without state. Out: the state store, catalog, tables and raw rows of the backup's moment,
where the folder's settings say. Invariant: nothing that is there is overwritten, the backup is not changed, and the
restored project has nothing in common with the one that was saved.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

from penstock.deploy.backup.files import CopiedFiles
from penstock.deploy.backup.layout import ADMIN_TOKEN, BackupFolder, BackupInfo
from penstock.deploy.backup.state_copy import copy_file_to_state
from penstock.deploy.runtime_config import inbox_folder, state_url
from penstock.errors import Conflict, Failed, InvalidProject, InvalidRequest, Problem
from penstock.lake.spark.catalog import spark_catalog_properties
from penstock.lake.storage.local_paths import FolderMove, local_path
from penstock.lake.storage.marker import FILE
from penstock.lake.storage.relocation import relocate_tables
from penstock.lake.storage.sql_catalog import open_catalog_file, open_sql_catalog
from penstock.model.settings import Settings
from penstock.parse.settings import SETTINGS_FILE, parse_settings
from penstock.state.database import open_database

log = logging.getLogger("penstock.deploy")


def restore_backup(backup: Path, project: Path, home_name: str) -> BackupInfo:
    """Restore a backup into a project's folder. Raises InvalidRequest for a folder that is no backup, Conflict where
    something is in the way, InvalidProject, Failed."""
    folder = BackupFolder(backup)
    info = folder.read_info()
    settings = _restored_settings(folder, project)
    home = project / home_name
    warehouse = local_path(spark_catalog_properties(settings, home).get("warehouse", ""))
    if warehouse is None:
        raise InvalidRequest(
            "tables are restored to a local disk only", hint=f"set `warehouse` in {project / SETTINGS_FILE}"
        )
    inbox = inbox_folder(settings, home)
    for place in (home, warehouse, inbox):
        _require_empty(place)
    _require_own_files(folder, project)
    try:
        _copy_files(folder, project, home, warehouse, inbox)
    except OSError as error:
        raise Failed(f"the backup cannot be copied: {error}") from error
    _fill_catalog(folder, settings, home, FolderMove(Path(info.warehouse), warehouse))
    _fill_state(folder, settings, home)
    os.sync()
    log.info("the backup of %s is restored in %s: %d tables", info.made_at, project, info.tables)
    return info


def _restored_settings(folder: BackupFolder, project: Path) -> Settings:
    """The settings of the new folder: its own if it has some, else those of the backup, if they name no storage."""
    own = project / SETTINGS_FILE
    if own.exists():
        return _parse(own)
    saved = folder.project / SETTINGS_FILE
    settings = _parse(saved) if saved.exists() else Settings()
    if settings.state.url or settings.inbox.folder or {"uri", "warehouse"} & settings.catalog.keys():
        raise Conflict(
            "the settings in the backup name storage outside the project's folder: that of the project that was saved",
            hint=f"write {own} with storage of its own; the saved one is {saved}",
        )
    return settings


def _parse(file: Path) -> Settings:
    problems: list[Problem] = []
    settings = parse_settings(file.read_text(encoding="utf-8"), SETTINGS_FILE, problems)
    if problems:
        raise InvalidProject(f"{file} has problems", problems)
    return settings


def _require_empty(place: Path) -> None:
    if place.exists() and any(place.iterdir()):
        raise Conflict(f"{place} is not empty", hint="restore into a new folder, or move what is there away")


def _require_own_files(folder: BackupFolder, project: Path) -> None:
    """Raises Conflict if the project's files are to be restored and others have their names."""
    if (project / SETTINGS_FILE).exists():
        return
    for saved in sorted(path for path in folder.project.rglob("*") if path.is_file()):
        place = project / saved.relative_to(folder.project)
        if os.path.lexists(place) and not (place.is_file() and place.read_bytes() == saved.read_bytes()):
            hint = f"restore into a new folder; with a {SETTINGS_FILE} of its own a folder keeps its own files"
            raise Conflict(f"{place} is another file than the one in the backup", hint=hint)


def _copy_files(folder: BackupFolder, project: Path, home: Path, warehouse: Path, inbox: Path) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    copied = CopiedFiles()
    for part, place, link in ((folder.warehouse, warehouse, True), (folder.inbox, inbox, False)):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        copied.copy_tree(part, place, link=link)
        (place / FILE).unlink(missing_ok=True)
    if not (project / SETTINGS_FILE).exists():
        shutil.copytree(folder.project, project, dirs_exist_ok=True)
    if folder.admin_token.exists():
        (home / ADMIN_TOKEN).touch(mode=0o600)
        (home / ADMIN_TOKEN).write_bytes(folder.admin_token.read_bytes())


def _fill_catalog(folder: BackupFolder, settings: Settings, home: Path, move: FolderMove) -> None:
    """Fill the catalog with the tables, whose metadata is rewritten before: until then they name the old files."""
    catalog, scratch = open_sql_catalog(settings, home), home / "restored-catalog.db"
    if catalog is None:
        raise InvalidRequest("a backup is restored to a catalog in SQLite or Postgres only", hint="change [catalog]")
    catalog.require_empty()
    shutil.copyfile(folder.catalog, scratch)
    staged = open_catalog_file(scratch)
    relocate_tables(staged, move)
    catalog.write(staged.read())
    staged.close()
    catalog.close()
    scratch.unlink()


def _fill_state(folder: BackupFolder, settings: Settings, home: Path) -> None:
    """Fill the state store; last, since a start needs it. The file in the backup is not opened: it may be read-only,
    and that of an earlier release would be migrated."""
    scratch = home / "restored-state.db"
    shutil.copyfile(folder.state, scratch)
    database = open_database(state_url(settings, home))
    try:
        copy_file_to_state(scratch, database)
    finally:
        database.close()
    scratch.unlink()
