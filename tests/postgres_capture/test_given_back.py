"""Two pending migrations of which the second one takes the first one back: Postgres looks the same before and behind
both, and neither counts as done before it has them.
"""

from __future__ import annotations

import pytest

from penstock.postgres.application.source_state import SourceStage
from penstock.postgres.migration.operation import Phase
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import World

pytest.importorskip("chdb")
from postgres_capture.test_random_deployments import ClickHouseSide

BEFORE = "CREATE TYPE {s}.mood AS ENUM ('sad', 'ok'); {t} ADD m {s}.mood NOT NULL DEFAULT 'sad'"
PAIRS = {
    "a default": ("{t} ALTER m SET DEFAULT 'ok'", "{t} ALTER m SET DEFAULT 'sad'"),
    "no default": ("{t} ALTER m DROP DEFAULT", "{t} ALTER m SET DEFAULT 'sad'"),
    "a label": (
        "ALTER TYPE {s}.mood RENAME VALUE 'sad' TO 'low'",
        "ALTER TYPE {s}.mood RENAME VALUE 'low' TO 'sad'",
    ),
    "NOT NULL": ("{t} ALTER m DROP NOT NULL", "{t} ALTER m SET NOT NULL"),
    "a name": ("{t} RENAME a TO x", "{t} RENAME x TO a"),
    "a column": ("{t} ADD c text", "{t} DROP c"),
    "the identity": ("{t} REPLICA IDENTITY FULL", "{t} REPLICA IDENTITY DEFAULT"),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_what_is_given_back_is_done_once_postgres_has_it(source: Source, pair: tuple[str, str]) -> None:
    world = World(source, ClickHouseSide())
    sql = lambda text: text.replace("{t}", f"ALTER TABLE {source.schema}.{world.name}").replace("{s}", source.schema)  # noqa: E731
    try:
        world.observe(sql(BEFORE))
        world.apply(Phase.pre)
        world.migrate()
        world.settle()
        done = len(world.migrations)
        for each in pair:
            world.observe(sql(each))
        world.statement = "; ".join(map(sql, pair))
        assert stages(world, done) == {SourceStage.before}
        for phase in Phase:
            world.apply(phase)
            assert stages(world, done) == {SourceStage.before}
        source.run(f"INSERT INTO {{s}}.{world.name} (id, a) VALUES (3, 'a3')")
        world.migrate()
        assert world.statement is None, "the gate is open"
        source.run(f"UPDATE {{s}}.{world.name} SET a = 'a4', m = 'ok' WHERE id < 3")
        world.check()
    finally:
        world.close()


ABOUT = {
    "a right on a column": "GRANT SELECT (m) ON {t} TO PUBLIC",
    "a right on the table": "GRANT SELECT ON {t} TO PUBLIC",
    "statistics of a column": "ALTER TABLE {t} ALTER m SET STATISTICS 7",
    "all rows anew": "VACUUM FULL {t}",
    "the index of the key anew": "REINDEX TABLE CONCURRENTLY {t}",
}


@pytest.mark.parametrize("pair", ["NOT NULL", "the identity"])
@pytest.mark.parametrize("about", ABOUT.values(), ids=ABOUT.keys())
def test_what_somebody_does_beside_is_no_migration(source: Source, pair: str, about: str) -> None:
    """It changes the same rows of the catalog as the migrations would, and Postgres has none of them."""
    world = World(source, ClickHouseSide())
    sql = lambda text: text.replace("{t}", f"ALTER TABLE {source.schema}.{world.name}").replace("{s}", source.schema)  # noqa: E731
    try:
        world.observe(sql(BEFORE))
        world.apply(Phase.pre)
        world.migrate()
        world.settle()
        done = len(world.migrations)
        for each in PAIRS[pair]:
            world.observe(sql(each))
        world.apply(Phase.pre)
        source.run(about.replace("{t}", f"{source.schema}.{world.name}"))
        assert stages(world, done) == {SourceStage.before}
    finally:
        world.close()


def stages(world: World, done: int) -> set[SourceStage]:
    """Of the migrations behind the first ones."""
    return {world.work().state.stages[each.id] for each in world.migrations[done:]}


def test_whoever_knows_that_postgres_has_both_says_so(source: Source) -> None:
    """It had them before anybody looked: nothing tells."""
    world = World(source, ClickHouseSide())
    table = f"ALTER TABLE {source.schema}.{world.name}"
    try:
        for each in (f"{table} RENAME a TO x", f"{table} RENAME x TO a"):
            world.observe(each)
            source.run(each)
        world.statement = None
        told = world.apply(Phase.at_lsn)[0]
        assert told is not None
        assert "`penstock migrations apply --phase at_lsn --by-hand` says so" in told
        assert [*world.work().record_by_hand([world.side.store], Phase.at_lsn)]
        assert stages(world, 0) == {SourceStage.after}
        world.write([(3, 3)])
        world.check()
    finally:
        world.close()
