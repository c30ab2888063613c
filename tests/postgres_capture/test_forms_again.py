"""Rows have a form again that they had two changes before, and a consumer is still before both: its rows go to the
store as it was for them, and do not pass for rows from behind the later change.
"""

from __future__ import annotations

import orjson
import pytest

from nats_server import nats_or_skip
from penstock.crash_points import arm
from penstock.postgres.application.phase_record import PhaseKey
from penstock.postgres.catalog.source_connection import open_source
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.migration.operation import Phase
from penstock.postgres.packages.package import Package
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import StoreSide, World
from postgres_capture.iceberg_side import IcebergSide
from postgres_capture.repeated_forms import CHANGES, DROPPED, change, there_and_back, two_texts
from waiting import wait_until

pytest.importorskip("chdb")
from postgres_capture.test_random_deployments import ClickHouseSide
from postgres_capture.test_unseen_consumers import BrokerWorld


@pytest.fixture(params=["clickhouse", "iceberg"])
def side(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StoreSide:
    return ClickHouseSide() if request.param == "clickhouse" else IcebergSide(tmp_path_factory.mktemp("lake"))


@pytest.mark.parametrize("between", [False, True], ids=["at once", "with rows between"])
@pytest.mark.parametrize("kind", CHANGES)
def test_a_consumer_that_is_before_both_changes(source: Source, side: StoreSide, kind: str, *, between: bool) -> None:
    world = World(source, side)
    try:
        two_texts(world)
        world.producer.stop()
        world.write([(3, 3), (2, 2)])
        for statements in CHANGES[kind]:
            change(world, statements)
            if between:
                world.write([(4, 3), (4, 2)])
        world.write([(5, 3), (1, 2)])
        world.apply(Phase.pre)  # what the stops know behind their changes comes to them only now
        world.check()
        assert not any(each.reached and not each.is_done for each in world.stops.of_stores([side.name]))
    finally:
        world.close()


def test_a_reading_that_began_before_both_changes(source: Source, side: StoreSide) -> None:
    """It goes on behind them, with the version of before and rows of now, and those look like rows of before."""
    world = World(source, side)
    try:
        source.wait_until_stored(side.name)
        world.producer.stop()
        (table,) = source.records.tables()
        source.records.begin_read(table)
        there_and_back(world)
        world.check()
    finally:
        world.close()


def test_a_kill_between_a_change_and_its_stop(source: Source, side: StoreSide) -> None:
    """The next run lifts the stop, and knows as well from where on rows are from behind the change."""
    world = World(source, side)
    try:
        source.wait_until_stored(side.name)
        change(world, DROPPED)
        id = world.migrations[-1].id
        key = PhaseKey(side.name, id, Phase.at_lsn)

        def is_confirmed() -> bool:
            """A step at a time."""
            arm("migration.noted", 1, lambda: None)
            world.apply(Phase.at_lsn)
            record = world.journal.load(key)
            return record is not None and record.is_confirmed

        wait_until(is_confirmed, side.seconds)
        world.restart()
        (stop,) = [each for each in world.stops.of_stores([side.name]) if each.migration == id]
        assert not stop.is_done
        change(world, "{table} DROP a")
        world.write([(4, 3), (4, 2)])
        world.check()
    finally:
        world.close()


def test_a_transaction_that_is_open_when_the_change_is_seen(source: Source, side: StoreSide) -> None:
    """Its rows are from behind both changes, and come after the first one is carried out."""
    world = World(source, side)
    other = open_source(source.dsn)
    try:
        source.wait_until_stored(side.name)
        change(world, DROPPED)
        change(world, "{table} DROP a")
        other.cursor().execute(f"BEGIN; INSERT INTO {source.schema}.{world.name} (id, b) VALUES (4, 'open')")

        def is_done() -> bool:
            world.apply(Phase.at_lsn)
            return all(each.is_done for each in world.stops.of_stores([side.name]))

        wait_until(is_done, side.seconds)
        other.cursor().execute("COMMIT")
        world.check()
    finally:
        other.close()
        world.close()


class _FormerWorld(BrokerWorld):
    """Its producer is one of an earlier release, in whose messages of rows that were read there is no `as_of`."""

    def _broker(self) -> NatsBroker:
        return _FormerBroker(self._nats.url, self.source.name)


class _FormerBroker(NatsBroker):
    def _publish(self, part: Package, content: bytes) -> None:
        document = orjson.loads(content)
        document.pop("as_of", None)
        super()._publish(part, orjson.dumps(document))


@pytest.mark.parametrize("release", [BrokerWorld, _FormerWorld])
def test_what_was_read_before_both_changes(
    source: Source, tmp_path_factory: pytest.TempPathFactory, release: type[BrokerWorld]
) -> None:
    """Rows that were read are in a broker; the place in the log up to which they are so is with them, or the table is
    read again."""
    nats = nats_or_skip(tmp_path_factory.mktemp("nats"))
    world = release(source, nats, ClickHouseSide())
    try:
        with world.consuming():
            two_texts(world)
        world.stops.read_again(world.table(source.connection).oid)
        source.wait_until_published()
        wait_until(lambda: all(each.read.done for each in source.records.tables()), 30)
        for statements in CHANGES["names exchanged"]:
            change(world, statements)
        world.write([(4, 3)])
        source.wait_until_published()
        with world.consuming():
            world.check()
    finally:
        world.close()
        nats.kill()
