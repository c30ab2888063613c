"""What a translation shows of several phases is what each of them becomes when those before it are carried out."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyiceberg")
pytest.importorskip("chdb")
import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField

from clickhouse_session import ClickHouseSession
from penstock.model.settings import StoreSettings
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedType
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    ChangeType,
    DropColumn,
    OldRowsValue,
    Phase,
    RenameColumn,
    RenameTable,
    SetNotNull,
    SwapColumns,
)
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.stores.iceberg_store import IcebergStore
from penstock.postgres.stores.migration_store import MigrationStore, PlannedStore
from penstock.postgres.stores.store_rehearsal import RehearsedPhase
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from penstock.postgres.translation.store_step import StoreStep

HASH = "sha256:" + "0" * 64
ISSUES, TICKETS = QualifiedName("public", "issues"), QualifiedName("public", "tickets")
INTEGER, BIGINT = ReplicatedType("integer"), ReplicatedType("bigint")
REPLACED = (
    AddColumn("amount", BIGINT, True, None, OldRowsValue("1")),
    RenameColumn("weight", "old_weight"),
    RenameColumn("amount", "weight"),
    DropColumn("old_weight"),
)
MIGRATIONS = (
    Migration("m1", ISSUES, HASH, HASH, False, REPLACED),
    Migration("m2", ISSUES, HASH, HASH, False, (SwapColumns("weight", "big"), RenameTable(TICKETS))),
    Migration("m3", TICKETS, HASH, HASH, False, (ChangeType("n", BIGINT, False, Phase.pre), SetNotNull("weight"))),
)


def check(store: MigrationStore) -> None:
    assert isinstance(store, PlannedStore)
    phases = [RehearsedPhase(migration, phase) for migration in MIGRATIONS for phase in store.phases(migration)]
    shown = store.preview(phases)
    for each, steps in zip(phases, shown, strict=True):
        assert [*map(plain, store.plan(each.migration, each.phase))] == [*map(plain, steps)], each
        for step in steps:
            store.carry_out(step)
    assert any(shown)


def plain(step: StoreStep) -> StoreStep:
    """ClickHouse writes the query of a view without quotes that it does not need."""
    without = [None if each is None else each.replace("`", "") for each in (step.done, step.undo)]
    return StoreStep(step.text.replace("`", ""), step.about, *without, step.deletes)


def test_clickhouse() -> None:
    session = ClickHouseSession()
    columns = "(id Int64, weight Nullable(Int64), big Nullable(Int64), n Int32) ENGINE = ReplacingMergeTree ORDER BY id"
    session.run(f"CREATE TABLE {session.database}.issues {columns}")
    session.run(f"CREATE TABLE {session.database}.numbers {columns}")
    view = f"CREATE MATERIALIZED VIEW {session.database}.by_id TO {session.database}.numbers"
    session.run(f"{view} AS SELECT id, n FROM {session.database}.issues")
    settings = StoreSettings("clickhouse", database=session.database)
    check(ClickHouseStore("warehouse", settings, session, lambda _: ViewChoices()))


def test_a_query_that_somebody_said_comes_behind_all_names() -> None:
    """It reads what all changes of the phase lead to; in a rehearsal it reads the copies."""
    session = ClickHouseSession()
    d = session.database
    session.run(f"CREATE TABLE {d}.issues (id Int64, weight Int64) ENGINE = ReplacingMergeTree ORDER BY id")
    session.run(f"INSERT INTO {d}.issues VALUES (1, 5)")
    session.run(f"CREATE TABLE {d}.totals (id Int64, w Int64) ENGINE = SummingMergeTree ORDER BY id")
    view = f"CREATE MATERIALIZED VIEW {d}.v TO {d}.totals AS SELECT id, sum(weight) AS w FROM {d}.issues GROUP BY id"
    session.run(view)
    session.run(f"CREATE MATERIALIZED VIEW {d}.w TO {d}.totals AS SELECT id, 0 AS w FROM {d}.issues")  # one target
    said = f"SELECT id, sum(assumeNotNull(weight)) AS w FROM {d}.issues GROUP BY id"
    settings = StoreSettings("clickhouse", database=d)
    store = ClickHouseStore("warehouse", settings, session, lambda _: ViewChoices(queries={"v": said}))
    phases = [RehearsedPhase(MIGRATIONS[0], phase) for phase in Phase]
    rehearsed = store.rehearse(phases)
    assert [each.text for each in rehearsed.steps if f"FROM {d}.issues" in each.text] == []
    for each in phases:
        for step in store.plan(each.migration, each.phase):
            store.carry_out(step)
    session.run(f"INSERT INTO {d}.issues (id, weight) VALUES (2, 7)")
    assert session.rows(f"SELECT toInt32(id), toInt32(w) FROM {d}.totals") == [[2, 7]]


def test_iceberg(tmp_path: Path) -> None:
    """A new column that takes another name gets its value there in the rows that are old."""
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}
    catalog = load_catalog("lake", **properties)
    catalog.create_namespace("app")
    fields = [NestedField(at, name, LongType()) for at, name in enumerate(("id", "weight", "big"), 1)]
    table = catalog.create_table("app.issues", Schema(*fields, NestedField(4, "n", IntegerType())))
    row = {"id": 1, "weight": 5, "big": 7, "n": 9}
    table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))
    check(IcebergStore("lake", StoreSettings("iceberg", namespace="app", catalog=properties)))
    (found,) = catalog.load_table("app.tickets").scan().to_arrow().to_pylist()
    assert found == {"id": 1, "weight": 7, "big": 1, "n": 9}
