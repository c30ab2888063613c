"""Whole deployments in any legal order while rows are written and captured: a migration is observed, its phases are
applied as far as they are released, Postgres changes when the gate is open, and the producer, a delivery or a run of
`apply` dies anywhere. In the end ClickHouse and Iceberg have each table as Postgres has it, and each change once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clickhouse_session import ClickHouseSession
from penstock.model.settings import StoreSettings
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.delivery.clickhouse_landing import ClickHouseLanding, clickhouse_table
from penstock.postgres.delivery.destination import Destination
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.stores.migration_store import MigrationStore
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import STEP, World, run_steps
from postgres_capture.iceberg_side import IcebergSide

pytest.importorskip("chdb")


class ClickHouseSide:
    """Tables of a ClickHouse."""

    name, seconds = "warehouse", 60.0

    def __init__(self) -> None:
        self.session = ClickHouseSession()
        server = StoreSettings("clickhouse", database=self.session.database)
        self.store: MigrationStore = ClickHouseStore(self.name, server, self.session, lambda _: ViewChoices())

    def make(self, table: ReplicatedTable) -> None:
        self.session.run(clickhouse_table(table, ("id",), table.name.name, self.session.database))

    def destination(self) -> Destination:
        return ClickHouseLanding(self.session, self.session.database, self.name)

    def rows(self, table: str, columns: Sequence[str]) -> list[list[object]]:
        integers = "SETTINGS output_format_json_quote_64bit_integers = 0"
        query = f"SELECT {', '.join(columns)} FROM {self.session.database}.{table} FINAL ORDER BY id {integers}"
        return [list(row) for row in self.session.rows(query)]

    def doubled(self, table: str) -> int:
        query = f"SELECT count() - uniqExact(cdc_source, cdc_position) FROM {self.session.database}.{table}"
        return int(str(self.session.rows(query)[0][0]))

    def revive(self) -> None:
        """It runs in this process."""


RELAXED = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@RELAXED
@given(steps=st.lists(STEP, min_size=6, max_size=24))
def test_clickhouse_ends_as_postgres_is(source: Source, steps: list[tuple[str, Any]]) -> None:
    run_steps(World(source, ClickHouseSide()), steps)


@pytest.mark.parametrize("kind", ["move", "again"])
def test_a_column_takes_the_name_of_one_that_is_dropped_in_the_same_command(source: Source, kind: str) -> None:
    """The one that is dropped goes first, and what was written under its name since does not go with it."""
    world = World(source, ClickHouseSide())
    try:
        world.develop(kind, 0, 1)
        world.write([(3, 3)])
        world.apply(Phase.pre)
        world.migrate()
        assert world.statement is None, "the gate is open"
        world.write([(4, 3), (1, 2)])
        world.check()
        world.develop("drop", 0, 0)  # rows have a form again that they had before
        world.migrate()
        world.write([(5, 3)])
        world.check()
    finally:
        world.close()


@settings(RELAXED, max_examples=3)
@given(steps=st.lists(STEP, min_size=6, max_size=24))
def test_iceberg_ends_as_postgres_is(
    source: Source, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    run_steps(World(source, IcebergSide(tmp_path_factory.mktemp("lake"))), steps)


@pytest.mark.slow
@settings(RELAXED, max_examples=15)
@given(steps=st.lists(STEP, min_size=12, max_size=40))
def test_iceberg_ends_as_postgres_is_after_many_steps(
    source: Source, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    run_steps(World(source, IcebergSide(tmp_path_factory.mktemp("lake"))), steps)
