"""Postgres takes a change back that a store has carried out already: rows of before it come again. None of their values
is away in the end, nor under the name of another column.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.model.settings import StoreSettings
from penstock.postgres.capture.status import read_status
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import StoreSide, World
from postgres_capture.iceberg_side import IcebergSide
from postgres_capture.repeated_forms import SWAPPED, change
from waiting import wait_until

pytest.importorskip("chdb")
from clickhouse_session import ClickHouseSession
from postgres_capture.test_random_deployments import ClickHouseSide

GOES_ON = {
    "wider": ("{table} ALTER n TYPE bigint", "{table} ALTER n TYPE int"),
    "exchanged": (SWAPPED, SWAPPED),
    "added": ("{table} ADD c text", "{table} DROP c"),
}
"""What stores take by the names that they have."""


@pytest.fixture(params=["clickhouse", "iceberg"])
def side(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StoreSide:
    return ClickHouseSide() if request.param == "clickhouse" else IcebergSide(tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize("what", GOES_ON)
def test_rows_of_before_a_change_go_on(source: Source, side: StoreSide, what: str) -> None:
    world = World(source, side)
    try:
        there_and_back(world, *GOES_ON[what])
        check_rows(world)
    finally:
        world.close()


def test_rows_of_before_a_renamed_column_wait_until_the_store_is_rolled_back(source: Source, side: StoreSide) -> None:
    world = World(source, side)
    try:
        there_and_back(world, "{table} RENAME a TO x", "{table} RENAME x TO a")
        status = lambda: read_status(source.connection, source.name).tables  # noqa: E731
        wait_until(lambda: status()[0].state == "waiting", 60, status)
        assert "has no column for `a`" in str(status()[0].problem)
        world.work().roll_back([side.store], world.migrations[-1].id, world.journal.end())
        check_rows(world)
    finally:
        world.close()


MOOD = "CREATE TYPE {schema}.mood AS ENUM ('sad', 'ok'); {table} ADD m {schema}.mood NOT NULL DEFAULT 'sad'"
TAKEN_BACK = {
    "a label": (
        MOOD,
        "ALTER TYPE {schema}.mood RENAME VALUE 'sad' TO 'low'",
        "ALTER TYPE {schema}.mood RENAME VALUE 'low' TO 'sad'",
        "UPDATE {schema}.{name} SET m = 'sad' WHERE id = 2",
    ),
    "not null": (
        "{table} ADD c int; UPDATE {schema}.{name} SET c = 7",
        "{table} ALTER c SET NOT NULL",
        "{table} ALTER c DROP NOT NULL",
        "UPDATE {schema}.{name} SET c = NULL WHERE id = 2",
    ),
}
"""What there is before, a change, how Postgres takes it back, and a row of before it."""


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("a label", ClickHouseSide),
        ("not null", ClickHouseSide),
        ("a label", IcebergSide),
        ("not null", IcebergSide),
    ],
)
def test_values_that_only_the_former_column_holds(
    source: Source, tmp_path: Path, what: str, kind: type[ClickHouseSide] | type[IcebergSide]
) -> None:
    """They wait where the store has no place for them, and behind the rollback it is as Postgres."""
    side: StoreSide = IcebergSide(tmp_path) if kind is IcebergSide else ClickHouseSide()
    world = World(source, side)
    world.delay = timedelta(hours=24)
    try:
        for each in TAKEN_BACK[what][:2]:
            change(world, in_sql(world, each))
            world.settle()
        source.wait_until_stored(side.name)
        for each in TAKEN_BACK[what][2:]:
            source.run(in_sql(world, each))
        if kind is ClickHouseSide:
            status = lambda: read_status(source.connection, source.name).tables[0]  # noqa: E731
            wait_until(lambda: status().state == "waiting", 60, status)
        else:
            source.wait_until_stored(side.name)
        world.work().roll_back([side.store], world.migrations[-1].id, world.journal.end())
        check_rows(world)
    finally:
        world.close()


class TakenBackMeanwhile(ClickHouseSession):
    """A ClickHouse just before which makes a column narrower, Postgres takes that back."""

    meanwhile: Callable[[], None] | None = None

    def run(self, statement: str) -> None:
        if self.meanwhile is not None and "MODIFY COLUMN `c` Int32" in statement:
            due, self.meanwhile = self.meanwhile, None
            due()
        super().run(statement)


def test_a_null_that_comes_just_as_its_column_loses_it(source: Source) -> None:
    """ClickHouse makes it 0 in silence: behind the rollback it is read again."""
    side, session = ClickHouseSide(), TakenBackMeanwhile()
    side.session = session
    side.store = ClickHouseStore(
        side.name, StoreSettings("clickhouse", database=session.database), session, lambda _: ViewChoices()
    )
    world = World(source, side)
    there, narrow, back, null = TAKEN_BACK["not null"]

    def take_back() -> None:
        for each in (back, null):
            source.run(in_sql(world, each))
        source.wait_until_stored(side.name)

    try:
        change(world, in_sql(world, there))
        world.settle()
        source.wait_until_stored(side.name)
        session.meanwhile = take_back
        change(world, narrow)
        world.settle()
        assert session.meanwhile is None, "it came in between"
        world.work().roll_back([side.store], world.migrations[-1].id, world.journal.end())
        check_rows(world)
    finally:
        world.close()


def test_of_a_label_that_postgres_never_had_nobody_is_told(source: Source) -> None:
    """Of a table that is not read again no row has another value in the store."""
    world = World(source, ClickHouseSide())
    try:
        change(world, in_sql(world, MOOD))
        world.settle()
        source.remove(world.name)
        source.set_up(world.name, insert_only=(world.name,))
        renamed = "ALTER TYPE {schema}.mood RENAME VALUE 'sad' TO 'low'; {table} ADD c text"
        world.observe(in_sql(world, renamed))
        world.apply(Phase.pre)
        world.work().roll_back([world.side.store], world.migrations[-1].id, world.journal.end())
        assert not [each for each in read_status(source.connection, source.name).alarms if "not read again" in each]
    finally:
        world.close()


def in_sql(world: World, text: str) -> str:
    table = f"{world.source.schema}.{world.name}"
    return (
        text.replace("{table}", f"ALTER TABLE {table}")
        .replace("{schema}.{name}", table)
        .replace("{schema}", world.source.schema)
    )


def there_and_back(world: World, there: str, back: str) -> None:
    change(world, there)
    world.settle()
    world.write([(3, 3)])
    world.source.wait_until_stored(world.side.name)
    world.source.run(back.replace("{table}", f"ALTER TABLE {world.source.schema}.{world.name}"))
    world.write([(4, 3), (1, 2)])
    world.write([(2, 2), (5, 3)])


def check_rows(world: World) -> None:
    world.source.wait_until_stored(world.side.name)
    names = [each.name for each in world.table(world.source.connection).columns]
    wanted = f"SELECT {', '.join(names)} FROM {{s}}.{world.name} ORDER BY id"
    expected = [list(row) for row in world.source.rows(wanted)]
    found = lambda: world.side.rows(world.name, names)  # noqa: E731
    wait_until(lambda: found() == expected, world.side.seconds, lambda: f"{found()} {expected}")
