"""A consumer without the source's DSN beside one with it: nobody knows the former, and it stops at no change. Rows that
it stored too early, or too late, are read again: none is dropped, and none has its values in the wrong column.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from nats_server import NatsServer, nats_or_skip
from penstock.errors import Conflict
from penstock.postgres.capture.setup import set_up, table_choice
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.migration.operation import Phase
from postgres_capture.conftest import Source
from postgres_capture.consuming import UnknownConsumer
from postgres_capture.deployment_world import StoreSide
from postgres_capture.iceberg_side import IcebergSide
from waiting import wait_until

pytest.importorskip("chdb")
from postgres_capture.test_random_deployments import ClickHouseSide
from postgres_capture.test_unseen_consumers import BrokerWorld, OtherSide


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    server = nats_or_skip(tmp_path_factory.mktemp("nats"))
    yield server
    server.kill()


@pytest.fixture(params=["clickhouse", "iceberg"])
def strange(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSide:
    """The store of which nobody knows who takes rows there."""
    return OtherSide() if request.param == "clickhouse" else IcebergSide(tmp_path)


class _Strangers:
    """Consumers without a DSN, one after the other."""

    def __init__(self, world: BrokerWorld, nats: NatsServer, side: StoreSide):
        self._world, self._nats, self.side = world, nats, side
        self._running: UnknownConsumer | None = None
        side.make(world.table(world.source.connection))

    def start(self) -> None:
        if self._running is None:
            broker = NatsBroker(self._nats.url, self._world.source.name)
            self._running = UnknownConsumer(broker, self.side.destination())

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
        self._running = None

    def wait_until_same(self) -> None:
        """Until the store is as Postgres."""
        names = [each.name for each in self._world.table(self._world.source.connection).columns]
        query = f"SELECT {', '.join(names)} FROM {{s}}.{self._world.name} ORDER BY id"
        found = lambda: self.side.rows(self._world.name, names)  # noqa: E731
        expected = [list(row) for row in self._world.source.rows(query)]
        wait_until(lambda: found() == expected, 60, lambda: f"{found()} {expected}")

    def carry_out(self) -> None:
        """What is left of all phases, as somebody who knows that the strangers have stopped, or passed."""
        for phase in (Phase.at_lsn, Phase.post):
            work = lambda: self._world.work_without_consumers().apply([self.side.store], phase)  # noqa: B023, E731
            wait_until(lambda: not any(each.waits_for for each in work()), 60)  # noqa: B023


@pytest.mark.parametrize(("kind", "place"), [("swap", "behind"), ("swap", "before"), ("again", "behind")])
def test_a_change_of_which_one_consumer_does_not_know(
    source: Source, nats: NatsServer, strange: StoreSide, kind: str, place: str
) -> None:
    """It has taken rows from behind the change, or has not yet taken those of before."""
    world = BrokerWorld(source, nats, ClickHouseSide())
    strangers = _Strangers(world, nats, strange)
    with ExitStack() as stack:
        stack.callback(world.close)
        stack.callback(strangers.stop)
        stack.enter_context(world.consuming())
        strangers.start()
        strangers.wait_until_same()
        if place == "before":
            strangers.stop()
        world.write([(3, 3), (1, 2)])
        world.develop(kind, 0, 1)
        world.work().apply([world.side.store, strange.store], Phase.pre)
        world.migrate()
        assert world.statement is None, "the gate is open"
        world.write([(4, 3), (2, 2), (1, 0)])
        if place == "behind":
            wait_until(lambda: [4] in strange.rows(world.name, ["id"]), 30)
        strangers.carry_out()
        world.write([(5, 3), (4, 2)])
        strangers.start()
        world.check()
        strangers.wait_until_same()


def test_inserted_rows_that_a_strange_consumer_may_have_taken(source: Source, nats: NatsServer) -> None:
    """They cannot be read again: somebody has to look."""
    world, side = BrokerWorld(source, nats, ClickHouseSide()), OtherSide()
    side.make(world.table(source.connection))
    try:
        source.remove(world.name)
        set_up(source.connection, source.name, [table_choice(name := f"{source.schema}.{world.name}", [name])])
        world.develop("swap", 0, 1)
        world.work().apply([world.side.store, side.store], Phase.pre)
        world.migrate()
        with world.consuming():
            world.write([(4, 3)])
            world.wait_until_done(Phase.at_lsn, world.side)
            with pytest.raises(Conflict, match="may be in other already"):
                world.work_without_consumers().apply([side.store], Phase.at_lsn)
    finally:
        world.close()


def test_a_strange_consumer_beside_one_that_is_known(source: Source, nats: NatsServer) -> None:
    """Both take rows into one store, and only one of them stops at the change."""
    world = BrokerWorld(source, nats, ClickHouseSide())
    side = world.side
    beside = side.destination()
    beside.name = "beside"
    with ExitStack() as stack:
        stack.callback(world.close)
        stack.enter_context(world.consuming())
        source.wait_until_stored(side.name)
        world.develop("swap", 0, 1)
        world.work().apply([side.store], Phase.pre)
        world.migrate()
        assert world.statement is None, "the gate is open"
        world.write([(4, 3), (2, 2)])
        wait_until(lambda: bool(world.stops.reached()), 30)
        strange = UnknownConsumer(NatsBroker(nats.url, source.name), beside)
        stack.callback(strange.stop)
        wait_until(lambda: [4] in side.rows(world.name, ["id"]), 30)
        strange.stop()
        world.write([(5, 3)])
        world.check()
