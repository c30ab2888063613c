"""Rows have a form again that they had two changes before, and a consumer is still before both: its rows go to the
store as it was for them, and do not pass for rows from behind the later change.
"""

from __future__ import annotations

import pytest

from nats_server import nats_or_skip
from postgres_capture.conftest import Source
from postgres_capture.deployment_world import StoreSide, World
from postgres_capture.iceberg_side import IcebergSide
from postgres_capture.repeated_forms import CHANGES, change, two_texts
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
        world.check()
        assert not any(each.reached and not each.is_done for each in world.stops.of_stores([side.name]))
    finally:
        world.close()


def test_what_was_read_before_both_changes(source: Source, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Rows that were read are in a broker; the place in the log up to which they are so is with them."""
    nats = nats_or_skip(tmp_path_factory.mktemp("nats"))
    world = BrokerWorld(source, nats, ClickHouseSide())
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
