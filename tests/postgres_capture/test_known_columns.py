"""Names that pass to other columns without a migration: no store keeps a value under the name of another column."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.postgres.application.change_stop import ChangeStop
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.kept_replay import replay_rows
from penstock.postgres.capture.kept_rows import KeptRows
from penstock.postgres.capture.known_columns import KnownColumns, _save_known, load_known
from penstock.postgres.capture.lost_values import note_lost
from penstock.postgres.capture.records import CapturedTable
from penstock.postgres.capture.schemas.table_descriptions import TableDescriptions
from penstock.postgres.capture.setup import accept_table, set_up
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.catalog.schema_form import table_form
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
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


KEYS = {
    "another primary key": "ALTER TABLE {s}.one DROP CONSTRAINT one_pkey, ADD PRIMARY KEY (code)",
    "a part of it": "ALTER TABLE {s}.one DROP CONSTRAINT one_pkey, ADD PRIMARY KEY (id, code)",
    "another index": "CREATE UNIQUE INDEX u ON {s}.one (code); ALTER TABLE {s}.one REPLICA IDENTITY USING INDEX u",
}
FOR_KEYS = "ALTER TABLE {s}.one ADD code text; UPDATE {s}.one SET code = b; ALTER TABLE {s}.one ALTER code SET NOT NULL"
AFTER = "DELETE FROM {s}.one WHERE id = 2; UPDATE {s}.one SET id = 30 WHERE id = 3"


@pytest.mark.parametrize("change", KEYS)
@pytest.mark.parametrize("is_running", [True, False], ids=["running", "stopped"])
def test_a_table_with_another_key_stops(table: Source, landing: Landing, change: str, *, is_running: bool) -> None:
    """A row that ends is sent with the new key only: the store would not find it, or would find another one."""
    landing[0].columns["one"] = COLUMNS | {"code"}
    table.run(FOR_KEYS)
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.wait_until_stored()
        before = found(table, landing)
        if is_running:
            table.run(KEYS[change])
            table.run(AFTER)
            wait_until(lambda: problem_of(table) is not None, 30)
    if not is_running:
        table.run(KEYS[change])
        table.run(AFTER)
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        wait_until(lambda: problem_of(table) is not None, 30)
        assert "and those that the store has by `id`" in str(problem_of(table))
        assert found(table, landing) == before
        landing[0].truncate("one", "by hand")
        table.remove("one")
        table.set_up("one")
        table.run("UPDATE {s}.one SET id = 31 WHERE id = 30; DELETE FROM {s}.one WHERE id = 1")
        table.wait_until_stored()
    shown = landing[0].final("one", ("id", "code") if change == "a part of it" else ("code",))
    assert [*shown.values()] == [*expected(table).values()]


def test_a_key_that_somebody_accepts(table: Source, landing: Landing) -> None:
    landing[0].columns["one"] = COLUMNS | {"code"}
    table.run(f"{FOR_KEYS}; {KEYS['another primary key']}; {AFTER}")
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        wait_until(lambda: problem_of(table) is not None, 30)
        assert accept_table(table.connection, table.name, QualifiedName(table.schema, "one"))
        table.wait_until_stored()
        assert not accept_table(table.connection, table.name, QualifiedName(table.schema, "one"))
    assert landing[0].final("one", ("code",)).keys() == {("b1",), ("b3",)}


def test_the_same_key_otherwise_called_or_made_anew_goes_on(table: Source, landing: Landing) -> None:
    landing[0].columns["one"] = COLUMNS | {"number"}
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.run("ALTER TABLE {s}.one DROP CONSTRAINT one_pkey; INSERT INTO {s}.one VALUES (4, 'a4', 'b4')")
        table.run("ALTER TABLE {s}.one ADD PRIMARY KEY (id), REPLICA IDENTITY FULL; DELETE FROM {s}.one WHERE id = 2")
        table.run("ALTER TABLE {s}.one RENAME id TO number; UPDATE {s}.one SET a = 'x' WHERE number = 1")
        table.wait_until_stored()
        assert problem_of(table) is None


def test_a_capture_that_does_not_know_the_key_yet(table: Source, landing: Landing) -> None:
    """It was set up by a version that did not keep it."""
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.wait_until_stored()
    table.run("ALTER TABLE penstock.known_columns DROP COLUMN key")
    set_up(table.connection, table.name, [])
    table.run("INSERT INTO {s}.one VALUES (4, 'a4', 'b4')")
    with producing(table.dsn, table.name, PenstockLanding(*landing[1:])):
        table.wait_until_stored()
        assert found(table, landing) == expected(table)
        table.run(f"{FOR_KEYS}; {KEYS['another primary key']}; {AFTER}")
        wait_until(lambda: problem_of(table) is not None, 30)


def problem_of(source: Source) -> str | None:
    (status,) = [each for each in read_status(source.connection, source.name).tables if each.store == "one"]
    return status.problem


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


@pytest.mark.parametrize("is_known", [True, False], ids=["between two looks", "while it begins"])
def test_what_is_known_of_a_former_capture_is_not_that_of_the_next(table: Source, *, is_known: bool) -> None:
    """A table is removed and added again while a producer runs, which has loaded how it was described before."""
    columns = beginning(table.connection, table.name)
    if is_known:
        columns.look(table.records.tables())
    (before,), known = table.records.tables(), load_known(table.connection, table.name)
    table.run(f"{FOR_KEYS}; {KEYS['another primary key']}")
    table.remove("one")
    table.set_up("one")
    if not is_known:
        columns = KnownColumns(table.connection, table.name, columns.descriptions, None)
    columns.descriptions.look([before.oid])
    columns.look(table.records.tables())
    assert columns.is_outdated, "all of it is to be loaded again"
    for each in known.values():
        _save_known(table.connection, (table.name, before), each, 0)
    assert load_known(table.connection, table.name) == {}
    beginning(table.connection, table.name).look(table.records.tables())
    (now,) = load_known(table.connection, table.name).values()
    assert now.key is not None
    assert [*now.key.columns] == ["code"]


WRITERS: dict[str, Callable[[SourceConnection, str, CapturedTable], None]] = {
    "a description": lambda connection, name, table: TableDescriptions(connection, name).look([table.oid]),
    "what is known": lambda connection, name, table: beginning(connection, name).look([table]),
    "lost values": lambda connection, name, table: note_lost(
        connection, (name, table.oid), (1,), {("a", "changed"): 1}
    ),
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_table_that_is_removed_while_something_of_it_is_written_down(table: Source, what: str) -> None:
    """Its producer goes on."""
    (captured,) = table.records.tables()
    other, watching = open_source(table.dsn), open_source(table.dsn)
    waits = f"SELECT 1 FROM pg_catalog.pg_stat_activity WHERE pid = {pid_of(other)} AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as threads:
        table.connection.autocommit = False
        table.records.remove_table(captured.oid)
        writing = threads.submit(WRITERS[what], other, table.name, captured)
        wait_until(lambda: writing.done() or rows_of(watching, waits), 60)
        table.connection.commit()
        table.connection.autocommit = True
        writing.result(60)
    other.close()
    watching.close()


def beginning(connection: SourceConnection, capture: str) -> KnownColumns:
    """What a producer knows that begins now."""
    descriptions = TableDescriptions(connection, capture)
    descriptions.load()
    return KnownColumns(connection, capture, descriptions, None)


def rows_of(connection: SourceConnection, query: str) -> list[tuple[object, ...]]:
    cursor = connection.cursor()
    cursor.execute(query)
    return cursor.fetchall()


def pid_of(connection: SourceConnection) -> object:
    return rows_of(connection, "SELECT pg_backend_pid()")[0][0]
