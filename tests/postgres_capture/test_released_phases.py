"""A store is changed only once no row of before is to come: what releases a phase is not older than the change, and
neither misses a form of rows nor comes before an earlier change of the table.
"""

from __future__ import annotations

import pytest

from penstock.postgres.catalog.lsn import parse_lsn
from penstock.postgres.migration.operation import Phase
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import StoreSide, World
from postgres_capture.iceberg_side import IcebergSide
from postgres_capture.repeated_forms import SWAPPED, change, two_texts

pytest.importorskip("chdb")
from postgres_capture.test_random_deployments import ClickHouseSide


@pytest.fixture(params=["clickhouse", "iceberg"])
def side(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StoreSide:
    return ClickHouseSide() if request.param == "clickhouse" else IcebergSide(tmp_path_factory.mktemp("lake"))


def test_a_migration_that_postgres_has_once_more(source: Source, side: StoreSide) -> None:
    """Consumers have long passed the place where it had it the first time."""
    world = World(source, side)
    try:
        change(world, "{table} RENAME a TO x")
        world.settle()
        source.wait_until_stored(side.name)
        source.run(f"ALTER TABLE {{s}}.{world.name} RENAME x TO a")
        world.work().roll_back([side.store], world.migrations[-1].id, world.journal.end())
        source.wait_until_stored(side.name)
        world.producer.stop()
        world.write([(3, 3), (1, 2)])
        world.statement = f"ALTER TABLE {source.schema}.{world.name} RENAME a TO x"
        world.apply(Phase.pre)
        world.migrate()
        assert world.statement is None, "the gate is open"
        waits = world.apply(Phase.at_lsn)
        assert "to stop at the change" in str(waits), "the rows of before are still to come"
        world.write([(4, 3)])
        world.check()
    finally:
        world.close()


def test_rows_of_a_later_migration_do_not_pass_an_earlier_stop(source: Source, side: StoreSide) -> None:
    """Names are exchanged and one column is dropped, before a row came: the other one alone looks as before both."""
    world = World(source, side)
    try:
        two_texts(world)
        world.producer.stop()
        change(world, SWAPPED)
        world.observe(f"ALTER TABLE {source.schema}.{world.name} DROP b")
        world.migrate()
        assert world.statement is not None, "the stop does not know its rows yet: the gate is closed"
        world.apply(Phase.pre)
        world.migrate()
        assert world.statement is None, "the gate is open"
        world.write([(3, 3), (1, 2)])
        world.check()
    finally:
        world.close()


def test_a_column_is_not_dropped_under_the_name_of_another_one(source: Source, side: StoreSide) -> None:
    """The store has not exchanged the names yet."""
    world = World(source, side)
    try:
        two_texts(world)
        change(world, SWAPPED)
        change(world, "{table} DROP b")
        source.wait_until_stored(side.name)
        world.apply(Phase.post)
        world.check()
    finally:
        world.close()


def test_where_the_log_is_does_not_leave_out_what_is_not_written_yet(source: Source, side: StoreSide) -> None:
    """With `synchronous_commit = off` changes are there before they are in the log's files."""
    world = World(source, side)
    try:
        source.run("SET synchronous_commit = off")
        world.write([(3, 3)])
        ((there,),) = source.rows("SELECT pg_current_wal_insert_lsn()::text")
        assert parse_lsn(world.journal.position_of(world.name)) >= parse_lsn(there)
        world.write([(4, 3)])
        ((there,),) = source.rows("SELECT pg_current_wal_insert_lsn()::text")
        assert parse_lsn(world.journal.end()) >= parse_lsn(there)
    finally:
        world.close()
