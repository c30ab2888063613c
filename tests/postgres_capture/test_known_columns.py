"""Names that pass to other columns without a migration: no store keeps a value under the name of another column."""

from __future__ import annotations

import pytest

from penstock.postgres.application.change_stop import ChangeStop
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.kept_replay import replay_rows
from penstock.postgres.capture.kept_rows import KeptRows
from penstock.postgres.capture.setup import accept_table
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.catalog.schema_form import table_form
from penstock.postgres.delivery.destination import StoreLacksColumns
from penstock.postgres.delivery.keeping_destination import KeepingDestination
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from postgres_capture.conftest import Source
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
COLUMNS = frozenset({"id", "a", "b", "c", "label"})
SWAP = "BEGIN; ALTER TABLE {s}.one RENAME a TO c; ALTER TABLE {s}.one RENAME b TO a; ALTER TABLE {s}.one RENAME c TO b"
MOVES = {
    "exchanged": f"{SWAP}; COMMIT",
    "exchanged one by one": SWAP.removeprefix("BEGIN; "),
    "took the name of a dropped one": "ALTER TABLE {s}.one DROP a; ALTER TABLE {s}.one RENAME b TO a",
    "was made anew": "ALTER TABLE {s}.one DROP a; ALTER TABLE {s}.one ADD a text",
    "has another name": "ALTER TABLE {s}.one RENAME a TO c",
    "has its name again": "ALTER TABLE {s}.one RENAME a TO c; UPDATE {s}.one SET c = 'c2' WHERE id = 2;"
    "ALTER TABLE {s}.one RENAME c TO a",
    "exchanged and back": f"{SWAP}; COMMIT; UPDATE {{s}}.one SET a = 'b2*' WHERE id = 2; {SWAP}; COMMIT",
}


@pytest.fixture(params=[True, False], ids=["trigger", "looks"])
def table(source: Source, landing: Landing, request: pytest.FixtureRequest) -> Source:
    """Three rows in a captured table, with and without event triggers."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY, a text, b text)")
    source.run("INSERT INTO {s}.one SELECT n, 'a' || n, 'b' || n FROM generate_series(1, 3) n")
    source.set_up("one")
    for each in ("penstock_tables", "penstock_drops"):
        source.run(f"ALTER EVENT TRIGGER {each} {'ENABLE' if request.param else 'DISABLE'}")
    landing[0].columns["one"] = COLUMNS
    return source


def expected(source: Source) -> dict[tuple[object, ...], dict[str, object]]:
    (shown,) = read_catalog(source.connection, [source.schema]).tables
    names = [each.name for each in shown.columns]
    rows = source.rows(f"SELECT {', '.join(names)} FROM {{s}}.one")
    return {(row[0],): dict(zip(names, row, strict=True)) for row in rows}


def found(source: Source, landing: Landing) -> dict[tuple[object, ...], dict[str, object]]:
    """What the store shows in the columns that the table has."""
    names = next(iter(expected(source).values()))
    shown = landing[0].final("one", ("id",))
    return {key: {each: row.get(each) for each in names} for key, row in shown.items()}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("is_read", [True, False], ids=["running", "stopped"])
def test_rows_that_nobody_touched_have_the_names_of_now(
    table: Source, landing: Landing, move: str, is_read: bool
) -> None:
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.wait_until_stored()
        if is_read:
            table.run(MOVES[move])
            table.run("UPDATE {s}.one SET id = 4 WHERE id = 3")
            wait_until(lambda: found(table, landing) == expected(table), 30, lambda: str(found(table, landing)))
    if not is_read:
        table.run(MOVES[move])
        table.run("UPDATE {s}.one SET id = 4 WHERE id = 3")
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.wait_until_stored()
        wait_until(lambda: found(table, landing) == expected(table), 30, lambda: str(found(table, landing)))


def test_rows_that_were_kept_of_before_an_exchange(table: Source, landing: Landing) -> None:
    """The store lacks a column, its rows are kept, and then two columns exchange their names."""
    landing[0].columns["one"] = COLUMNS - {"label"}
    kept, store = KeptRows(table.dsn, table.name), PenstockLanding(*landing[1:])
    with producing(table.dsn, table.name, KeepingDestination(store, kept)):
        table.wait_until_stored()
        table.run("ALTER TABLE {s}.one ADD label text; UPDATE {s}.one SET label = 'l' || id WHERE id < 3")
        table.wait_until_stored()
        assert kept.stores("penstock") == ["one"]
        table.run(MOVES["exchanged"])
        table.run("UPDATE {s}.one SET a = 'b2*' WHERE id = 2")
        table.wait_until_stored()
        with pytest.raises(StoreLacksColumns):
            replay_rows(kept, store, "one")
        landing[0].columns["one"] = COLUMNS
        replay_rows(kept, store, "one")
        wait_until(lambda: found(table, landing) == expected(table), 30, lambda: str(found(table, landing)))
        assert kept.stores("penstock") == []
    assert expected(table)[(1,)] == {"id": 1, "a": "b1", "b": "a1", "label": "l1"}


def test_a_table_that_waited_while_names_were_exchanged(table: Source, landing: Landing) -> None:
    landing[0].columns["one"] = COLUMNS - {"label"}
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.wait_until_stored()
        table.run("ALTER TABLE {s}.one ADD label text; UPDATE {s}.one SET label = 'l' || id WHERE id < 3")
        wait_until(lambda: read_status(table.connection, table.name).tables[0].state == "waiting", 30)
        table.run(MOVES["exchanged"])
        table.run("UPDATE {s}.one SET a = 'b2*' WHERE id = 2")
        landing[0].columns["one"] = COLUMNS
        wait_until(lambda: found(table, landing) == expected(table), 30, lambda: str(found(table, landing)))
    rows = [(row["id"], row["a"], row["b"]) for row in landing[0].landed("one") if row.get("label")]
    assert rows[:3] == [(1, "a1", "b1"), (2, "a2", "b2"), (2, "b2*", "a2")], "each under the names of its place"


def test_a_change_that_was_announced_is_the_migrations(table: Source, landing: Landing) -> None:
    (before,) = read_catalog(table.connection, [table.schema]).tables
    now = table_form(before)
    after = now.replace('"a"', '"x"').replace('"b"', '"a"').replace('"x"', '"b"')
    stops = StopRecords(table.connection)
    stops.make()
    stops.announce(ChangeStop(table.name, "1_swap", frozenset({now}), frozenset({after}), is_sure=True))
    stops.lift(table.name, "1_swap", None)  # the store is said to have carried it out
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.wait_until_stored()
        table.run(MOVES["exchanged"])
        table.run("UPDATE {s}.one SET a = 'b2*' WHERE id = 2")
        table.wait_until_stored()
        assert len(landing[0].landed("one")) == 4, "no row is read again"
        table.run(MOVES["exchanged"])  # nobody announced that they have their names back
        wait_until(lambda: len(landing[0].landed("one")) == 7, 30)
        table.run(MOVES["exchanged"])  # and what was announced was that of before
        wait_until(lambda: len(landing[0].landed("one")) == 10, 30)
    assert found(table, landing) == expected(table)
    stops.forget(table.name, "1_swap")


def test_a_table_that_cannot_be_read_again_stops(table: Source, landing: Landing) -> None:
    table.run("CREATE TABLE {s}.events (a text, b text)")
    table.set_up("events", insert_only=("events",))
    landing[0].columns["events"] = COLUMNS
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.run("INSERT INTO {s}.events VALUES ('a1', 'b1')")
        table.wait_until_stored()
        table.run(MOVES["exchanged"].replace(".one", ".events"))
        table.run("INSERT INTO {s}.events (a, b) VALUES ('b2', 'a2')")
        wait_until(lambda: read_status(table.connection, table.name).tables[0].state == "waiting", 30)
        (status, _) = read_status(table.connection, table.name).tables
        assert "have other names than the rows that the store has" in str(status.problem)
    assert [row["a"] for row in landing[0].landed("events")] == ["a1"]
    name = QualifiedName(table.schema, "events")
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        assert accept_table(table.connection, table.name, name)
        table.run("INSERT INTO {s}.events (a, b) VALUES ('b3', 'a3')")
        wait_until(lambda: len(landing[0].landed("events")) == 3, 30)
        table.wait_until_stored()
        assert not accept_table(table.connection, table.name, name)
    assert [row["a"] for row in landing[0].landed("events")] == ["a1", "b2", "b3"]


def test_a_reading_that_somebody_wants_anew_does_not_end(source: Source) -> None:
    """The producer is in the middle of a reading, and does not know yet that it is to begin again."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    (table,) = source.records.tables()
    source.records.begin_read(table)
    (reading,) = source.records.tables()
    StopRecords(source.connection).read_again(reading.oid)
    source.records.intend_part(reading, 1, ["9"])
    source.records.finish_part(reading, 9)
    source.records.finish_read(reading)
    (now,) = source.records.tables()
    assert (now.read.version, now.read.done) == (None, False)
