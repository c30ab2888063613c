"""Rows that nobody touches get other values by a change, and Postgres neither logs them nor writes them anew: each
store has them in the end, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.postgres.capture.status import read_status
from penstock.postgres.migration.operation import Phase
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import StoreSide, World
from postgres_capture.iceberg_side import IcebergSide

pytest.importorskip("chdb")
from postgres_capture.test_random_deployments import ClickHouseSide

BEFORE = """{t} ADD g text GENERATED ALWAYS AS (a || '!') STORED; CREATE DOMAIN {s}.seven AS int DEFAULT 7;
CREATE TYPE {s}.mood AS ENUM ('sad', 'ok'); {t} ADD m {s}.mood NOT NULL DEFAULT 'sad'"""
CHANGES = {
    "the time of the change": "{t} ADD c text NOT NULL DEFAULT now()::text",
    "the default of a domain": "{t} ADD e {s}.seven",
    "a column that was generated": "{t} ALTER g DROP EXPRESSION",
    "a label": "ALTER TYPE {s}.mood RENAME VALUE 'sad' TO 'unhappy'",
}


@pytest.mark.parametrize("store", ["clickhouse", "iceberg"])
def test_values_that_only_postgres_knows(source: Source, tmp_path: Path, store: str) -> None:
    side: StoreSide = ClickHouseSide() if store == "clickhouse" else IcebergSide(tmp_path)
    world = World(source, side)
    try:
        for change in (BEFORE, *CHANGES.values()):
            world.observe(
                change.replace("{t}", f"ALTER TABLE {source.schema}.{world.name}").replace("{s}", source.schema)
            )
            world.apply(Phase.pre)
            world.migrate()
            assert world.statement is None, "the gate is open"
            world.settle()
            source.wait_until_stored(side.name)
        world.check()
    finally:
        world.close()


COMPUTED = """{t} ADD made uuid NOT NULL DEFAULT '00000000-0000-0000-0000-00000000000{run}';
{t} ALTER made DROP DEFAULT; {t} ADD c text DEFAULT 'run {run}'; {t} ALTER c DROP DEFAULT"""
NAMED = "{t} RENAME made TO started; {t} RENAME c TO made; {t} RENAME b TO c"


@pytest.mark.parametrize("change", [COMPUTED, f"{COMPUTED}; {NAMED}"], ids=["added", "added and renamed"])
def test_a_value_that_the_application_computed_while_it_migrated(source: Source, change: str) -> None:
    """A framework writes the id or the time of day of one run into the statement: production has those of another."""
    world = World(source, ClickHouseSide())
    statement = change.replace("{t}", f"ALTER TABLE {source.schema}.{world.name}")
    try:
        source.wait_until_stored(world.side.name)
        world.observe(statement.replace("{run}", "1"))
        world.statement = statement.replace("{run}", "2")
        world.apply(Phase.pre)
        world.migrate()
        assert world.statement is None, "the gate is open"
        world.check()
    finally:
        world.close()


def test_a_value_that_is_the_same_in_production_costs_no_reading(source: Source) -> None:
    world = World(source, ClickHouseSide())
    try:
        source.wait_until_stored(world.side.name)
        reads = source.rows("SELECT read_version::text FROM penstock.captured_tables WHERE capture = '{s}'")
        due = f"ALTER TABLE {source.schema}.{world.name} ADD due timestamptz DEFAULT '2026-11-28 10:00:00+01'"
        world.observe(due)
        world.apply(Phase.pre)
        world.statement = f"SET LOCAL TimeZone = 'Asia/Tokyo'; {due}"
        world.migrate()
        world.settle()
        assert source.rows("SELECT read_version::text FROM penstock.captured_tables WHERE capture = '{s}'") == reads
    finally:
        world.close()


def test_of_a_table_that_is_not_read_again_somebody_is_told(source: Source) -> None:
    """Its inserted rows only are captured: those that are there keep what they have in the store."""
    world = World(source, ClickHouseSide())
    try:
        source.wait_until_stored(world.side.name)
        source.remove(world.name)
        source.set_up(world.name, insert_only=(world.name,))
        table = f"ALTER TABLE {source.schema}.{world.name}"
        statement = f"{table} ADD made text DEFAULT 'run {{}}'; {table} ALTER made DROP DEFAULT; {table} ADD seven int"
        statement += f" DEFAULT 7; {table} ADD at timestamptz DEFAULT now()"
        world.observe(statement.format(1))
        world.statement = statement.format(2)
        world.apply(Phase.pre)
        world.migrate()
        assert world.statement is None, "the gate is open"
        world.apply(Phase.post)
        told = [each for each in read_status(source.connection, source.name).alarms if "not read again" in each]
        columns = source.rows("SELECT column_name FROM penstock.lost_values WHERE capture = '{s}' ORDER BY 1")
        assert columns == [("at",), ("made",)]
        assert len(told) == 2
    finally:
        world.close()
