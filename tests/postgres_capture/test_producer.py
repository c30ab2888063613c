"""Rows of a real Postgres arrive in Penstock's ingestion: each once, and at the end the tables are the same."""

from __future__ import annotations

from penstock.postgres.capture.setup import add_table, remove_table, table_choice
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.landing_server import OWN, InboxPipeline
from postgres_capture.producing import producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
SMALL = PackageLimits(rows=7, bytes=2_000, seconds=0.02)


def destination(landing: Landing) -> PenstockLanding:
    return PenstockLanding(*landing[1:])


def test_what_is_there_and_what_changes(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.issues (id int, part text, title text, PRIMARY KEY (part, id))")
    source.run("INSERT INTO {s}.issues SELECT n, 'a', 'it''s \\ ' || E'\\t\\n' || n FROM generate_series(1, 30) n")
    source.set_up("issues")
    landing[0].columns["issues"] = frozenset({"id", "part", "title", *OWN})
    with producing(source.dsn, source.name, destination(landing), SMALL):
        source.wait_until_stored()
        source.run("INSERT INTO {s}.issues VALUES (31, 'b', NULL), (32, 'b', '')")
        source.run("UPDATE {s}.issues SET id = id + 100 WHERE id % 2 = 0")
        source.run("DELETE FROM {s}.issues WHERE id < 4")
        source.run("UPDATE {s}.issues SET title = 'same key' WHERE id = 5")
        source.wait_until_stored()
    there = source.rows("SELECT * FROM {s}.issues")
    expected = {(part, id): {"id": id, "part": part, "title": title} for id, part, title in there}
    assert landing[0].final("issues", ("part", "id")) == expected
    rows = landing[0].landed("issues")
    assert len(rows) == 30 + 2 + 2 * 16 + 2 + 1
    streamed = [(row["cdc_commit_lsn"], row["cdc_ordinal"]) for row in rows[30:]]
    assert streamed == sorted(set(streamed)), "each once, in the order of the commits"


def test_large_values_that_stay_are_kept(source: Source, landing: Landing) -> None:
    for name, identity in (("fetched", "DEFAULT"), ("logged", "FULL")):
        source.run(f"CREATE TABLE {{s}}.{name} (id int PRIMARY KEY, large text, n int)")
        source.run(f"ALTER TABLE {{s}}.{name} ALTER large SET STORAGE EXTERNAL, REPLICA IDENTITY {identity}")
        landing[0].columns[name] = frozenset({"id", "large", "n"})
    source.set_up("fetched", "logged")
    with producing(source.dsn, source.name, destination(landing)):
        for name in ("fetched", "logged"):
            source.run(f"INSERT INTO {{s}}.{name} VALUES (1, repeat('x', 9000), 1), (2, repeat('y', 9000), 1)")
            source.run(f"UPDATE {{s}}.{name} SET n = 2")
            source.run(f"UPDATE {{s}}.{name} SET id = 3 WHERE id = 1")
            source.run(f"UPDATE {{s}}.{name} SET n = 5 WHERE id = 2; DELETE FROM {{s}}.{name} WHERE id = 2")
        source.wait_until_stored()
    for name in ("fetched", "logged"):
        assert landing[0].final(name, ("id",)) == {(3,): {"id": 3, "large": "x" * 9000, "n": 2}}


def test_truncate_partitions_and_tables_without_a_key(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.days (day date, n int, PRIMARY KEY (day, n)) PARTITION BY RANGE (day)")
    for month in (1, 2):
        source.run(
            f"CREATE TABLE {{s}}.days_{month} PARTITION OF {{s}}.days "
            f"FOR VALUES FROM ('2026-0{month}-01') TO ('2026-0{month + 1}-01')"
        )
    source.run("CREATE TABLE {s}.events (what text)")
    source.run("INSERT INTO {s}.days VALUES ('2026-01-05', 1), ('2026-02-05', 2)")
    source.set_up("days", "events", insert_only=("events",))
    landing[0].columns |= {"days": frozenset({"day", "n"}), "events": frozenset({"what"})}
    with producing(source.dsn, source.name, destination(landing)):
        source.wait_until_stored()
        assert set(landing[0].final("days", ("day", "n"))) == {("2026-01-05", 1), ("2026-02-05", 2)}
        source.run("INSERT INTO {s}.events VALUES ('a'), ('a')")
        source.run("UPDATE {s}.events SET what = 'b'; DELETE FROM {s}.events")
        source.run("TRUNCATE {s}.days; INSERT INTO {s}.days VALUES ('2026-01-07', 3)")  # one transaction
        source.run("UPDATE {s}.days SET day = '2026-02-07'")
        source.wait_until_stored()
    assert set(landing[0].final("days", ("day", "n"))) == {("2026-02-07", 3)}
    assert [row["what"] for row in landing[0].landed("events")] == ["a", "a"]


def test_a_table_that_its_store_cannot_take_waits_alone(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY); CREATE TABLE {s}.two (id int PRIMARY KEY)")
    source.set_up("one", "two")
    landing[0].columns |= {"one": frozenset({"id"}), "two": frozenset({"id"})}
    with producing(source.dsn, source.name, destination(landing)):
        source.wait_until_stored()
        source.run("INSERT INTO {s}.one VALUES (1)")
        source.run("ALTER TABLE {s}.one ADD COLUMN label text")
        source.run("INSERT INTO {s}.one VALUES (2, 'kept'); INSERT INTO {s}.two VALUES (2)")
        wait_until(lambda: len(landing[0].landed("two")) == 1, 30)
        wait_until(lambda: read_status(source.connection, source.name).tables[0].state == "waiting", 30)
        found = read_status(source.connection, source.name)
        assert "no column of `one` reads `label`" in str(found.tables[0].problem)
        assert found.tables[1].state == "streaming"
        assert any("waits at" in alarm for alarm in found.alarms)
        source.run("INSERT INTO {s}.one VALUES (3, 'too'); INSERT INTO {s}.two VALUES (3)")
        landing[0].columns["one"] = frozenset({"id", "label"})
        source.wait_until_stored()
    assert [row.get("label") for row in landing[0].landed("one")] == [None, "kept", "too"]
    assert [row["id"] for row in landing[0].landed("two")] == [2, 3]
    assert read_status(source.connection, source.name).tables[0].problem is None


def test_a_table_that_was_written_anew_is_read_again(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.prices (id int PRIMARY KEY, price int)")
    source.run("INSERT INTO {s}.prices SELECT n, n FROM generate_series(1, 20) n")
    source.set_up("prices")
    landing[0].columns["prices"] = frozenset({"id", "price"})
    with producing(source.dsn, source.name, destination(landing), SMALL):
        source.wait_until_stored()
        source.run("UPDATE {s}.prices SET price = 0 WHERE id = 1")
        source.run("ALTER TABLE {s}.prices ALTER price TYPE bigint USING price * 100")
        source.run("UPDATE {s}.prices SET price = price + 1 WHERE id = 2")
        source.wait_until_stored()
    expected = {(id,): {"id": id, "price": price} for id, price in source.rows("SELECT * FROM {s}.prices")}
    assert expected[(2,)]["price"] == 201
    assert landing[0].final("prices", ("id",)) == expected


def test_tables_come_and_go_while_it_runs(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY); CREATE TABLE {s}.more (id int PRIMARY KEY)")
    source.run("INSERT INTO {s}.more SELECT n FROM generate_series(1, 25) n")
    source.set_up("one")
    landing[0].columns |= {"one": frozenset({"id"}), "more": frozenset({"id"})}
    with producing(source.dsn, source.name, destination(landing), SMALL):
        source.wait_until_stored()
        add_table(source.connection, source.name, table_choice(f"{source.schema}.more", ()))
        source.run("INSERT INTO {s}.more VALUES (26); DELETE FROM {s}.more WHERE id = 1")
        source.wait_until_stored()
        assert set(landing[0].final("more", ("id",))) == {(id,) for id in range(2, 27)}
        remove_table(source.connection, source.name, QualifiedName(source.schema, "one"))
        source.run("INSERT INTO {s}.one VALUES (1); INSERT INTO {s}.more VALUES (27)")
        source.wait_until_stored()
    assert landing[0].landed("one") == []
    assert (27,) in landing[0].final("more", ("id",))


def test_a_transaction_that_is_larger_than_memory_should_be(source: Source, landing: Landing) -> None:
    """It leaves in many packages, and a transaction that began before it and ends after it loses nothing."""
    source.run("CREATE TABLE {s}.many (id int PRIMARY KEY, text text)")
    source.set_up("many")
    landing[0].columns["many"] = frozenset({"id", "text"})
    other = source.postgres.connect()
    other.cursor().execute(f"INSERT INTO {source.schema}.many VALUES (-1, 'early')")
    with producing(source.dsn, source.name, destination(landing), PackageLimits(rows=500, seconds=0.05)):
        source.run("INSERT INTO {s}.many SELECT n, repeat('z', 200) FROM generate_series(1, 3000) n")
        wait_until(lambda: landing[0].log.head("many") >= 6, 30)
        other.commit()
        other.close()
        source.wait_until_stored()
    found = landing[0].landed("many")
    assert sorted({row["id"] for row in found}) == [-1, *range(1, 3001)]


def test_a_server_that_is_away_is_waited_for(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    landing[0].columns["one"] = frozenset({"id"})
    with producing(source.dsn, source.name, destination(landing)):
        source.wait_until_stored()
        landing[0].is_away = True
        source.run("INSERT INTO {s}.one VALUES (1), (2)")
        before = landing[0].posts
        wait_until(lambda: landing[0].posts > before + 1, 30)
        landing[0].is_away = False
        source.wait_until_stored()
    assert [row["id"] for row in landing[0].landed("one")] == [1, 2]


def test_a_connection_that_is_cut_is_made_anew(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    landing[0].columns["one"] = frozenset({"id"})
    with producing(source.dsn, source.name, destination(landing)):
        source.wait_until_stored()
        source.run("INSERT INTO {s}.one VALUES (1)")
        source.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
        source.run("INSERT INTO {s}.one VALUES (2)")
        source.wait_until_stored()
    assert [row["id"] for row in landing[0].landed("one")] == [1, 2]


def test_rows_that_are_there_wait_for_their_column_too(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY, label text); INSERT INTO {s}.one VALUES (1, 'kept')")
    source.set_up("one")
    landing[0].columns["one"] = frozenset({"id"})
    with producing(source.dsn, source.name, destination(landing)):
        wait_until(lambda: "no column" in str(source.records.tables()[0].problem), 30)
        landing[0].columns["one"] = frozenset({"id", "label"})
        source.wait_until_stored()
        wait_until(lambda: source.records.tables()[0].problem is None, 30)
    assert [row["label"] for row in landing[0].landed("one")] == ["kept"]
