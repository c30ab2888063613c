"""A slot that somebody moves, or makes anew: what it passes over is in no store, and Postgres says nothing of it."""

from __future__ import annotations

import threading

import pytest

from penstock.errors import Conflict
from penstock.postgres.capture.producer import Producer
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.setup import remove_capture, set_up
from penstock.postgres.capture.status import read_status
from penstock.postgres.capture.stream.slot_place import MovedSlot
from penstock.postgres.catalog.source_connection import open_source
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from postgres_capture.conftest import Source
from postgres_capture.landing_server import OWN, InboxPipeline
from postgres_capture.producing import producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
SLOT = "'penstock_{s}'"
MOVES = {
    "advanced": f"SELECT pg_replication_slot_advance({SLOT}, pg_current_wal_lsn())",
    "made anew": f"SELECT pg_drop_replication_slot({SLOT}); "
    f"SELECT pg_create_logical_replication_slot({SLOT}, 'pgoutput')",
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES.keys())
@pytest.mark.parametrize("has_run", [True, False], ids=["after a run", "before the first run"])
def test_rows_that_a_moved_slot_passes_over_are_an_alarm(
    source: Source, landing: Landing, move: str, *, has_run: bool
) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    landing[0].columns["one"] = frozenset({"id", *OWN})
    destination = PenstockLanding(*landing[1:])
    if has_run:
        with producing(source.dsn, source.name, destination):
            source.run("INSERT INTO {s}.one VALUES (1)")
            source.wait_until_stored()
    assert moved_alarms(source) == []
    source.run("INSERT INTO {s}.one VALUES (2)")
    source.run(move)
    (alarm,) = moved_alarms(source)
    assert f"`penstock cdc setup --name {source.name}`" in alarm
    with pytest.raises(MovedSlot, match="changes in between are in no store"):
        Producer(source.dsn, source.name, destination, threading.Event().is_set).run()
    source.set_up("one")
    assert moved_alarms(source) == []
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        source.run("INSERT INTO {s}.one VALUES (3)")
        source.wait_until_stored()
    ids = source.rows("SELECT id FROM {s}.one ORDER BY id")
    assert sorted(landing[0].final("one", ("id",))) == ids


def test_a_slot_is_let_go_up_to_what_was_written_down(source: Source, landing: Landing) -> None:
    """It moves all the same, so that Postgres can throw its log away."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    landing[0].columns["one"] = frozenset({"id", *OWN})
    for id in (1, 2):
        with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
            source.run(f"INSERT INTO {{s}}.one VALUES ({id})")
            at = source.written()
            wait_until(lambda: places(source)[0] >= at, 60, lambda: str(places(source)))  # noqa: B023
        confirmed, noted = places(source)
        assert confirmed <= noted


def test_setup_beside_a_producer_that_writes_nothing_down(source: Source) -> None:
    """One of a former version goes on confirming until it is ended: no place is known before the next one reads."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    source.run("DELETE FROM penstock.slot_places WHERE capture = '{s}'")
    source.set_up("one")
    source.run(f"SELECT pg_replication_slot_advance({SLOT}, pg_current_wal_lsn())")
    assert moved_alarms(source) == []


def test_a_slot_that_is_made_anew_around_an_upgrade(source: Source, landing: Landing) -> None:
    """As the documentation says: nobody writes in between, so nothing is read again, and nothing lost."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    landing[0].columns["one"] = frozenset({"id", *OWN})
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        source.run("INSERT INTO {s}.one VALUES (1)")
        source.wait_until_stored()
    read = source.records.tables()[0].read
    source.run(MOVES["made anew"])
    assert moved_alarms(source) != []
    source.run("DELETE FROM penstock.slot_places WHERE capture = '{s}'")
    assert moved_alarms(source) == []
    source.run("INSERT INTO {s}.one VALUES (2)")
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        source.wait_until_stored()
    assert sorted(landing[0].final("one", ("id",))) == [(1,), (2,)]
    assert source.records.tables()[0].read == read


def test_a_slot_whose_capture_is_gone_is_made_anew(source: Source) -> None:
    """Somebody dropped the schema `penstock`: what the slot has is of tables that were captured then."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    source.run("DELETE FROM penstock.captures WHERE name = '{s}'")
    source.run("DROP PUBLICATION penstock_{s}; DROP PUBLICATION penstock_{s}_inserts")
    source.set_up("one")
    assert source.records.capture().slot == f"penstock_{source.schema}"
    assert moved_alarms(source) == []


def test_a_slot_of_another_database_is_left_alone(source: Source) -> None:
    """A copy of a database has the records of its capture, and not its slot."""
    database = f"{source.name}_copy"
    source.run(f"CREATE DATABASE {database}")
    copy = open_source(source.dsn.replace("/postgres", f"/{database}"))
    try:
        source.set_up()
        with pytest.raises(Conflict, match="belongs to the database `postgres`"):
            set_up(copy, source.name, [])
        CaptureRecords(copy, source.name).begin(f"penstock_{source.name}", f"penstock_{source.name}", "of a copy")
        copy.cursor().execute(f"INSERT INTO penstock.slot_places VALUES ('{source.name}', '0/1')")
        assert "the slot is gone" in read_status(copy, source.name).alarms[1]
        with pytest.raises(Conflict, match="belongs to the database `postgres`"):
            set_up(copy, source.name, [])
        remove_capture(copy, source.name)
        assert source.rows(f"SELECT database FROM pg_replication_slots WHERE slot_name = {SLOT}") == [("postgres",)]
    finally:
        copy.close()
        source.run(f"DROP DATABASE {database} WITH (FORCE)")


def test_what_is_written_down_is_there_after_a_crash(source: Source) -> None:
    source.run("ALTER DATABASE postgres SET synchronous_commit = off")
    try:
        opened = open_source(source.dsn)
        cursor = opened.cursor()
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchall() == [("local",)]
        opened.close()
    finally:
        source.run("ALTER DATABASE postgres RESET synchronous_commit")


def places(source: Source) -> tuple[int, int]:
    """Where the slot is, and what was written down."""
    ((confirmed, noted),) = source.rows(
        f"""SELECT s.confirmed_flush_lsn - '0/0', p.lsn - '0/0' FROM pg_replication_slots s, penstock.slot_places p
        WHERE s.slot_name = {SLOT} AND p.capture = '{{s}}'"""
    )
    return int(confirmed), int(noted)


def moved_alarms(source: Source) -> list[str]:
    return [each for each in read_status(source.connection, source.name).alarms if "moved it" in each]
