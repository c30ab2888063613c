"""What is said of a table that somebody else changed, on real Iceberg tables (through PyIceberg, no JVM)."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergTable
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from penstock.lake.drift import recorded_tables
from penstock.lake.drift.observed_table import observe_table
from penstock.lake.drift.recorded_tables import DriftedTable, RecordedTables
from penstock.lake.spark.errors import has_spark_ended
from penstock.lake.spark.names import MADE_BY
from penstock.lake.tables.physical_tables import DamagedTable, find_table
from penstock.lake.tables.snapshots import FLOWS
from penstock.model.manifest import Field
from penstock.parse.column_types import parse_type
from penstock.state.database import open_database
from penstock.state.made_tables import MadeTables

SCHEMA = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "n", IntegerType()), NestedField(3, "code", StringType())
)
OURS = {FLOWS: "1", "penstock.cursor.landing.t": "batches:1"}
SETTLED = {MADE_BY: "penstock"}


class World:
    """One table `t`, its records, and what a second server would make of both."""

    def __init__(self, folder: Path):
        uri = f"sqlite:///{folder / 'catalog.db'}"
        self.catalog = SqlCatalog("lake", uri=uri, warehouse=(folder / "warehouse").as_uri())
        self.catalog.create_namespace("penstock")
        self.folder = folder / "warehouse"
        self.database = open_database(f"sqlite:///{folder / 'state.db'}")
        self.make()
        self.recorded = self.another_server()

    def another_server(self) -> RecordedTables:
        return RecordedTables(self.load, MadeTables(self.database))

    def load(self, table: str) -> IcebergTable | None:
        return find_table(self.catalog, table)

    def make(self) -> None:
        self.catalog.create_table("penstock.t", SCHEMA)

    @property
    def table(self) -> IcebergTable:
        return self.catalog.load_table("penstock.t")

    def append(self, *ids: int, **properties: str) -> int:
        """Append rows; returns the snapshot."""
        fields = [("id", pa.int64()), ("n", pa.int32()), ("code", pa.string())]
        rows = pa.Table.from_pylist([{"id": each, "n": each, "code": "a"} for each in ids], pa.schema(fields))
        self.table.append(rows, snapshot_properties=properties)
        return self.current

    @property
    def current(self) -> int:
        found = self.table.current_snapshot()
        assert found is not None
        return found.snapshot_id

    def go_to(self, snapshot: int) -> None:
        self.table.manage_snapshots().set_current_snapshot(snapshot).commit()

    def found(self) -> list[tuple[str, str]]:
        """(kind, code) of each difference."""
        return [(each.kind, each.problem.code) for each in self.recorded.differences("t")]

    def told(self) -> str:
        (found,) = self.recorded.differences("t")
        return found.problem.message

    def stopped(self) -> bool:
        """Whether a step that begins now is refused."""
        try:
            self.recorded.verify(["t"])
        except DriftedTable:
            return True
        return False


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.database.close()


def test_what_penstock_does_is_no_difference(world: World) -> None:
    world.recorded.record_created("t")
    assert world.found() == []
    world.append(1, 2, **OURS)
    world.append(3, **OURS)
    world.table.delete("id = 3", snapshot_properties=SETTLED)
    assert world.found() == []
    assert not world.stopped()
    assert world.recorded.is_own("t")
    world.recorded.save()
    assert world.another_server().differences("t") == ()


def test_the_columns_that_there_are(world: World) -> None:
    """A column that was to be dropped, but is still there, is one of them."""
    world.recorded.record_created("t")
    with world.recorded.changing("t", ["n", "code"]), world.table.update_schema() as update:
        update.delete_column("n")
    assert world.recorded.column_names() == {"t": ("id", "code")}


def test_dropped_and_put_back(world: World) -> None:
    world.recorded.record_created("t")
    world.append(1, **OURS)
    metadata = world.table.metadata_location
    world.catalog.drop_table("penstock.t")
    assert world.found() == [("dropped", "dropped-table")]
    assert world.stopped()
    world.catalog.register_table("penstock.t", metadata)
    assert world.found() == []


def test_dropped_and_made_again_is_another_table(world: World) -> None:
    world.recorded.record_created("t")
    world.append(1, **OURS)
    world.catalog.drop_table("penstock.t")
    world.make()
    assert world.found() == [("replaced", "replaced-table")]
    assert world.stopped()
    assert not world.recorded.is_own("t")
    world.append(1, **OURS)
    assert world.found() == [("replaced", "replaced-table")]


def test_a_look_counts_for_a_second(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.recorded.record_created("t")
    assert not world.stopped()
    world.catalog.drop_table("penstock.t")
    assert not world.stopped()
    monkeypatch.setattr(recorded_tables, "CHECK_VALID_SECONDS", 0.0)
    assert world.stopped()


def test_files_that_are_gone(world: World) -> None:
    world.recorded.record_created("t")
    shutil.rmtree(world.folder)
    assert world.found() == [("damaged", "damaged-table")]
    assert "gone" in world.told()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: bytes(len(content)),
        lambda content: b"\xff\xfe" + content,
        lambda content: b"{}",
        lambda content: b"[1]",
    ],
    ids=["empty", "cut", "zeros", "no text", "no metadata", "a list"],
)
def test_a_damaged_metadata_file_is_drift_of_its_table(world: World, damage: Callable[[bytes], bytes]) -> None:
    world.recorded.record_created("t")
    file = Path(urlsplit(world.table.metadata_location).path)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert world.found() == [("damaged", "damaged-table")]
    assert world.another_server().is_unsound()
    with pytest.raises(DamagedTable):
        world.load("t")
    file.write_bytes(whole)
    assert world.found() == []


def _drop_code(world: World) -> None:
    with world.table.update_schema(allow_incompatible_changes=True) as change:
        change.delete_column("code")


def _make_code_again(world: World) -> None:
    _drop_code(world)
    with world.table.update_schema() as change:
        change.add_column("code", StringType())


def _rename_code(world: World) -> None:
    with world.table.update_schema() as change:
        change.rename_column("code", "kode")


def _widen_n(world: World) -> None:
    with world.table.update_schema() as change:
        change.update_column("n", LongType())


def _add_more(world: World) -> None:
    with world.table.update_schema() as change:
        change.add_column("more", StringType())


@pytest.mark.parametrize(
    ("alter", "told", "stops"),
    [
        (_drop_code, "`code` was dropped", True),
        (_make_code_again, "`code` was dropped and created again", True),
        (_rename_code, "`code` was renamed to `kode`", True),
        (_widen_n, "`n` was int and is long", False),
        (_add_more, "`more` was added", False),
    ],
)
def test_columns(world: World, alter: Callable[[World], None], told: str, stops: bool) -> None:
    world.recorded.record_created("t")
    alter(world)
    assert world.found() == [("columns", "changed-columns")]
    assert world.told().endswith(told)
    assert world.stopped() == stops


def test_a_change_of_penstocks_own_hides_no_other(world: World) -> None:
    world.recorded.record_created("t")
    _add_more(world)
    with world.recorded.changing("t", ["n"]):
        _widen_n(world)
    assert world.told().endswith("from outside: `more` was added")
    with world.recorded.changing("t", ["more"]):
        pass
    assert world.found() == []
    assert world.another_server().differences("t") == ()


def test_who_looks_during_a_change_of_penstocks_own_waits_for_its_end(world: World) -> None:
    """A kill at random found it: the column of a retired version was dropped and not recorded yet, when a flow
    that reads the table began its next step."""
    world.recorded.record_created("t")
    with ThreadPoolExecutor(1) as pool:
        with world.recorded.changing("t", ["code"]):
            _drop_code(world)
            look = pool.submit(world.recorded.verify, ["t"])
            assert wait([look], 0.3).not_done
        look.result(10)


def test_a_look_that_a_change_overtakes_is_made_again(world: World) -> None:
    world.recorded.record_created("t")
    load, changed = world.load, threading.Event()

    def overtaken(table: str) -> IcebergTable | None:
        if not changed.is_set():
            changed.set()
            with recorded_too.changing("t", ["code"]):
                _drop_code(world)
        return load(table)

    recorded_too = RecordedTables(overtaken, MadeTables(world.database))
    assert recorded_too.differences("t") == ()


def test_a_change_that_fails_is_not_recorded(world: World) -> None:
    world.recorded.record_created("t")

    def fails() -> None:
        with world.recorded.changing("t", ["code"]):
            _drop_code(world)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert world.told().endswith("`code` was dropped")


def test_what_a_crash_left_unrecorded_is_penstocks_own(world: World) -> None:
    world.recorded.record_created("t")
    _add_more(world)
    _widen_n(world)
    _drop_code(world)
    wanted = {
        name: Field(name, parse_type(type)) for name, type in {"id": "Int64", "n": "Int64", "more": "String"}.items()
    }
    world.recorded.reconcile("t", {name: wanted[name] for name in ("id", "n")})
    assert world.told().endswith("from outside: `more` was added")
    world.recorded.reconcile("t", wanted)
    assert world.found() == []


def test_a_wanted_column_that_is_gone_is_not_agreed_to(world: World) -> None:
    world.recorded.record_created("t")
    _make_code_again(world)
    world.recorded.reconcile("t", {"code": Field("code", parse_type("String"))})
    assert world.told().endswith("`code` was dropped and created again")


@pytest.mark.parametrize(("wanted", "agreed"), [("Int64", True), ("Int32", False), ("Float64", False)])
def test_a_widened_column_is_agreed_to_as_wanted(world: World, wanted: str, agreed: bool) -> None:
    world.recorded.record_created("t")
    _widen_n(world)
    others = {name: Field(name, parse_type("String")) for name in ("id", "code")}
    world.recorded.reconcile("t", {**others, "n": Field("n", parse_type(wanted))})
    assert (world.found() == []) == agreed


def test_rows_from_outside_do_not_stop_flows(world: World) -> None:
    world.recorded.record_created("t")
    world.append(1, 2, **OURS)
    foreign = world.append(3)
    world.append(4, **OURS)
    assert world.found() == [("rows", "foreign-rows")]
    assert world.told().endswith(f"from outside: 1 appended (snapshot {foreign})")
    assert not world.stopped()
    world.table.delete("id = 3")
    world.table.delete("id = 1")
    assert "1 appended" in world.told()
    assert "1 deleted" in world.told()
    assert "2 replaced by 1" in world.told()


def test_rolled_back_and_put_back(world: World) -> None:
    world.recorded.record_created("t")
    first = world.append(1, **OURS)
    last = world.append(2, **OURS)
    world.go_to(first)
    assert world.found() == [("rolled_back", "rolled-back-table")]
    assert world.stopped()
    (found,) = world.recorded.differences("t")
    assert f"set_current_snapshot('penstock.t', {last})" in str(found.problem.hint)
    world.append(9)
    assert ("rolled_back", "rolled-back-table") in world.found()
    world.go_to(last)
    assert world.found() == []


def test_rows_of_others_may_be_rolled_back(world: World) -> None:
    world.recorded.record_created("t")
    last = world.append(1, **OURS)
    world.append(9)
    assert world.found() == [("rows", "foreign-rows")]
    world.go_to(last)
    assert world.found() == []


def test_settled_columns_may_not_be_rolled_back(world: World) -> None:
    """A manifest says of them that they need not be computed any more."""
    world.recorded.record_created("t")
    first = world.append(1, 2, **OURS)
    world.table.delete("id = 2", snapshot_properties=SETTLED)
    world.go_to(first)
    assert world.found() == [("rolled_back", "rolled-back-table")]


def test_a_rollback_is_not_forgotten_when_the_snapshots_expire(world: World) -> None:
    world.recorded.record_created("t")
    first = world.append(1, **OURS)
    last = world.append(2, **OURS)
    assert world.found() == []
    world.recorded.save()
    world.go_to(first)
    world.table.maintenance.expire_snapshots().by_id(last).commit()
    assert world.found() == [("rolled_back", "rolled-back-table")]
    world.recorded = world.another_server()
    assert world.found() == [("rolled_back", "rolled-back-table")]


def test_old_snapshots_may_expire(world: World) -> None:
    world.recorded.record_created("t")
    first = world.append(1, **OURS)
    world.append(2, **OURS)
    world.table.maintenance.expire_snapshots().by_id(first).commit()
    assert world.found() == []


def test_without_the_progress_of_its_flows_a_table_is_left_alone(world: World) -> None:
    """Its flows would begin at the beginning and fill it a second time."""
    world.recorded.record_created("t")
    last = world.append(1, **OURS)
    world.append(9)
    assert world.found() == [("rows", "foreign-rows")]
    world.recorded.save()
    world.table.maintenance.expire_snapshots().by_id(last).commit()
    assert world.found() == [("rolled_back", "rolled-back-table"), ("rows", "foreign-rows")]


def test_a_table_of_before_there_were_records_is_taken_as_it_is(world: World) -> None:
    world.append(1, **OURS)
    world.table.delete("id = 1")  # as columns were settled then
    assert world.found() == []
    world.recorded.adopt("t")
    assert world.found() == []
    world.append(9)
    assert world.found() == [("rows", "foreign-rows")]
    world.recorded.adopt("t")
    assert world.found() == [("rows", "foreign-rows")]


def test_a_clone_takes_over_what_was_accepted(world: World) -> None:
    world.append(1, **OURS)
    world.append(9)
    world.recorded.adopt("t")
    world.catalog.register_table("penstock.clone", world.table.metadata_location)
    world.recorded.record_created("clone")
    assert world.recorded.differences("clone") == ()
    world.append(10)
    assert world.found() == [("rows", "foreign-rows")]
    assert world.recorded.differences("clone") == ()


def test_a_dropped_table_is_forgotten(world: World) -> None:
    world.recorded.record_created("t")
    world.catalog.drop_table("penstock.t")
    world.recorded.record_dropped("t")
    world.make()
    assert world.found() == []
    assert MadeTables(world.database).all() == ()


def test_a_record_and_the_table_agree(world: World) -> None:
    world.append(1, **OURS)
    world.recorded.record_created("t")
    (kept,) = MadeTables(world.database).all()
    now = observe_table(world.table)
    assert (kept.uuid, kept.columns, kept.newest) == (now.uuid, now.columns, 1)
    assert [each.name for each in kept.columns] == ["id", "n", "code"]


def test_a_process_beside_the_server_reads_the_records_again(world: World) -> None:
    """A deployment that was discarded drops its columns, while a trial process runs on."""
    world.recorded.record_created("t")
    with world.recorded.changing("t", ["more"]):
        _add_more(world)
    beside = world.another_server()
    with (
        world.recorded.changing("t", ["more"]),
        world.table.update_schema(allow_incompatible_changes=True) as change,
    ):
        change.delete_column("more")
    assert [each.stops for each in beside.differences("t")] == [True]
    beside.read_again(["t", "other"])
    assert beside.differences("t") == ()
    with world.table.update_schema(allow_incompatible_changes=True) as change:
        change.delete_column("code")
    beside.read_again(["t"])
    with pytest.raises(DriftedTable, match="`code` was dropped"):
        beside.verify(["t"])


def test_a_packed_file_that_was_cut_is_no_end_of_spark(world: World) -> None:
    """The flow of this table would be counted as one that ends Spark, and tried in a process of its own."""
    file = Path(urlsplit(world.table.metadata_location).path)
    packed = file.with_name("00001.gz.metadata.json")
    packed.write_bytes(gzip.compress(file.read_bytes())[:-20])
    with sqlite3.connect(world.folder.parent / "catalog.db") as catalog:
        catalog.execute("UPDATE iceberg_tables SET metadata_location = ?", [packed.as_uri()])
    with pytest.raises(DamagedTable) as damaged:
        world.load("t")
    assert not has_spark_ended(damaged.value)
