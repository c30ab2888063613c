"""What is in a broker is in no store yet: `at_lsn` and `post` wait for each consumer behind it from its first moment
on, and for one of each store where none was seen. A real Postgres, NATS and ClickHouse (chDB).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from nats_server import NatsServer, nats_or_skip
from penstock.errors import Conflict, NotFound
from penstock.postgres.application.consumer_records import ConsumerRecords
from penstock.postgres.application.migration_work import MigrationWork, PhaseState
from penstock.postgres.capture import installation
from penstock.postgres.capture.installation import OtherSetup
from penstock.postgres.capture.kept_rows import KeptRows
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.setup import add_table, remove_consumer, set_up, table_choice
from penstock.postgres.capture.source_stops import SourceStops
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.lsn import lsn_text
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.stopping_destination import StoppingDestination
from penstock.postgres.migration.operation import Phase
from penstock.postgres.packages.package import PackageColumn, PackageRow, PackageSchema, RowPackage
from postgres_capture.conftest import Source
from postgres_capture.consuming import RunningConsumer
from postgres_capture.deployment_world import SMALL, World
from postgres_capture.producing import RunningProducer
from waiting import wait_until

pytest.importorskip("chdb")
from postgres_capture.test_random_deployments import ClickHouseSide

NEVER = "none was ever started with the source's DSN"


class OtherSide(ClickHouseSide):
    """A second ClickHouse."""

    name = "other"


class BrokerWorld(World):
    """A world whose producer delivers to a broker; consumers are started by hand."""

    def __init__(self, source: Source, nats: NatsServer, side: ClickHouseSide):
        self._nats = nats
        super().__init__(source, side)

    def _start(self) -> RunningProducer:
        return RunningProducer(self.source.dsn, self.source.name, self._broker(), SMALL)

    def _broker(self) -> NatsBroker:
        return NatsBroker(self._nats.url, self.source.name)

    @contextmanager
    def consuming(self, side: ClickHouseSide | None = None) -> Iterator[RunningConsumer]:
        to = side or self.side
        stops = SourceStops(self.source.dsn, self.source.name, [to.name])
        store = StoppingDestination(to.destination(), stops)
        running = RunningConsumer(self.source, self._broker(), store, [to.name])
        try:
            yield running
        finally:
            running.stop()

    def change(self, kind: str) -> None:
        """Rows of before, a change in Postgres and rows from behind it, all in the broker."""
        self.develop(kind, 0, 1)
        self.write([(3, 3), (1, 2)])
        self.apply(Phase.pre)
        self.migrate()
        assert self.statement is None, "the gate is open"
        self.write([(4, 3)])
        self.source.wait_until_published()

    def waits_for(self, phase: Phase, *sides: ClickHouseSide) -> list[tuple[str, str | None]]:
        """Each store that has something to do, and what it waits for."""
        states = self.work().apply([each.store for each in sides or (self.side,)], phase)
        return [(each.store, each.waits_for) for each in states]

    def work_without_consumers(self) -> MigrationWork:
        return replace(self.work(), without_consumers=True)

    def apply_without_consumers(self, phase: Phase) -> list[PhaseState]:
        return self.work_without_consumers().apply([self.side.store], phase)

    def reason(self, phase: Phase) -> str:
        """The one thing that a phase waits for."""
        ((_, reason),) = self.waits_for(phase)
        return str(reason)

    def wait_until_done(self, phase: Phase, *sides: ClickHouseSide) -> None:
        """Apply a phase until nothing of it waits."""
        waiting = lambda: [each for _, each in self.waits_for(phase, *sides) if each]  # noqa: E731
        wait_until(lambda: not waiting(), 60, lambda: str(waiting()))

    def is_known(self, consumer: str) -> bool:
        return consumer in read_status(self.source.connection, self.source.name).consumers


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    server = nats_or_skip(tmp_path_factory.mktemp("nats"))
    yield server
    server.kill()


@pytest.fixture
def world(source: Source, nats: NatsServer) -> Iterator[BrokerWorld]:
    made = BrokerWorld(source, nats, ClickHouseSide())
    yield made
    made.close()


@pytest.mark.parametrize(("kind", "phase"), [("drop", Phase.post), ("swap", Phase.at_lsn)])
def test_a_broker_is_no_consumer(world: BrokerWorld, kind: str, phase: Phase) -> None:
    """No consumer was ever started: its rows would come after the store was changed, and be late."""
    world.change(kind)
    assert NEVER in world.reason(phase)
    world.write([(5, 3)])
    world.source.wait_until_published()
    reason = world.reason(phase)
    assert f"a consumer of warehouse behind nats: {NEVER}" in reason
    assert f"`penstock cdc consume --name {world.source.name} --from nats://… --to warehouse`" in reason
    notes = read_status(world.source.connection, world.source.name).notes
    assert ["no consumer behind nats is known here" in each for each in notes] == [True]
    with world.consuming():
        world.check()
        assert read_status(world.source.connection, world.source.name).notes == ()


def test_a_consumer_is_waited_for_from_its_first_moment(world: BrokerWorld, nats: NatsServer) -> None:
    """It is known before it asks the broker for anything, which is away."""
    world.change("drop")
    nats.kill()
    with world.consuming():
        wait_until(lambda: world.is_known("warehouse"), 30)
        reason = world.reason(Phase.post)
        assert f"the consumer {world.source.name}/warehouse, which has acknowledged nothing yet" in reason
        nats.start()
        world.check()


def test_two_consumers_on_one_broker(world: BrokerWorld) -> None:
    """Each store waits for a consumer of its own, and for all that are known."""
    other = OtherSide()
    other.make(world.table(world.source.connection))
    world.develop("drop", 0, 0)
    world.work().apply([world.side.store, other.store], Phase.pre)
    world.migrate()
    world.write([(4, 3)])
    with world.consuming():
        world.wait_until_done(Phase.post, world.side)
        ((_, reason),) = world.waits_for(Phase.post, other)
        assert f"a consumer of other behind nats: {NEVER}" in str(reason)
        with world.consuming(other):
            world.wait_until_done(Phase.post, other)
            world.source.wait_until_stored("other")
        names = [each.name for each in world.table(world.source.connection).columns]
        assert other.rows(world.name, names) == world.side.rows(world.name, names)


def test_a_known_consumer_is_waited_for_although_others_have_passed(world: BrokerWorld) -> None:
    """`--without-consumers` is about those that nobody knows here."""
    with world.consuming():
        world.source.wait_until_stored("warehouse")
    world.change("drop")
    (late,) = world.apply_without_consumers(Phase.post)
    assert f"the consumer {world.source.name}/warehouse, which is at" in str(late.waits_for)
    remove_consumer(world.source.connection, world.source.name, "warehouse")
    assert NEVER in world.reason(Phase.post)
    (done,) = world.apply_without_consumers(Phase.post)
    assert (done.waits_for, done.state) == (None, "confirmed")


def test_rows_that_are_late_are_read_anew(world: BrokerWorld) -> None:
    """What the broker has from before that does not stop the table again."""
    world.change("swap")
    world.apply_without_consumers(Phase.at_lsn)
    with world.consuming():
        alarms = lambda: read_status(world.source.connection, world.source.name).alarms  # noqa: E731
        wait_until(lambda: any("which warehouse has already" in each for each in alarms()), 30, lambda: str(alarms()))
        world.side.session.run(f"TRUNCATE TABLE {world.side.session.database}.{world.name}")
        world.source.remove(world.name)
        world.write([(5, 3), (3, 0)])
        world.source.set_up(world.name)
        world.check()
        assert not any("which warehouse has already" in each for each in alarms())


def test_a_consumer_whose_stores_are_not_known(world: BrokerWorld) -> None:
    """Such as one of an earlier version, or without the store in its settings: it may be that of another store."""
    connection, name = world.source.connection, world.source.name
    ConsumerRecords(connection).register(name, "old", "nats", [])
    world.change("drop")
    CaptureRecords(connection, name).acknowledge("old", world.name, world.source.written() + 2**32)
    reason = world.reason(Phase.post)
    assert f"a consumer of warehouse behind nats: {name}/old did not say to which stores it takes rows" in reason
    assert f"`penstock cdc consume --name {name} --from nats://… --to warehouse`" in reason
    with world.consuming():
        world.check()


def test_a_consumer_that_restarts_stays_known(world: BrokerWorld) -> None:
    with world.consuming():
        world.source.wait_until_stored("warehouse")
    world.change("drop")
    assert f"the consumer {world.source.name}/warehouse, which is at" in world.reason(Phase.post)
    with world.consuming():
        world.check()


def test_a_consumer_that_is_gone_for_good_is_forgotten(world: BrokerWorld) -> None:
    """The answer says how, once nothing was heard of it for a while; it stands at no change any more."""
    connection, name = world.source.connection, world.source.name
    ConsumerRecords(connection).register(name, "gone", "nats", ["warehouse"])
    world.source.run("UPDATE penstock.consumers SET started_at = now() - interval '1 hour' WHERE consumer = 'gone'")
    world.change("swap")
    (stop,) = (each for each in world.stops.of_stores(["warehouse"]) if each.migration == world.migrations[-1].id)
    world.stops.reach(stop, f"{name}/gone", "0/1")
    with world.consuming():
        wait_until(lambda: len(world.stops.standing([stop.migration])) == 2, 30)
        world.stops.leave(f"{name}/gone")
        waits = f"the consumer {name}/gone, which has acknowledged nothing yet, to stop at the change"
        assert world.reason(Phase.at_lsn) == waits, "before the change there may have been nothing to say"
        world.source.run("UPDATE penstock.migration_positions SET at = now() - interval '1 hour'")
        reason = world.reason(Phase.at_lsn)
        assert reason.startswith(f"{waits} (nothing was heard of it for 3,60"), reason
        assert f"`penstock cdc remove --consumer gone --name {name}` if it is gone for good" in reason
        world.stops.reach(stop, f"{name}/gone", "0/1")
        with pytest.raises(NotFound) as unknown:
            remove_consumer(connection, name, "gon")
        assert "gone" in str(unknown.value.hint)
        remove_consumer(connection, name, "gone")
        assert world.stops.standing([stop.migration]) == {f"{name}/warehouse"}
        world.check()


def test_a_consumer_with_rows_that_are_kept_is_not_forgotten(world: BrokerWorld) -> None:
    """Nobody else has their values."""
    connection, name = world.source.connection, world.source.name
    schema = PackageSchema(QualifiedName(world.source.schema, world.name), (PackageColumn("id", "int", is_key=True),))
    row = PackageRow((1, 0), 1, "insert", ("1",))
    package = RowPackage("s", world.name, schema, row.position, (row,), None)
    kept = KeptRows(world.source.dsn, name)
    kept.keep("warehouse", package, ["a"])
    ConsumerRecords(connection).register(name, "warehouse", "nats", ["warehouse"])
    with pytest.raises(Conflict, match="1 rows are kept for `warehouse`") as refused:
        remove_consumer(connection, name, "warehouse")
    assert "`penstock cdc replay --to warehouse`" in str(refused.value.hint)
    kept.forget_table("warehouse", world.name)
    remove_consumer(connection, name, "warehouse")
    assert not world.is_known("warehouse")


def test_a_store_that_is_fed_directly_beside_a_broker(world: BrokerWorld) -> None:
    """Another capture of the same table delivers to the other store: it has its consumer, and the broker's still has
    none."""
    direct, other = f"{world.source.name}_direct", OtherSide()
    other.make(world.table(world.source.connection))
    set_up(world.source.connection, direct, [table_choice(f"{world.source.schema}.{world.name}", ())])
    beside = replace(world.source, name=direct)
    stops = SourceStops(beside.dsn, direct, [other.name])
    producer = RunningProducer(beside.dsn, direct, StoppingDestination(other.destination(), stops), SMALL, [other.name])
    try:
        world.change("drop")
        waits = lambda: str(world.waits_for(Phase.post, other))  # noqa: E731
        wait_until(lambda: f"a consumer behind nats: {NEVER}" in waits(), 60, waits)
        with world.consuming():
            world.wait_until_done(Phase.post, world.side, other)
    finally:
        producer.stop()
        slot = f"SELECT 1 FROM pg_replication_slots WHERE slot_name = 'penstock_{direct}' AND active"
        wait_until(lambda: world.source.rows(slot) == [], 60)
        world.source.run(f"SELECT pg_drop_replication_slot('penstock_{direct}')")
        world.source.run(f"DELETE FROM penstock.captures WHERE name = '{direct}'")


def test_a_route_that_changes(world: BrokerWorld) -> None:
    """A producer that delivers straight into the store is its consumer, and what a broker had counts no more."""
    world.source.wait_until_published()
    world.producer.stop()
    stops = SourceStops(world.source.dsn, world.source.name, ["warehouse"])
    destination = StoppingDestination(world.side.destination(), stops)
    producer = RunningProducer(world.source.dsn, world.source.name, destination, SMALL, ["warehouse"])
    wait_until(lambda: world.is_known("warehouse"), 30)
    status = read_status(world.source.connection, world.source.name)
    assert (status.published, status.consumers, status.notes) == ((), ("warehouse",), ())
    producer.stop()


def test_a_table_that_is_added_waits_for_every_consumer(world: BrokerWorld) -> None:
    """One has acknowledged the new table, and the other only those that were there before."""
    connection, name = world.source.connection, world.source.name
    with world.consuming():
        world.source.wait_until_stored("warehouse")
        ConsumerRecords(connection).register(name, "slow", "nats", ["warehouse"])
        CaptureRecords(connection, name).acknowledge("slow", world.name, world.source.written() + 2**32)
        world.source.run("CREATE TABLE {s}.more (id int PRIMARY KEY)")
        more = QualifiedName(world.source.schema, "more")
        table = read_catalog(connection, [world.source.schema]).table(more)
        assert table is not None
        world.side.make(table)
        add_table(connection, name, table_choice(f"{world.source.schema}.more", ()))
        world.source.wait_until_stored("warehouse")
        oid = next(each.oid for each in world.source.records.tables() if each.store == "more")
        consumers = ConsumerRecords(connection).of_table(oid, lsn_text(1))
        late = consumers.behind(())
        assert late is not None
        assert (late.full_name, late.lsn) == (f"{name}/slow", None)
        assert consumers.behind({f"{name}/slow"}) is None


def test_captures_of_an_earlier_version(world: BrokerWorld) -> None:
    """Before setup was run again: the broker's name is among those that acknowledged, and counts for nobody; consumers
    that acknowledged are known, and a new one says what is missing."""
    connection, name = world.source.connection, world.source.name
    world.change("drop")
    world.producer.stop()
    captured = f"SELECT capture, '{{c}}', store, '{{at}}' FROM penstock.captured_tables WHERE capture = '{name}'"
    write = f"INSERT INTO penstock.acknowledged (capture, consumer, store, lsn) {captured}"
    at = lsn_text(world.source.written())
    world.source.run(write.format(c="nats", at=at))
    world.source.run("ALTER TABLE penstock.consumers RENAME TO consumers_of_now")
    world.source.run("ALTER TABLE penstock.published RENAME TO published_of_now")
    try:
        CaptureRecords(connection, name).note_setup(2)
        assert NEVER in world.reason(Phase.post)
        assert read_status(connection, name).consumers == ()
        with world.consuming() as refused:
            wait_until(lambda: refused.has_ended, 30)
        assert isinstance(refused.failure, OtherSetup)
        world.source.run(write.format(c="warehouse", at="0/1"))
        assert f"the consumer {name}/warehouse, which is at 0/1" in world.reason(Phase.post)
    finally:
        world.source.run("ALTER TABLE penstock.consumers_of_now RENAME TO consumers")
        world.source.run("ALTER TABLE penstock.published_of_now RENAME TO published")
    installation.install_tables(connection)
    assert [each.consumer for each in read_status(connection, name).acknowledged] == ["warehouse"]
    names = [
        row[0] for row in world.source.rows(f"SELECT consumer FROM penstock.acknowledged WHERE capture = '{name}'")
    ]
    assert names == ["warehouse"], "what the broker had is no acknowledgement any more"
    set_up(connection, name, [])
    world.restart()
    with world.consuming():
        world.check()
