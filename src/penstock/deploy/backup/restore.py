"""Make a project folder of a backup.

In: a backup and a folder without state. Out: the state store, catalog, tables and raw rows of the backup's moment,
where the folder's settings say. Invariant: nothing that is there is overwritten, the backup is not changed, and the
restored project has nothing in common with the one that was saved. After a crash it can run again: what it had copied
is copied anew.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.crash_points import crash_point
from penstock.deploy.backup.files import CopiedFiles
from penstock.deploy.backup.layout import ADMIN_TOKEN, BackupFolder, BackupInfo
from penstock.deploy.backup.restore_marker import (
    BEFORE_MARKER,
    RestoreMarker,
    hold_marker,
    read_marker,
    require_same_backup,
)
from penstock.deploy.backup.state_copy import copy_file_to_state, holds_copy
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
    """Restore a backup into a project's folder; one that was killed goes on. Returns what the backup says about itself,
    with the damage that was found in it. Raises InvalidRequest for a folder that is no backup, Conflict where something
    is in the way, InvalidProject, Failed."""
    folder, home = BackupFolder(backup), project / home_name
    info, begun = folder.read_info(), read_marker(home)
    made_at = info.made_at.isoformat()
    require_same_backup(home, begun, made_at)
    own_files = begun.own_files if begun is not None else (project / SETTINGS_FILE).exists()
    settings = _own_settings(project) if own_files else _saved_settings(folder, project)
    warehouse = local_path(spark_catalog_properties(settings, home).get("warehouse", ""))
    if warehouse is None:
        raise InvalidRequest(
            "tables are restored to a local disk only", hint=f"set `warehouse` in {project / SETTINGS_FILE}"
        )
    target = _Target(project, home, settings, warehouse, inbox_folder(settings, home), own_files, begun is not None)
    _require_room(folder, target, begun)
    marker = RestoreMarker(str(backup), own_files, str(warehouse), str(target.inbox), made_at)
    with hold_marker(home, marker, begun):
        damaged = _restore_parts(folder, target, FolderMove(Path(info.warehouse), warehouse))
        os.sync()
    log.info("the backup of %s is restored in %s: %d tables", info.made_at, project, info.tables)
    return replace(info, damaged={**damaged, **info.damaged})


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a backup is restored to."""

    project: Path
    home: Path
    settings: Settings
    warehouse: Path
    inbox: Path
    own_files: bool
    """Whether the project keeps its own datafiles."""
    begun: bool
    """Whether a restore was killed here."""


def _require_room(folder: BackupFolder, target: _Target, begun: RestoreMarker | None) -> None:
    """Raises Conflict if something is in the way that a restore which was killed has not made."""
    made = () if begun is None else (target.home, Path(begun.warehouse), Path(begun.inbox))
    for place in (target.home, target.warehouse, target.inbox):
        if place not in made:
            _require_empty(place)
        elif (place / FILE).exists() and place != target.home:
            raise Conflict(f"{place} is in use by another project", hint="name another folder in the settings")
    if begun is None and not target.own_files:
        _require_own_files(folder, target.project)
    catalog = open_sql_catalog(target.settings, target.home)
    if catalog is None:
        raise InvalidRequest("a backup is restored to a catalog in SQLite or Postgres only", hint="change [catalog]")
    if catalog.file is None or catalog.file.exists():
        catalog.require_empty(target.warehouse if begun is not None else None)
    catalog.close()


def _restore_parts(folder: BackupFolder, target: _Target, move: FolderMove) -> Mapping[str, str]:
    """Returns the tables whose files in the backup are damaged. The state store is last: a start needs it."""
    try:
        _copy_files(folder, target)
    except OSError as error:
        raise Failed(f"the backup cannot be copied: {error}") from error
    crash_point("restore.files")
    damaged = _fill_catalog(folder, target, move)
    crash_point("restore.catalog")
    _fill_state(folder, target)
    crash_point("restore.state")
    return damaged


def _own_settings(project: Path) -> Settings:
    return _parse(project / SETTINGS_FILE)


def _saved_settings(folder: BackupFolder, project: Path) -> Settings:
    """The settings of the backup. Raises Conflict if they name storage."""
    saved = folder.project / SETTINGS_FILE
    settings = _parse(saved) if saved.exists() else Settings()
    if settings.state.url or settings.inbox.folder or {"uri", "warehouse"} & settings.catalog.keys():
        raise Conflict(
            "the settings in the backup name storage outside the project's folder: that of the project that was saved",
            hint=f"write {project / SETTINGS_FILE} with storage of its own; the saved one is {saved}",
        )
    return settings


def _parse(file: Path) -> Settings:
    problems: list[Problem] = []
    settings = parse_settings(file.read_text(encoding="utf-8"), SETTINGS_FILE, problems)
    if problems:
        raise InvalidProject(f"{file} has problems", problems)
    return settings


def _require_empty(place: Path) -> None:
    if place.exists() and any(each.name not in BEFORE_MARKER for each in place.iterdir()):
        raise Conflict(f"{place} is not empty", hint="restore into a new folder, or move what is there away")


def _require_own_files(folder: BackupFolder, project: Path) -> None:
    """Raises Conflict if other files have the names of those that are to be restored."""
    for saved in sorted(path for path in folder.project.rglob("*") if path.is_file()):
        place = project / saved.relative_to(folder.project)
        if os.path.lexists(place) and not (place.is_file() and place.read_bytes() == saved.read_bytes()):
            hint = f"restore into a new folder; with a {SETTINGS_FILE} of its own a folder keeps its own files"
            raise Conflict(f"{place} is another file than the one in the backup", hint=hint)


def _copy_files(folder: BackupFolder, target: _Target) -> None:
    copied = CopiedFiles()
    for part, place, link in ((folder.warehouse, target.warehouse, True), (folder.inbox, target.inbox, False)):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_copies(part, place)
        copied.copy_tree(part, place, link=link)
        (place / FILE).unlink(missing_ok=True)
    if not target.own_files:
        shutil.copytree(folder.project, target.project, dirs_exist_ok=True)
    if folder.admin_token.exists():
        (target.home / ADMIN_TOKEN).touch(mode=0o600)
        (target.home / ADMIN_TOKEN).write_bytes(folder.admin_token.read_bytes())


def _remove_copies(part: Path, place: Path) -> None:
    """Remove what a restore that was killed has copied: the last file may be cut. They are removed and not written to,
    since they may be links to those of the backup."""
    for here, _, names in os.walk(part):
        for name in names:
            (place / Path(here, name).relative_to(part)).unlink(missing_ok=True)


def _fill_catalog(folder: BackupFolder, target: _Target, move: FolderMove) -> Mapping[str, str]:
    """Fill the catalog with the tables, whose metadata is rewritten before: until then they name the old files. Returns
    the tables for which that could not be done."""
    catalog, scratch = open_sql_catalog(target.settings, target.home), target.home / "restored-catalog.db"
    assert catalog is not None, "it was asked for before"
    _copy_database(folder.catalog, scratch)
    staged = open_catalog_file(scratch)
    damaged = relocate_tables(staged, move)
    catalog.write(staged.read())
    staged.close()
    catalog.close()
    scratch.unlink()
    return damaged


def _fill_state(folder: BackupFolder, target: _Target) -> None:
    """Fill the state store. The file in the backup is not opened: it may be read-only, and that of an earlier release
    would be migrated."""
    scratch = target.home / "restored-state.db"
    _copy_database(folder.state, scratch)
    database = open_database(state_url(target.settings, target.home))
    try:
        if not (target.begun and holds_copy(scratch, database)):
            copy_file_to_state(scratch, database)
    finally:
        database.close()
    scratch.unlink()


def _copy_database(source: Path, scratch: Path) -> None:
    """Copy an SQLite file. The journal of a copy that was killed would be applied to the new one."""
    for ending in ("", "-journal", "-wal", "-shm"):
        scratch.with_name(scratch.name + ending).unlink(missing_ok=True)
    shutil.copyfile(source, scratch)
