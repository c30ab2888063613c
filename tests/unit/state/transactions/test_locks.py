"""What holds when several write at once, on a store with one writer at a time and on one with many."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone

import sqlalchemy as sa

from penstock.errors import Conflict, Fenced
from penstock.model.manifest import Manifest, Table
from penstock.state.batch_keys import BodyKey
from penstock.state.batches import Batch, BatchLog
from penstock.state.crash_counts import CrashCounts
from penstock.state.database import Database, open_database
from penstock.state.deployments import Deployments, StateMove
from penstock.state.journal import Journal
from penstock.state.lease import Lease
from penstock.state.live_pointer import LivePointer
from penstock.state.made_tables import MadeColumn, MadeTable, MadeTables
from penstock.state.schema import batches as batches_table
from penstock.state.tokens import ApiTokens
from penstock.state.transactions.locks import take_named_lock
from postgres_server import Postgres

NOW = datetime(2026, 1, 2, tzinfo=timezone.utc)


def at_once(*works: Callable[[], object]) -> list[BaseException]:
    """Run them beside each other; what they raised."""
    raised: list[BaseException] = []
    begin = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        begin.wait()
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def repeated(work: Callable[[int], object], times: int) -> Callable[[], None]:
    def run() -> None:
        for number in range(times):
            work(number)

    return run


def test_no_change_of_a_manifest_undoes_another(database: Database) -> None:
    deployments = Deployments(database)
    deployments.create("d", None, {}, {}, Manifest())

    def add(manifest: Manifest) -> Manifest:
        time.sleep(0.002)  # what is read must stay true for as long as the change takes
        return Manifest(tables=(*manifest.tables, Table(f"t{len(manifest.tables)}", ())))

    assert at_once(*[repeated(lambda _: deployments.revise(1, add), 5) for _ in range(4)]) == []
    assert [table.id for table in deployments.get(1).manifest.tables] == [f"t{number}" for number in range(20)]


def test_of_moves_at_once_one_is_made(database: Database) -> None:
    deployments = Deployments(database)
    deployments.create("d", None, {}, {}, Manifest())
    raised = at_once(*[lambda: deployments.move(1, "preparing", of=["planned"])] * 6)
    assert [type(each) for each in raised] == [Conflict] * 5
    raised = at_once(*[lambda: deployments.activate(1, Manifest())] * 6)
    assert [type(each) for each in raised] == [Conflict] * 5
    assert deployments.get(1).state == "backfilling"


def test_of_promotions_at_once_one_moves_pointer_and_states(database: Database) -> None:
    deployments, pointer = Deployments(database), LivePointer(database)
    for number in (1, 2, 3, 4):
        deployments.create(f"d{number}", None, {}, {}, Manifest())
        deployments.move(number, "ready", of=["planned"])
    swaps = [
        lambda number=number: pointer.swap(0, number, None, [StateMove(number, ("ready",), "live")])
        for number in (1, 2, 3, 4)
    ]
    assert [type(each) for each in at_once(*swaps)] == [Conflict] * 3
    live = pointer.read().live
    assert [each.id for each in deployments.in_state("live")] == [live]


def test_deployments_at_once_have_numbers_and_journals_of_their_own(database: Database) -> None:
    deployments, journal = Deployments(database), Journal(database)
    makes = [lambda name=name: deployments.create(name, None, {}, {}, Manifest(), [name, "end"]) for name in "abcdef"]
    assert at_once(*makes) == []
    for made in deployments.list():
        assert [entry.step for entry in journal.entries(made.id)] == [made.name, "end"]


def test_of_tokens_with_one_name_one_is_made(database: Database) -> None:
    tokens = ApiTokens(database)
    raised = at_once(*[lambda: tokens.create("t", ("read",))] * 4)
    assert [type(each) for each in raised] == [Conflict] * 3
    assert len(ApiTokens(database).list()) == 1


def test_of_appends_with_one_key_one_is_kept(database: Database) -> None:
    batches = BatchLog(database)
    raised = at_once(*[lambda n=n: batches.append("d", f"d/{n}", 1, 1, NOW, [BodyKey("k")]) for n in range(6)])
    assert [type(each) for each in raised] == [Conflict] * 5
    assert batches.heads() == {"d": 1}


def test_records_of_tables_damage_and_deaths_at_once(database: Database) -> None:
    made, deaths, batches = MadeTables(database), CrashCounts(database), BatchLog(database)
    batch = batches.append("d", "d/1", 1, 1, NOW)
    table = MadeTable("t", "u", (MadeColumn("a", "int", 1),))
    works: Sequence[Callable[[int], object]] = (
        lambda _: made.keep([table]),
        lambda _: deaths.record_deaths([("t", "f"), ("t", "g")]),
        lambda _: batches.condemn(batch, "torn"),
    )
    assert at_once(*[repeated(work, 5) for work in works for _ in range(3)]) == []
    assert made.all() == (table,)
    assert [each.damage for each in batches.list_condemned(9)] == ["torn"]


def test_writers_of_all_kinds_get_on_under_a_beating_lease(database: Database) -> None:
    """None waits for another for ever, none is chosen as the victim of a deadlock."""
    lease, batches, tokens, deployments = (
        Lease(database),
        BatchLog(database),
        ApiTokens(database),
        Deployments(database),
    )
    lease.take(lease.read(), {})
    deployments.create("d", None, {}, {}, Manifest())
    works: Sequence[Callable[[int], object]] = (
        lambda number: lease.heartbeat(),
        lambda number: lease.describe({"host": number}),
        lambda number: batches.append("d", f"d/{number}", 1, 1, NOW),
        lambda number: batches.append("d", f"e/{number}", 1, 1, NOW),
        lambda number: batches.append("e", f"e/{number}", 1, 1, NOW),
        lambda number: tokens.create(f"t{number}", ("read",)),
        lambda number: deployments.revise(1, lambda manifest: manifest),
        lambda number: deployments.pause(1, of=["planned"]),
    )
    assert at_once(*[repeated(work, 25) for work in works]) == []
    assert lease.read().heartbeat == 26
    assert batches.heads() == {"d": 50, "e": 25}


def test_a_takeover_waits_for_who_writes_and_is_not_passed_by_others(database: Database) -> None:
    """A constant, overlapping stream of writes: the other server takes the lease between two of them, after
    which none of the first one's is written."""
    lease, batches = Lease(database), BatchLog(database)
    lease.take(lease.read(), {"host": "first"})
    other = open_database(database.url)
    second, stopped = Lease(other), threading.Event()
    seen = second.read()

    def write(stream: str) -> Callable[[], None]:
        def run() -> None:
            while True:
                batches.append(stream, f"{stream}/1", 1, 1, NOW)

        return run

    def take() -> None:
        time.sleep(0.3)
        try:
            assert second.take(seen, {"host": "second"}) == 2
            at_takeover.update(BatchLog(other).heads())
        finally:
            stopped.set()

    at_takeover: dict[str, int] = {}
    streams = "abcd"
    raised = at_once(take, *(write(stream) for stream in streams))
    assert stopped.is_set()
    assert [type(each) for each in raised] == [Fenced] * len(streams)
    assert BatchLog(other).heads() == at_takeover
    other.close()


def test_a_takeover_waits_until_a_write_under_way_has_ended(database: Database) -> None:
    lease = Lease(database)
    lease.take(lease.read(), {})
    other = open_database(database.url)
    second, seen, order = Lease(other), Lease(other).read(), list[str]()
    taker = threading.Thread(target=lambda: (second.take(seen, {}), order.append("taken")))
    with database.write() as connection:
        connection.execute(sa.select(batches_table)).all()
        taker.start()
        time.sleep(0.3)
        order.append("written")
    taker.join()
    assert order == ["written", "taken"]
    other.close()


def test_alone_is_alone_by_name(database: Database) -> None:
    inside: list[str] = []
    most: list[int] = []

    def work(name: str) -> None:
        with database.write() as connection:
            take_named_lock(connection, name)
            inside.append(name)
            most.append(inside.count(name))
            time.sleep(0.005)
            inside.remove(name)

    assert at_once(*[repeated(lambda _: work("a"), 5), repeated(lambda _: work("a"), 5)] * 2) == []
    assert max(most) == 1


def test_a_name_that_is_held_keeps_no_other_waiting_where_many_can_write(postgres: Postgres) -> None:
    database = open_database(postgres.store())
    got = threading.Event()

    def other() -> None:
        with database.write() as connection:
            take_named_lock(connection, "b")
        got.set()

    with database.write() as connection:
        take_named_lock(connection, "a")
        thread = threading.Thread(target=other)
        thread.start()
        assert got.wait(10)
    thread.join()
    database.close()


def test_a_batch_reads_back_as_it_was_made(database: Database) -> None:
    made = BatchLog(database).append("d", "d/1", 2**40, 2**41, NOW, digest="ab" * 32)
    assert isinstance(made, Batch)
    assert BatchLog(database).read_after("d", 0, 2**62, 2**62) == (made,)
