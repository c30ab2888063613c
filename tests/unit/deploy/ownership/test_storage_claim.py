"""A warehouse and an inbox have one state store; a folder that is moved or copied takes its own along."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog

from penstock import crash_points
from penstock.deploy.ownership.storage_claim import ForeignStorage, claim_storage, release_storage
from penstock.errors import Failed
from penstock.lake.spark.catalog import pyiceberg_catalog_properties
from penstock.lake.storage.avro_files import read_avro
from penstock.lake.storage.local_paths import FolderMove
from penstock.lake.storage.marker import FILE
from penstock.lake.tables.physical_tables import DamagedTable, find_table
from penstock.model.settings import InboxSettings, Settings, StateSettings
from penstock.state.database import Database, open_database

FORMER = Path(__file__).parents[3] / "former_release" / "folder.tar.gz"
SETTINGS = Settings()


class Folder:
    """A project's `.penstock` folder, and what a start of its server does."""

    def __init__(self, home: Path, settings: Settings = SETTINGS):
        self.home, self.settings = home, settings
        home.mkdir(parents=True, exist_ok=True)

    def start(self, adopt: bool = False) -> None:
        database = self.database()
        try:
            if adopt:
                release_storage(self.settings, self.home, database)
            claim_storage(self.settings, self.home, database)
        finally:
            database.close()

    def database(self) -> Database:
        return open_database(self.settings.state.url or f"sqlite:///{self.home / 'state.db'}")

    def copy_to(self, home: Path) -> Folder:
        shutil.copytree(self.home, home)
        return Folder(home, self.settings)

    def rows(self) -> dict[str, int]:
        """The rows of each table, read from the files that its metadata names."""
        catalog = load_catalog("lake", **pyiceberg_catalog_properties(self.settings, self.home))
        found = {name[-1]: catalog.load_table(name) for name in catalog.list_tables("penstock")}
        assert all(table.location().startswith(f"file://{self.home}/") for table in found.values())
        return {name: table.scan().to_arrow().num_rows for name, table in found.items()}

    def files(self) -> dict[str, bytes]:
        return {
            str(path): path.read_bytes() for path in self.home.rglob("*") if path.is_file() and path.suffix != ".db"
        }


ROWS = {"events__d1": 12, "events__quarantine": 9, "totals__d1": 12, "totals__d2": 8, "totals__quarantine": 0}


@pytest.fixture
def former(tmp_path: Path) -> Folder:
    """A folder of the former release, which knew no markers; it was made at another place."""
    with tarfile.open(FORMER) as archive:
        archive.extractall(tmp_path / "first", filter="data")
    return Folder(tmp_path / "first" / ".penstock")


def test_a_folder_that_was_moved_before_the_upgrade_finds_its_files(former: Folder) -> None:
    former.start()
    assert former.rows() == ROWS
    former.start()


def test_a_moved_folder_goes_on(former: Folder, tmp_path: Path) -> None:
    former.start()
    shutil.move(former.home.parent, tmp_path / "a new plåce")
    moved = Folder(tmp_path / "a new plåce" / ".penstock")
    moved.start()
    assert moved.rows() == ROWS
    moved.start()


def test_a_copy_names_none_of_the_files_of_the_original(former: Folder, tmp_path: Path) -> None:
    former.start()
    before = former.files()
    copy = former.copy_to(tmp_path / "copy" / ".penstock")
    copy.start()
    assert former.files() == before
    assert (copy.rows(), former.rows()) == (ROWS, ROWS)
    for each in (former, copy, former, copy):
        each.start()


def first_file(home: Path, pattern: str) -> Path:
    """A file of the table events__d1 in its newest snapshot."""
    folder = home / "warehouse" / "penstock" / "events__d1" / "metadata"
    found = max(folder.glob("*.metadata.json"))
    if pattern == "*.metadata.json":
        return found
    newest = json.loads(found.read_text())["snapshots"][-1]["manifest-list"].rpartition("/")[2]
    if pattern == "snap-*.avro":
        return folder / newest
    return folder / str(read_avro(folder / newest).records[0]["manifest_path"]).rpartition("/")[2]


@pytest.mark.parametrize(
    ("pattern", "damage", "copied"),
    [
        ("*.metadata.json", "gone", True),
        ("*.metadata.json", "cut", False),
        ("snap-*.avro", "flipped", True),
        ("snap-*.avro", "gone", False),
        ("*-m0.avro", "cut", True),
        ("*-m0.avro", "gone", False),
    ],
)
def test_a_damaged_table_is_the_only_one_that_a_move_leaves_behind(
    former: Folder, tmp_path: Path, pattern: str, damage: str, copied: bool
) -> None:
    """It reads and writes no file of the place where it was, and goes on once its file is put back."""
    former.start()
    place = tmp_path / "second" / ".penstock"
    moved = former.copy_to(place)
    if not copied:
        shutil.rmtree(former.home.parent)
    untouched = former.files()
    path = first_file(moved.home, pattern)
    content = path.read_bytes()
    match damage:
        case "gone":
            path.unlink()
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "flipped":
            path.write_bytes(bytes(255 - each for each in content))
    for _ in range(2):
        moved.start()
        catalog = load_catalog("lake", **pyiceberg_catalog_properties(SETTINGS, place))
        with pytest.raises(DamagedTable, match="next start"):
            find_table(catalog, "events__d1")
        others = {name[-1] for name in catalog.list_tables("penstock")} - {"events__d1"}
        assert {name: catalog.load_table(("penstock", name)).scan().to_arrow().num_rows for name in others} == {
            name: rows for name, rows in ROWS.items() if name != "events__d1"
        }
    shutil.move(place.parent, tmp_path / "third")  # it moves again before somebody finds out
    third = Folder(tmp_path / "third" / ".penstock")
    third.start()
    (third.home / path.relative_to(place)).write_bytes(content)
    third.start()
    assert third.rows() == ROWS
    assert former.files() == untouched


@pytest.mark.parametrize("marked", [True, False])
def test_a_copy_that_is_adopted_names_none_of_the_files_of_the_original(
    former: Folder, tmp_path: Path, marked: bool
) -> None:
    """Such as the copy of a running server's folder, whose state store and markers are not of one moment."""
    former.start()
    copy = former.copy_to(tmp_path / "copy" / ".penstock")
    marker = copy.home / "warehouse" / FILE
    marker.write_text(marker.read_text().replace("stamp", "stamp_")) if marked else marker.unlink()
    before = former.files()
    with pytest.raises((ForeignStorage, Failed)):
        copy.start()
    copy.start(adopt=True)
    assert former.files() == before
    assert (copy.rows(), former.rows()) == (ROWS, ROWS)
    copy.start()


def test_a_warehouse_with_two_paths_is_not_moved(former: Folder, tmp_path: Path) -> None:
    former.start()
    former.home.rename(tmp_path / "real")
    former.home.symlink_to(tmp_path / "real")
    before = former.files()
    other = Folder(former.home, replace(SETTINGS, catalog={"warehouse": str(tmp_path / "real" / "warehouse")}))
    other.start(adopt=True)
    assert {path for path, content in former.files().items() if before[path] != content} <= {
        str(former.home / part / FILE) for part in ("warehouse", "inbox")
    }
    assert former.rows() == ROWS


def test_a_copy_by_hard_links_leaves_the_original_as_it_is(former: Folder, tmp_path: Path) -> None:
    former.start()
    before = former.files()
    shutil.copytree(former.home, tmp_path / "copy", copy_function=_link_files)
    Folder(tmp_path / "copy").start()
    assert {path: content for path, content in former.files().items() if FILE not in path} == {
        path: content for path, content in before.items() if FILE not in path
    }
    assert Folder(tmp_path / "copy").rows() == ROWS


def _link_files(source: str, target: str) -> None:
    path = Path(target)
    path.write_bytes(Path(source).read_bytes()) if path.suffix == ".db" else path.hardlink_to(source)


@pytest.mark.parametrize("crash", ["storage.recorded", "storage.marked"])
@pytest.mark.parametrize("first", [True, False])
def test_a_start_that_dies_while_it_stamps_can_be_repeated(
    former: Folder, monkeypatch: pytest.MonkeyPatch, crash: str, first: bool
) -> None:
    if not first:
        former.start()

    def die(point: str) -> None:
        if point == crash:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("penstock.deploy.ownership.storage_claim.crash_point", die)
        with pytest.raises(KeyboardInterrupt):
            former.start()
    former.start()
    assert crash_points.crash_point is not die


def test_a_relocation_that_dies_is_repeated(former: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the files are in place when the process ends."""
    replaced, real = [], Path.replace

    def replace_some(path: Path, target: Path) -> Path:
        replaced.append(path)
        if len(replaced) == 20:
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace_some)
        with pytest.raises(KeyboardInterrupt):
            former.start()
    former.start()
    assert former.rows() == ROWS


def shared(tmp_path: Path) -> Settings:
    """Storage that the settings name, outside any project's folder."""
    (tmp_path / "store").mkdir(exist_ok=True)
    return Settings(
        catalog={"warehouse": f"file://{tmp_path}/warehouse", "uri": f"jdbc:sqlite:file:{tmp_path}/store/catalog.db"},
        state=StateSettings(url=f"sqlite:///{tmp_path}/store/state.db"),
        inbox=InboxSettings(folder=f"{tmp_path}/inbox"),
    )


def test_two_folders_that_share_all_take_over_from_each_other(tmp_path: Path) -> None:
    first, second = (Folder(tmp_path / name, shared(tmp_path)) for name in ("first", "second"))
    for each in (first, second, first):
        each.start()


@pytest.mark.parametrize("own", ["inbox", "warehouse"])
def test_a_second_folder_that_does_not_share_all_is_refused_before_it_takes_anything(tmp_path: Path, own: str) -> None:
    settings = shared(tmp_path)
    Folder(tmp_path / "first", settings).start()
    apart = replace(settings, inbox=InboxSettings()) if own == "inbox" else replace(settings, catalog={})
    with pytest.raises(ForeignStorage, match=f"the {own} at .*second/{own} has no marker") as refused:
        Folder(tmp_path / "second", apart).start()
    setting = {"inbox": "[inbox] folder", "warehouse": "[catalog] warehouse"}[own]
    assert f"`{setting}`" in str(refused.value.hint)
    Folder(tmp_path / "first", settings).start()


@pytest.mark.parametrize("own", ["inbox", "warehouse"])
def test_storage_of_another_state_store_is_refused(tmp_path: Path, own: str) -> None:
    """Each start removes the raw rows that its own batch log does not name: those of the other store."""
    settings = shared(tmp_path)
    Folder(tmp_path / "first", settings).start()
    with pytest.raises(ForeignStorage, match="belongs to another state store"):
        Folder(tmp_path / "second", replace(settings, state=StateSettings())).start()
    mixed = replace(
        settings, state=StateSettings(), **({"catalog": {}} if own == "inbox" else {"inbox": InboxSettings()})
    )
    with pytest.raises(ForeignStorage, match=f"the {own}"):
        Folder(tmp_path / "third", mixed).start()


@pytest.fixture
def embedded(tmp_path: Path) -> Folder:
    """A folder whose state store is its own, and whose storage is not."""
    return Folder(tmp_path / "first", replace(shared(tmp_path), state=StateSettings()))


def test_a_copied_state_store_is_refused_while_its_original_is_there(embedded: Folder, tmp_path: Path) -> None:
    embedded.start()
    copy = embedded.copy_to(tmp_path / "copy")
    with pytest.raises(ForeignStorage, match=r"of which this state store is a copy"):
        copy.start()
    embedded.start()
    shutil.move(embedded.home, tmp_path / "moved")
    Folder(tmp_path / "moved", embedded.settings).start()


def test_an_older_copy_of_the_state_store_is_refused(embedded: Folder, tmp_path: Path) -> None:
    embedded.start()
    (tmp_path / "saved.db").write_bytes((embedded.home / "state.db").read_bytes())
    embedded.start()
    shutil.copy(tmp_path / "saved.db", embedded.home / "state.db")
    with pytest.raises(ForeignStorage, match="newer copy of this state store"):
        embedded.start()
    embedded.start(adopt=True)
    embedded.start()


def test_a_disk_that_is_not_mounted_is_not_taken_for_an_empty_warehouse(embedded: Folder, tmp_path: Path) -> None:
    embedded.start()
    shutil.move(tmp_path / "warehouse", tmp_path / "away")
    with pytest.raises(ForeignStorage, match="it is empty"):
        embedded.start()
    shutil.move(tmp_path / "away", tmp_path / "warehouse")
    embedded.start()


def test_a_path_is_moved_however_it_is_written() -> None:
    move = FolderMove(Path("/a/b"), Path("/c d"))
    for old, new in {
        "file:/a/b/t/x": "file:/c d/t/x",
        "file:///a/b/t": "file:///c d/t",
        "/a/b": "/c d",
        "/a/bc": "/a/bc",
        "s3://a/b": "s3://a/b",
        "a/b": "a/b",
    }.items():
        assert move.moved(old) == new
