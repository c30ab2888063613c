"""A slot that somebody moves, or makes anew: what it passes over is in no store, and Postgres says nothing of it."""

from __future__ import annotations

import threading

import pytest

from penstock.postgres.capture.producer import Producer
from penstock.postgres.capture.status import read_status
from penstock.postgres.capture.stream.slot_place import MovedSlot
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


def places(source: Source) -> tuple[int, int]:
    """Where the slot is, and what was written down."""
    ((confirmed, noted),) = source.rows(
        f"""SELECT s.confirmed_flush_lsn - '0/0', p.lsn - '0/0' FROM pg_replication_slots s, penstock.slot_places p
        WHERE s.slot_name = {SLOT} AND p.capture = '{{s}}'"""
    )
    return int(confirmed), int(noted)


def moved_alarms(source: Source) -> list[str]:
    return [each for each in read_status(source.connection, source.name).alarms if "moved it" in each]
