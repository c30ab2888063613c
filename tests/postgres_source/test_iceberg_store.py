"""Every operation on an Iceberg table, killed before and after each commit: fields keep their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DecimalType, FloatType, IntegerType, LongType, NestedField, StringType

from memory_journal import MemoryJournal
from penstock.errors import Conflict, Failed, Unavailable
from penstock.model.settings import StoreSettings
from penstock.postgres.application.phase_runner import PhaseRunner
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedColumn, ReplicatedTable, ReplicatedType
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    AddEnumValue,
    ChangeType,
    DropColumn,
    DropNotNull,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    RenameTable,
    SetNotNull,
    SwapColumns,
)
from penstock.postgres.stores import iceberg_store
from penstock.postgres.stores.iceberg_store import IcebergStore
from penstock.postgres.stores.store_rehearsal import RehearsedPhase
from penstock.postgres.translation.iceberg_changes import is_promotion
from penstock.postgres.translation.refusal import CannotTranslate
from penstock.postgres.translation.store_step import StoreStep

HASH = "sha256:" + "0" * 64
ISSUES = QualifiedName("public", "issues")
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "project", IntegerType()),
    NestedField(3, "title", StringType()),
    NestedField(4, "weight", IntegerType()),
    NestedField(5, "big", LongType()),
    NestedField(6, "price", DecimalType(10, 2)),
    NestedField(7, "score", FloatType()),
)
ROW = {"id": 1, "project": 1, "title": "t", "weight": 2, "big": 3, "price": None, "score": 0.5}
NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)


class Killed(Exception):
    """The process ends here."""


class KillingStore(IcebergStore):
    """Dies before or after its n-th step."""

    def __init__(self, settings: StoreSettings, at: int, *, before: bool):
        super().__init__("lake", settings)
        self._at, self._before, self._count = at, before, 0

    def carry_out(self, step: StoreStep) -> None:
        self._count += 1
        if self._count == self._at and self._before:
            raise Killed
        super().carry_out(step)
        if self._count == self._at:
            raise Killed


@pytest.fixture
def settings(tmp_path: Path) -> StoreSettings:
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}
    return StoreSettings("iceberg", namespace="app", catalog=properties)


@pytest.fixture
def catalog(settings: StoreSettings) -> Catalog:
    made = load_catalog("lake", **settings.catalog)
    made.create_namespace("app")
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "project"))
    made.create_table("app.issues", SCHEMA, partition_spec=spec)
    insert(made, [ROW])
    return made


def insert(catalog: Catalog, rows: Sequence[dict[str, object]], table: str = "app.issues") -> None:
    """As a consumer does: with the columns that the table has."""
    found = catalog.load_table(table)
    schema = found.schema().as_arrow()
    found.append(pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema))


def migrate(settings: StoreSettings, *operations: Operation, rewrites: bool = False) -> Migration:
    migration = Migration("m1", ISSUES, HASH, HASH, rewrites, operations)
    journal = MemoryJournal()
    clock = NOW
    for phase in KillingStore(settings, 0, before=True).phases(migration):
        kills = 0
        while True:
            store = KillingStore(settings, kills // 2 % 2 + 1, before=kills % 2 == 0)
            runner = PhaseRunner(store, journal, timedelta(hours=1), lambda: clock)  # noqa: B023
            try:
                record = runner.run(migration, phase)
            except Killed:
                kills += 1
                assert kills < 50, "it comes to an end"
                continue
            if record.is_finished:
                break
            clock += timedelta(hours=2)
    return migration


def ids(catalog: Catalog, table: str = "app.issues") -> dict[str, int]:
    return {each.name: each.field_id for each in catalog.load_table(table).schema().fields}


def rows(catalog: Catalog, table: str = "app.issues") -> list[dict[str, object]]:
    found: list[dict[str, object]] = catalog.load_table(table).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: int(str(row["id"])))


INTEGER, BIGINT, TEXT = (ReplicatedType(each) for each in ("integer", "bigint", "text"))


def numeric(precision: int, scale: int) -> ReplicatedType:
    return ReplicatedType("numeric", ((precision << 16) | scale) + 4)


@pytest.mark.parametrize(
    ("of", "text", "value"),
    [
        (INTEGER, "5", 5),
        (TEXT, "it's", "it's"),
        (ReplicatedType("boolean"), "t", True),
        (numeric(8, 3), "1.500", Decimal("1.500")),
        (
            ReplicatedType("timestamp with time zone"),
            "2024-01-02 03:04:05+00",
            datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
        ),
    ],
)
def test_old_rows_get_the_value_that_they_have_in_postgres(
    settings: StoreSettings, catalog: Catalog, of: ReplicatedType, text: str, value: object
) -> None:
    migrate(settings, AddColumn("new", of, False, "x", OldRowsValue(text)))
    (row,) = rows(catalog)
    assert row == {**ROW, "new": value}
    insert(catalog, [{**ROW, "id": 2, "new": None}])
    assert [each["new"] for each in rows(catalog)] == [value, None], "NULL that Postgres sent is NULL"


def test_names_change_and_ids_do_not(settings: StoreSettings, catalog: Catalog) -> None:
    before = ids(catalog)
    migrate(settings, RenameColumn("title", "headline"), SwapColumns("weight", "big"))
    after = ids(catalog)
    assert (after["headline"], after["weight"], after["big"]) == (before["title"], before["big"], before["weight"])
    (row,) = rows(catalog)
    assert (row["headline"], row["weight"], row["big"]) == ("t", 3, 2)


def test_dropping_hides_and_deletes_later(settings: StoreSettings, catalog: Catalog) -> None:
    store, journal = IcebergStore("lake", settings), MemoryJournal()
    migration = Migration("m1", ISSUES, HASH, HASH, False, (DropColumn("title"),))
    PhaseRunner(store, journal, timedelta(hours=1), lambda: NOW).run(migration, Phase.post)
    assert "_dropped_title_m1" in ids(catalog)
    PhaseRunner(store, journal, timedelta(hours=1), lambda: NOW).take_back(migration)
    assert rows(catalog) == [ROW]
    migrate(settings, DropColumn("title"))
    assert [each for each in ids(catalog) if "title" in each] == []
    deleted = PhaseRunner(store, journal, timedelta(0), lambda: NOW)
    assert deleted.take_back(migration) == [], "what the journal does not know is not taken back"


class BusyStore(IcebergStore):
    """Somebody appends a row between each reading of the table and the commit, a number of times a step."""

    def __init__(self, settings: StoreSettings, catalog: Catalog, times: int):
        super().__init__("lake", settings)
        self._rows, self._times, self._left = catalog, times, times

    def carry_out(self, step: StoreStep) -> None:
        self._left = self._times
        super().carry_out(step)

    def _commit(self, table: Table, document: Mapping[str, object]) -> None:
        if self._left:
            self._left -= 1
            insert(self._rows, [ROW])
        super()._commit(table, document)


def run_busily(settings: StoreSettings, catalog: Catalog, times: int, *operations: Operation) -> None:
    store, migration = BusyStore(settings, catalog, times), Migration("m1", ISSUES, HASH, HASH, False, operations)
    for phase in store.phases(migration):
        PhaseRunner(store, MemoryJournal(), timedelta(0), lambda: NOW).run(migration, phase)


def test_a_step_goes_behind_the_commits_of_others(settings: StoreSettings, catalog: Catalog) -> None:
    before = ids(catalog)
    added = AddColumn("new", INTEGER, False, "5", OldRowsValue("5"))
    run_busily(settings, catalog, 3, added, RenameColumn("title", "headline"), SwapColumns("weight", "big"))
    after = ids(catalog)
    assert (after["headline"], after["weight"], after["big"]) == (before["title"], before["big"], before["weight"])
    found = rows(catalog)
    assert len(found) > 3, "rows came meanwhile"
    filled = [each for each in found if each["new"] == 5]
    assert len(filled) >= 4, "those that came before the rows were filled have the value, too"


def test_a_table_that_others_change_at_every_moment_is_told(
    settings: StoreSettings, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_store, "_ATTEMPTS", 2)
    with pytest.raises(Failed, match="changed by somebody else"):
        run_busily(settings, catalog, 100, AddColumn("new", INTEGER, False, "5", OldRowsValue("5")))


def test_what_was_deleted_cannot_be_taken_back(settings: StoreSettings, catalog: Catalog) -> None:
    store, journal = IcebergStore("lake", settings), MemoryJournal()
    migration = Migration("m1", ISSUES, HASH, HASH, False, (DropColumn("title"),))
    runner = PhaseRunner(store, journal, timedelta(0), lambda: NOW)
    assert runner.run(migration, Phase.post).is_finished
    with pytest.raises(Conflict, match="has deleted columns"):
        runner.take_back(migration)


def test_types_are_promoted_and_nothing_else(settings: StoreSettings, catalog: Catalog) -> None:
    before = ids(catalog)
    wider = [("weight", BIGINT), ("score", ReplicatedType("double precision")), ("price", numeric(12, 2))]
    migrate(settings, *(ChangeType(name, of, narrowing=False, phase=Phase.pre) for name, of in wider))
    assert ids(catalog) == before
    types = {each.name: str(each.field_type) for each in catalog.load_table("app.issues").schema().fields}
    assert (types["weight"], types["score"], types["price"]) == ("long", "double", "decimal(12, 2)")
    assert rows(catalog) == [ROW]


def test_another_type_is_another_field_whose_rows_are_read_again(settings: StoreSettings, catalog: Catalog) -> None:
    before = ids(catalog)
    migrate(settings, ChangeType("price", numeric(12, 3), narrowing=False, phase=Phase.at_lsn), rewrites=True)
    assert ids(catalog)["price"] not in before.values()


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (ChangeType("price", numeric(12, 3), narrowing=False, phase=Phase.pre), r"cannot make decimal\(10, 2\)"),
        (ChangeType("weight", TEXT, narrowing=True, phase=Phase.at_lsn), "cannot make int"),
        (DropColumn("project"), "a key of app.issues has the column `project`"),
        (RenameColumn("nothing", "x"), "has no column `nothing`"),
        (AddColumn("title", INTEGER, True, None, OldRowsValue(None)), "has a column `title` of string already"),
    ],
)
def test_what_cannot_be_done_is_refused(
    settings: StoreSettings, catalog: Catalog, operation: Operation, told: str
) -> None:
    before = catalog.load_table("app.issues").metadata
    with pytest.raises(CannotTranslate, match=told):
        migrate(settings, operation)
    assert catalog.load_table("app.issues").metadata == before


def test_null_labels_and_names_of_tables(settings: StoreSettings, catalog: Catalog) -> None:
    rename = RenameTable(QualifiedName("public", "tickets"))
    migrate(settings, DropNotNull("id"), AddEnumValue("title", "x", None), rename, SetNotNull("id"))
    assert rows(catalog, "app.tickets") == [ROW]
    assert not catalog.load_table("app.tickets").schema().find_field("id").required


def test_differences_from_postgres(settings: StoreSettings, catalog: Catalog) -> None:
    columns = (
        ReplicatedColumn(1, "id", BIGINT),
        ReplicatedColumn(2, "project", BIGINT),
        ReplicatedColumn(3, "title", TEXT),
        ReplicatedColumn(4, "big", INTEGER),
        ReplicatedColumn(5, "late", TEXT),
    )
    found = IcebergStore("lake", settings).differences(ReplicatedTable(1, ISSUES, columns))
    assert [(each.column, each.loses_values) for each in found] == [
        ("id", True),
        ("project", True),
        ("big", False),
        ("late", True),
    ]


def test_promotions() -> None:
    assert is_promotion("decimal(10, 2)", "decimal(12, 2)")
    assert not is_promotion("decimal(10, 2)", "decimal(12, 3)")
    assert not is_promotion("decimal(10, 2)", "decimal(9, 2)")
    assert not is_promotion("long", "int")


def test_a_rehearsal_leaves_tables_and_files_as_they_are(
    settings: StoreSettings, catalog: Catalog, tmp_path: Path
) -> None:
    before = catalog.load_table("app.issues").metadata
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.name != "catalog.db")
    add = AddColumn("new", INTEGER, False, "5", OldRowsValue("5"))
    operations = (add, RenameColumn("title", "headline"), SwapColumns("weight", "big"), DropColumn("score"))
    migration = Migration("m1", ISSUES, HASH, HASH, True, operations)
    made = IcebergStore("lake", settings).rehearse([RehearsedPhase(migration, phase) for phase in Phase])
    (table,) = made.tables
    assert (table.rows_before, table.rows_after, table.differing, table.not_compared) == (1, 1, (), ("score",))
    assert [each.phase.value for each in made.steps] == ["pre", "at_lsn", "at_lsn", "post", "post"]
    assert catalog.load_table("app.issues").metadata == before
    assert [each for each in catalog.list_namespaces() if "rehearsal" in str(each)] == []
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.name != "catalog.db") == files


def test_a_step_that_was_killed_before_it_was_made_is_taken_back_too(settings: StoreSettings, catalog: Catalog) -> None:
    migration = Migration("m1", ISSUES, HASH, HASH, False, (RenameColumn("title", "headline"),))
    journal = MemoryJournal()
    store = KillingStore(settings, 1, before=True)
    with pytest.raises(Killed):
        PhaseRunner(store, journal, timedelta(0), lambda: NOW).run(migration, Phase.at_lsn)
    runner = PhaseRunner(IcebergStore("lake", settings), journal, timedelta(0), lambda: NOW)
    assert len(runner.take_back(migration)) == 1
    assert rows(catalog) == [ROW]


def test_a_catalog_that_is_away_is_told(settings: StoreSettings, tmp_path: Path) -> None:
    away = replace(settings, catalog={**settings.catalog, "uri": f"sqlite:///{tmp_path}/nothing/here.db"})
    with pytest.raises(Unavailable, match="cannot be reached"):
        IcebergStore("lake", away).differences(ReplicatedTable(1, ISSUES, ()))
