"""A backup is everything of one moment, and restores to a project of its own; no JVM is needed for either."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from pyiceberg.catalog import load_catalog

from penstock import crash_points
from penstock.deploy.backup import backup as module
from penstock.deploy.backup import restore
from penstock.deploy.backup.backup import BackupSource, make_backup
from penstock.deploy.backup.layout import BackupFolder
from penstock.deploy.backup.restore import restore_backup
from penstock.deploy.backup.restore_marker import (
    RestoreMarker,
    UnfinishedRestore,
    hold_marker,
    read_marker,
    require_restored,
)
from penstock.deploy.ownership.storage_claim import claim_storage
from penstock.deploy.ownership.storage_records import StorageRecords
from penstock.errors import Conflict, InvalidRequest
from penstock.lake.spark.catalog import pyiceberg_catalog_properties
from penstock.lake.storage.sql_catalog import open_sql_catalog
from penstock.model.settings import Settings, StateSettings
from penstock.state.batches import BatchLog
from penstock.state.database import MIGRATIONS, Database, open_database
from penstock.state.deployments import Deployments
from penstock.state.lease import Lease
from penstock.state.live_pointer import LivePointer
from penstock.state.made_tables import MadeTables
from penstock.state.schema import METADATA, lease, storage
from penstock.state.tokens import ApiTokens
from postgres_server import Postgres, start_or_skip

FORMER = Path(__file__).parents[3] / "former_release" / "folder.tar.gz"
SETTINGS = Settings()
ROWS = {"events__d1": 12, "events__quarantine": 9, "totals__d1": 12, "totals__d2": 8, "totals__quarantine": 0}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder in which a server has run."""
    with tarfile.open(FORMER) as archive:
        archive.extractall(tmp_path / "project", filter="data")
    return tmp_path / "project" / ".penstock"


@pytest.fixture
def database(home: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{home / 'state.db'}")
    claim_storage(SETTINGS, home, opened)
    yield opened
    opened.close()


@pytest.fixture
def source(home: Path, database: Database) -> BackupSource:
    return BackupSource(SETTINGS, home, database, nullcontext)


def rows_of(home: Path, settings: Settings = SETTINGS) -> dict[str, int]:
    """The rows of each table, read from the files that its metadata names, all below the folder."""
    catalog = load_catalog("lake", **pyiceberg_catalog_properties(settings, home))
    found = {name[-1]: catalog.load_table(name) for name in catalog.list_tables("penstock")}
    assert all(table.location().startswith(f"file://{home}/") for table in found.values())
    return {name: table.scan().to_arrow().num_rows for name, table in found.items()}


def contents(database: Database) -> dict[str, list[tuple[object, ...]]]:
    with database.read() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(sa.select(table))), key=repr)
            for table in METADATA.sorted_tables
            if table not in (lease, storage)
        }


def log_batch(database: Database, home: Path, name: str) -> None:
    log = BatchLog(database)
    (stream,) = log.heads()
    (home / "inbox" / stream / name).write_bytes(b"{}\n")
    log.append(stream, f"{stream}/{name}", 1, 3, datetime.now(timezone.utc))


def test_a_restored_project_is_the_saved_one_in_another_place(
    source: BackupSource, home: Path, database: Database, tmp_path: Path
) -> None:
    made = make_backup(source, tmp_path / "backup")
    assert (made.tables, made.batches) == (5, 6)
    assert "damaged" not in (tmp_path / "backup" / "backup.json").read_text(), "a former release restores it too"
    shutil.move(home, tmp_path / "gone")
    restored = tmp_path / "a new" / "project"
    restore_backup(tmp_path / "backup", restored, ".penstock")
    assert rows_of(restored / ".penstock") == ROWS
    assert (restored / "penstock.toml").read_bytes() == (home.parent / "penstock.toml").read_bytes()
    copy = open_database(f"sqlite:///{restored / '.penstock' / 'state.db'}")
    assert contents(copy) == contents(database)
    assert Lease(copy).read().is_free
    assert ApiTokens(copy).find((restored / ".penstock" / "admin_token").read_text().strip()) is not None
    assert StorageRecords(copy).find("warehouse") is None
    claim_storage(SETTINGS, restored / ".penstock", copy)
    copy.close()
    assert rows_of(restored / ".penstock") == ROWS


def migrate_file(path: Path, revision: str) -> None:
    """Make a state store one of an earlier revision."""
    opened = open_database(f"sqlite:///{path}")
    with opened.write() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
    opened.close()


@pytest.mark.parametrize("revision", ["head", "0005"])
def test_the_backup_stays_as_it_is_and_restores_many_times(source: BackupSource, tmp_path: Path, revision: str) -> None:
    make_backup(source, tmp_path / "backup")
    if revision != "head":  # an earlier release made it
        migrate_file(tmp_path / "backup" / "state.db", revision)
    before = {path: path.read_bytes() for path in (tmp_path / "backup").rglob("*") if path.is_file()}
    for name in ("one", "two"):
        restore_backup(tmp_path / "backup", tmp_path / name, ".penstock")
        assert rows_of(tmp_path / name / ".penstock") == ROWS
    assert {path: path.read_bytes() for path in (tmp_path / "backup").rglob("*") if path.is_file()} == before


def test_rows_that_arrive_meanwhile_are_in_the_log_and_on_disk_or_in_neither(
    source: BackupSource, home: Path, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch before and after each part that is copied."""
    number = iter(range(100))
    for name in ("structure_digest", "copy_state_to_file", "read_metadata", "open_catalog_file"):
        monkeypatch.setattr(module, name, _posting(getattr(module, name), lambda: _post(database, home, next(number))))
    make_backup(source, tmp_path / "backup")
    folder = BackupFolder(tmp_path / "backup")
    copy = open_database(f"sqlite:///{folder.state}")
    (stream,) = BatchLog(copy).heads()
    logged = BatchLog(copy).read_after(stream, 0, 10_000, 10**9)
    copy.close()
    assert len(logged) > 6
    assert [each.number for each in logged] == list(range(1, len(logged) + 1))
    assert all((folder.inbox / each.segment).stat().st_size == each.bytes for each in logged)


def _post(database: Database, home: Path, number: int) -> None:
    log_batch(database, home, f"{number:032x}.ndjson")


def _posting(call: Callable[..., object], post: Callable[[], None]) -> Callable[..., object]:
    def posting(*arguments: object) -> object:
        post()
        result = call(*arguments)
        post()
        return result

    return posting


def test_a_deployment_that_changes_its_tables_meanwhile_makes_it_begin_anew(
    source: BackupSource, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    copies, real = [], module.copy_state_to_file

    def copy_and_change(store: Database, path: Path) -> None:
        copies.append(path)
        if len(copies) < 3:
            _change(database)
        real(store, path)

    monkeypatch.setattr(module, "copy_state_to_file", copy_and_change)
    make_backup(source, tmp_path / "backup")
    assert len(copies) == 3
    monkeypatch.setattr(module, "copy_state_to_file", lambda store, path: (_change(database), real(store, path)))
    with pytest.raises(Conflict, match="no moment was found"):
        make_backup(source, tmp_path / "second")
    assert not (tmp_path / "second").exists()
    (tmp_path / "backup" / "backup.json").unlink()
    with pytest.raises(InvalidRequest, match="no complete backup"):
        restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock")


@pytest.mark.parametrize(("pattern", "why"), [("*.parquet", "cut"), ("metadata/snap-*", "cut"), ("*.json", "gone")])
def test_a_damaged_table_is_named_and_the_others_are_saved(
    source: BackupSource, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, why: str
) -> None:
    """Restored, it is as damaged as it was, and put back as there."""
    path = max((home / "warehouse" / "penstock" / "events__d1").rglob(pattern))
    content = path.read_bytes()
    path.unlink()
    if why == "cut":
        path.write_bytes(content[: len(content) // 2])
    monkeypatch.setattr(module, "PAUSE", 0.0)
    made = make_backup(source, tmp_path / "backup")
    assert list(made.damaged) == ["events__d1"]
    assert path.name in made.damaged["events__d1"]
    assert made.tables == 4
    restored = tmp_path / "restored"
    assert restore_backup(tmp_path / "backup", restored, ".penstock").damaged == made.damaged
    place = restored / ".penstock"
    start(place)
    catalog = load_catalog("lake", **pyiceberg_catalog_properties(SETTINGS, place))
    others = {name for name in ROWS if name != "events__d1"}
    assert {name: catalog.load_table(("penstock", name)).scan().to_arrow().num_rows for name in others} == {
        name: ROWS[name] for name in others
    }
    (place / path.relative_to(home)).unlink(missing_ok=True)
    (place / path.relative_to(home)).write_bytes(content)
    start(place)
    assert rows_of(place) == ROWS


def start(home: Path) -> None:
    """What a server does with the storage before it reads it."""
    opened = open_database(f"sqlite:///{home / 'state.db'}")
    claim_storage(SETTINGS, home, opened)
    opened.close()


def test_damage_that_clones_share_is_that_of_each(
    source: BackupSource, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    catalog = open_sql_catalog(SETTINGS, home)
    assert catalog is not None
    rows = catalog.read()
    found = next(each for each in rows.tables if each.name == "totals__d2")
    catalog.write(replace(rows, tables=(*rows.tables, replace(found, name="totals__d3"))))
    next((home / "warehouse" / "penstock" / "totals__d2").rglob("*.parquet")).write_bytes(b"")
    assert list(make_backup(source, tmp_path / "backup").damaged) == ["totals__d2", "totals__d3"]


def test_damage_in_the_backup_itself_is_named(source: BackupSource, tmp_path: Path) -> None:
    make_backup(source, tmp_path / "backup")
    path = next((tmp_path / "backup" / "warehouse" / "penstock" / "totals__d2" / "metadata").glob("*-m0.avro"))
    path.unlink()
    assert list(restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock").damaged) == ["totals__d2"]


@pytest.mark.parametrize("own_settings", [True, False])
@pytest.mark.parametrize(
    ("point", "at"), [("restore.files", 1), ("restore.catalog", 1), ("state.before", 3), ("restore.state", 1)]
)
def test_a_restore_that_was_killed_is_run_again(
    source: BackupSource, database: Database, tmp_path: Path, point: str, at: int, own_settings: bool
) -> None:
    make_backup(source, tmp_path / "backup")
    restored = tmp_path / "restored"
    if own_settings:
        restored.mkdir()
        (restored / "penstock.toml").write_text(f'[inbox]\nfolder = "{tmp_path}/inbox"\n')
    crash_points.arm(point, at, lambda: None)
    with pytest.raises(crash_points.Crashed):
        restore_backup(tmp_path / "backup", restored, ".penstock")
    crash_points.disarm()
    file = next((restored / ".penstock" / "warehouse").rglob("*.parquet"))
    file.unlink()
    file.write_bytes(b"cut")
    with pytest.raises(UnfinishedRestore, match="has not ended") as refused:
        require_restored(restored / ".penstock")
    assert f"penstock restore {tmp_path / 'backup'} {restored}" in str(refused.value.hint)
    restore_backup(tmp_path / "backup", restored, ".penstock")
    require_restored(restored / ".penstock")
    assert rows_of(restored / ".penstock") == ROWS
    assert (restored / "penstock.toml").exists()
    assert any(restored.rglob("*.datasource")) is not own_settings
    inbox = tmp_path / "inbox" if own_settings else restored / ".penstock" / "inbox"
    assert len(list(inbox.rglob("*.ndjson"))) == 6
    copy = open_database(f"sqlite:///{restored / '.penstock' / 'state.db'}")
    assert contents(copy) == contents(database)
    copy.close()
    with pytest.raises(Conflict, match="is not empty"):
        restore_backup(tmp_path / "backup", restored, ".penstock")


def test_two_restores_at_once_into_one_folder_are_refused(source: BackupSource, tmp_path: Path) -> None:
    make_backup(source, tmp_path / "backup")
    marker = RestoreMarker(str(tmp_path / "backup"), False, "/w", "/i")
    with (
        hold_marker(tmp_path / "restored" / ".penstock", marker, None),
        pytest.raises(UnfinishedRestore, match="another restore"),
    ):
        restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock")


def test_a_restore_that_was_prepared_while_another_one_ended_changes_nothing(
    source: BackupSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It saw the marker of the other one, and could think that it goes on with a restore that was killed."""
    make_backup(source, tmp_path / "backup")
    home = tmp_path / "restored" / ".penstock"
    marker = RestoreMarker(str(tmp_path / "backup"), False, str(home / "warehouse"), str(home / "inbox"))
    other = hold_marker(home, marker, None)
    other.__enter__()
    before = restore.hold_marker

    def hold(home: Path, marker: RestoreMarker, begun: RestoreMarker | None) -> AbstractContextManager[None]:
        other.__exit__(None, None, None)
        return before(home, marker, begun)

    monkeypatch.setattr(restore, "hold_marker", hold)
    with pytest.raises(UnfinishedRestore, match="at the same time"):
        restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock")
    assert not (home / "warehouse").exists()


def test_a_restore_that_was_killed_goes_on_with_the_same_backup_only(source: BackupSource, tmp_path: Path) -> None:
    """Wherever that lies now. Parts of two backups would be no project."""
    make_backup(source, tmp_path / "backup")
    made_at = BackupFolder(tmp_path / "backup").read_info().made_at.isoformat()
    home = tmp_path / "restored" / ".penstock"
    marker = RestoreMarker("/elsewhere", False, str(home / "warehouse"), str(home / "inbox"), made_at)
    other = replace(marker, made_at="2020-01-01T00:00:00+00:00")
    with pytest.raises(crash_points.Crashed), hold_marker(home, other, None):
        raise crash_points.Crashed
    with pytest.raises(UnfinishedRestore, match="2020-01-01") as raised:
        restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock")
    assert raised.value.hint is not None
    assert made_at in raised.value.hint
    with pytest.raises(crash_points.Crashed), hold_marker(home, marker, other):
        raise crash_points.Crashed
    restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock")
    assert read_marker(home) is None


def test_the_marker_of_a_restore_that_goes_on_is_never_empty(tmp_path: Path) -> None:
    """It is another file, and not written anew: cut between, it would let a server start on a part of a project."""
    marker = RestoreMarker("/backup", False, "/w", "/i")
    with pytest.raises(crash_points.Crashed), hold_marker(tmp_path, marker, None):
        raise crash_points.Crashed
    again = replace(marker, backup="/moved")
    with (tmp_path / "restore.json").open("rb") as first:
        with pytest.raises(crash_points.Crashed), hold_marker(tmp_path, again, marker):
            raise crash_points.Crashed
        assert b'"/backup"' in first.read()
    assert read_marker(tmp_path) == again


def _change(database: Database) -> None:
    """As the watch for drift does now and then."""
    table = MadeTables(database).all()[0]
    MadeTables(database).keep([replace(table, newest=table.newest + 1)])


def test_nothing_is_overwritten(source: BackupSource, home: Path, tmp_path: Path) -> None:
    make_backup(source, tmp_path / "backup")
    with pytest.raises(InvalidRequest, match="is not empty"):
        make_backup(source, tmp_path / "backup")
    with pytest.raises(InvalidRequest, match="inside what is to be saved"):
        make_backup(source, tmp_path / "elsewhere" / ".." / "project" / ".penstock" / "backup")
    with pytest.raises(InvalidRequest, match="inside what is to be saved"):
        make_backup(source, home.parent / "backups" / "monday")  # its datafiles would be deployed
    (tmp_path / "link").symlink_to(home.parent)
    with pytest.raises(InvalidRequest, match="inside what is to be saved"):
        make_backup(replace(source, home=tmp_path / "link" / home.name), home / "backup")
    with pytest.raises(InvalidRequest, match="absolute path"):
        make_backup(source, Path("backup"))
    with pytest.raises(InvalidRequest, match="printable"):
        make_backup(source, tmp_path / "a\0b")
    with pytest.raises(Conflict, match="is not empty"):
        restore_backup(tmp_path / "backup", home.parent, ".penstock")


def test_files_of_a_folder_without_settings_are_not_overwritten(
    source: BackupSource, home: Path, tmp_path: Path
) -> None:
    make_backup(source, tmp_path / "backup")
    datafiles = [path.relative_to(home.parent) for path in home.parent.rglob("*.datasource")]
    own = tmp_path / "own" / datafiles[0]
    own.parent.mkdir(parents=True)
    own.write_text("SCHEMA >\n    mine String\n")
    with pytest.raises(Conflict, match="is another file"):
        restore_backup(tmp_path / "backup", tmp_path / "own", ".penstock")
    assert own.read_text() == "SCHEMA >\n    mine String\n"
    assert not (tmp_path / "own" / ".penstock").exists()
    shutil.copyfile(home.parent / datafiles[0], own)  # the same file is in nobody's way
    restore_backup(tmp_path / "backup", tmp_path / "own", ".penstock")
    assert rows_of(tmp_path / "own" / ".penstock") == ROWS


def test_settings_that_name_the_storage_of_the_saved_project_are_not_used(
    source: BackupSource, home: Path, tmp_path: Path
) -> None:
    (home.parent / "penstock.toml").write_text('[inbox]\nfolder = "/mnt/inbox"\n')
    make_backup(source, tmp_path / "backup")
    with pytest.raises(Conflict, match="outside the project's folder"):
        restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock")
    (tmp_path / "restored").mkdir()
    (tmp_path / "restored" / "penstock.toml").write_text(f'[inbox]\nfolder = "{tmp_path}/other inbox"\n')
    restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock")
    assert len(list((tmp_path / "other inbox").rglob("*.ndjson"))) == 6


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    server = start_or_skip()
    yield server
    server.end()


def test_from_sqlite_to_postgres_and_back(
    source: BackupSource, database: Database, postgres: Postgres, tmp_path: Path
) -> None:
    """Ids go on after the greatest one."""
    make_backup(source, tmp_path / "backup")
    url = postgres.store()
    place = tmp_path / "on postgres"
    place.mkdir()
    settings = Settings(state=StateSettings(url=url))
    (place / "penstock.toml").write_text(f'[state]\nurl = "{url}"\n')
    restore_backup(tmp_path / "backup", place, ".penstock")
    there = open_database(url)
    assert contents(there) == contents(database)
    assert LivePointer(there).read().live == 2
    made = Deployments(there).create("next", 2, {}, {}, Deployments(there).get(2).manifest)
    assert made.id == 3
    make_backup(BackupSource(settings, place / ".penstock", there, nullcontext), tmp_path / "from postgres")
    saved = contents(there)
    shutil.rmtree(place / ".penstock")
    with pytest.raises(Conflict, match="in use"):
        restore_backup(tmp_path / "from postgres", place, ".penstock")
    there.close()
    restored = tmp_path / "back"
    restored.mkdir()
    (restored / "penstock.toml").write_text("")
    restore_backup(tmp_path / "from postgres", restored, ".penstock")
    back = open_database(f"sqlite:///{restored / '.penstock' / 'state.db'}")
    assert contents(back) == saved
    back.close()
    assert rows_of(restored / ".penstock") == ROWS


def test_a_catalog_in_use_is_not_written_to(source: BackupSource, home: Path, tmp_path: Path) -> None:
    make_backup(source, tmp_path / "backup")
    (tmp_path / "restored").mkdir()
    text = f'[catalog]\nuri = "jdbc:sqlite:file:{home}/catalog.db"\nwarehouse = "file://{tmp_path}/w"\n'
    (tmp_path / "restored" / "penstock.toml").write_text(text)
    with pytest.raises(Conflict, match="has tables already"):
        restore_backup(tmp_path / "backup", tmp_path / "restored", ".penstock")
    catalog = open_sql_catalog(SETTINGS, home)
    assert catalog is not None
    assert len(catalog.read().tables) == 5
