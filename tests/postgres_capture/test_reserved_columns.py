"""A column that is called as one of the landing's own: its values would be those of the landing, and be lost."""

from __future__ import annotations

import pytest

from penstock.postgres.capture.setup import set_up, table_choice
from penstock.postgres.catalog.store_types import LANDING_COLUMNS
from penstock.postgres.delivery.clickhouse_landing import POSITION, SOURCE
from penstock.postgres.migration.operation import Phase
from penstock.postgres.packages.row_values import OWN_COLUMNS
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import World
from waiting import wait_until

pytest.importorskip("chdb")
from postgres_capture.test_random_deployments import ClickHouseSide


def test_every_column_of_a_landing_is_reserved() -> None:
    assert frozenset((*OWN_COLUMNS, SOURCE, POSITION)) == LANDING_COLUMNS


@pytest.mark.parametrize("change", ["ADD cdc_commit_lsn text DEFAULT 'mine'", "RENAME a TO cdc_ordinal"])
def test_such_a_column_is_refused_and_its_rows_wait(source: Source, change: str) -> None:
    world = World(source, ClickHouseSide())
    statement = f"ALTER TABLE {source.schema}.{world.name} {change}"
    phase = Phase.pre if change.startswith("ADD") else Phase.at_lsn
    name = change.split()[-1] if phase is Phase.at_lsn else "cdc_commit_lsn"
    try:
        source.wait_until_stored(world.side.name)
        world.observe(statement)
        if phase is Phase.pre:
            (told,) = world.apply(phase)
            assert f"`{name}` is a name of the landing's own columns" in str(told)
            assert world.work().missing([world.side.store]), "the gate is closed"
        source.run(statement)  # somebody does not ask the gate
        world.write([(3, 3), (1, 2)])

        def waits() -> bool:
            world.apply(Phase.at_lsn)
            (table,) = source.records.tables()
            return table.problem is not None and f"`{name}`" in table.problem

        wait_until(waits, 60, source.records.tables)
        before = [[1, "b1", 1], [2, "b2", None]]
        assert world.side.rows(world.name, ["id", "b", "n"]) == before, "nothing is stored without it"
    finally:
        world.close()


def test_such_a_table_is_not_set_up(source: Source) -> None:
    source.run("CREATE TABLE {s}.odd (id int PRIMARY KEY, cdc_source text)")
    with pytest.raises(Exception, match="cannot be captured") as raised:
        set_up(source.connection, source.name, [table_choice(f"{source.schema}.odd", ())])
    assert "cdc_source" in str(raised.value.problems)  # type: ignore[attr-defined]
