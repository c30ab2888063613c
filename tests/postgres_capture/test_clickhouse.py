"""Rows of a real Postgres in ClickHouse, which is chDB here: what is inserted, what is refused, and kills anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nats_server import nats_or_skip
from penstock.crash_points import CAPTURE_POINTS, STORE_POINTS, arm, disarm
from penstock.errors import Failed
from penstock.model.settings import StoreSettings
from penstock.postgres.application.announced_stops import AnnouncedStops
from penstock.postgres.application.source_state import SourceStage, SourceState
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.kept_replay import replay_rows
from penstock.postgres.capture.kept_rows import KeptRows
from penstock.postgres.capture.schemas.schema_tracker import identity_key
from penstock.postgres.capture.source_stops import SourceStops
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.delivery.clickhouse_landing import ClickHouseLanding, clickhouse_table
from penstock.postgres.delivery.clickhouse_targets import notes_on_targets
from penstock.postgres.delivery.clickhouse_values import refused_value
from penstock.postgres.delivery.destination import UnstorableRow
from penstock.postgres.delivery.keeping_destination import KeepingDestination
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.stopping_destination import StoppingDestination
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase, SwapColumns
from penstock.postgres.packages.package import PackageColumn, PackageRow, PackageSchema, RowPackage
from penstock.postgres.packages.package_builder import PackageLimits
from penstock.postgres.packages.row_values import DELETED, VERSION
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from postgres_capture.conftest import Source
from postgres_capture.consuming import RunningConsumer
from postgres_capture.producing import RunningProducer, producing
from waiting import wait_until

pytest.importorskip("chdb")
from clickhouse_session import open_session

SMALL = PackageLimits(rows=3, seconds=0.02)


class Chdb:
    """A connection to chDB."""

    def __init__(self) -> None:
        self._session = open_session()

    def run(self, statement: str) -> None:
        self._ask(statement, "CSV")

    def rows(self, query: str) -> list[Sequence[object]]:
        text = self._ask(f"{query} SETTINGS output_format_json_quote_64bit_integers = 0", "JSONCompact")
        found: list[Sequence[object]] = json.loads(text)["data"]
        return found

    def _ask(self, text: str, form: str) -> str:
        try:
            return str(self._session.query(text, form).data())
        except RuntimeError as error:
            raise Failed(str(error)) from error


@pytest.fixture(scope="module")
def chdb() -> Iterator[Chdb]:
    made = Chdb()
    yield made
    made._session.close()


@pytest.fixture
def database(chdb: Chdb, source: Source) -> str:
    chdb.run(f"CREATE DATABASE {source.schema} ENGINE = Atomic")
    return source.schema


def make_table(chdb: Chdb, source: Source, name: str) -> None:
    table = read_catalog(source.connection, [source.schema]).table(QualifiedName(source.schema, name))
    assert table is not None
    chdb.run(clickhouse_table(table, identity_key(table), name, source.schema))


def test_every_type_and_two_views(chdb: Chdb, database: str, source: Source) -> None:
    source.run("CREATE TYPE {s}.mood AS ENUM ('ok', 'bad')")
    source.run("CREATE DOMAIN {s}.amount AS numeric(10, 2)")
    source.run(
        "CREATE TABLE {s}.t (id int PRIMARY KEY, mood {s}.mood, amount {s}.amount, big bigint, open bool, day date, "
        "at timestamptz, code uuid, tags text[], note text)"
    )
    make_table(chdb, source, "t")
    columns = "(id Int32, note Nullable(String), v UInt64)"
    chdb.run(f"CREATE TABLE {database}.kept {columns} ENGINE ReplacingMergeTree(v) ORDER BY id")
    chdb.run(f"CREATE TABLE {database}.sums (mood String, n UInt64) ENGINE SummingMergeTree ORDER BY mood")
    kept = f"SELECT id, note, cdc_version AS v FROM {database}.t"
    chdb.run(f"CREATE MATERIALIZED VIEW {database}.keep TO {database}.kept AS {kept}")
    chdb.run(
        f"CREATE MATERIALIZED VIEW {database}.sum TO {database}.sums AS "
        f"SELECT toString(mood) AS mood, count() AS n FROM {database}.t WHERE NOT cdc_is_deleted GROUP BY mood"
    )
    source.set_up("t")
    with producing(source.dsn, source.name, ClickHouseLanding(chdb, database), SMALL):
        source.wait_until_stored("clickhouse")
        source.run(
            "INSERT INTO {s}.t VALUES (1, 'ok', 12345678.91, 9223372036854775807, true, '2026-02-28', "
            "'2026-01-02 03:04:05.678901+02', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{a,NULL}', "
            "E'it''s\\n\\\\ \"x\"'); INSERT INTO {s}.t (id, mood) VALUES (2, 'bad')"
        )
        source.run("UPDATE {s}.t SET id = 3 WHERE id = 2; DELETE FROM {s}.t WHERE id = 3")
        source.wait_until_stored("clickhouse")
    shown = chdb.rows(
        f"SELECT * EXCEPT (cdc_version, cdc_is_deleted, cdc_source, cdc_position) FROM {database}.t FINAL"
    )
    times = ["2026-02-28", "2026-01-02 01:04:05.678901"]
    texts = ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{a,NULL}", 'it\'s\n\\ "x"']
    assert shown == [[1, "ok", 12345678.91, 9223372036854775807, True, *times, *texts]]
    assert chdb.rows(f"SELECT mood, sum(n) FROM {database}.sums GROUP BY mood ORDER BY mood") == [["bad", 2], ["ok", 1]]
    assert chdb.rows(f"SELECT note FROM {database}.kept FINAL WHERE id = 1") == [['it\'s\n\\ "x"']]


@pytest.mark.parametrize(
    ("change", "value", "problem", "mend"),
    [
        ("ADD COLUMN more int", "7", "no column for `more`", "ADD COLUMN more Nullable(Int32)"),
        ("ALTER n TYPE bigint", "3000000000", "`n` is 3000000000, and", "MODIFY COLUMN n Nullable(Int64)"),
        ("ALTER d TYPE numeric(9, 4)", "1.2345", "`d` is 1.2345", "MODIFY COLUMN d Nullable(Decimal(9, 4))"),
    ],
)  # fmt: skip
def test_what_the_table_would_change_in_silence_waits(
    chdb: Chdb, database: str, source: Source, change: str, value: str, problem: str, mend: str
) -> None:
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY, n int, d numeric(9, 2))")
    make_table(chdb, source, "t")
    source.set_up("t")
    column = change.split()[2] if change.startswith("ADD") else change.split()[1]
    with producing(source.dsn, source.name, ClickHouseLanding(chdb, database)):
        source.wait_until_stored("clickhouse")
        source.run(f"ALTER TABLE {{s}}.t {change}; INSERT INTO {{s}}.t (id, {column}) VALUES (1, {value})")
        wait_until(lambda: problem in str(source.records.tables()[0].problem), 30, lambda: str(source.records.tables()))
        assert chdb.rows(f"SELECT count() FROM {database}.t") == [[0]]
        chdb.run(f"ALTER TABLE {database}.t {mend}")
        wait_until(lambda: chdb.rows(f"SELECT toString({column}) FROM {database}.t FINAL") == [[value]], 30)


@pytest.mark.parametrize(
    ("type", "narrow", "text", "wide", "expected"),
    [
        ("integer", "Int32 DEFAULT 0", None, "Nullable(Int32)", None),
        ("bigint", "Nullable(Int32)", "2147483648", "Nullable(Int64)", 2147483648),
        ("numeric", "Nullable(Decimal(9, 1))", "1.25", "Nullable(Decimal(9, 2))", 1.25),
        ("text", "String DEFAULT ''", None, "Nullable(String)", None),
    ],
)
def test_a_column_that_becomes_narrower_just_before_an_insert(
    chdb: Chdb, database: str, type: str, narrow: str, text: str | None, wide: str, expected: object
) -> None:
    """Between the look at its type and the insert: the value is refused, and is there once the column holds it."""
    created = f"CREATE TABLE {database}.t (id Int32, c {wide}, {VERSION} UInt64, {DELETED} UInt8, cdc_source String,"
    chdb.run(f"{created} cdc_position Array(UInt64)) ENGINE ReplacingMergeTree({VERSION}, {DELETED}) ORDER BY id")
    table = QualifiedName("public", "t")
    schema = PackageSchema(table, (PackageColumn("id", "integer", is_key=True), PackageColumn("c", type)))
    rows = (PackageRow((5, 0), 4, "insert", ("1", text)),)
    package = RowPackage("s", "t", schema, (5, 0), rows)
    meanwhile = [f"ALTER TABLE {database}.t MODIFY COLUMN c {narrow}"]

    class Altered(Chdb):
        def __init__(self) -> None:
            self._session = chdb._session

        def run(self, statement: str) -> None:
            if f"`{database}`.`t` (" in statement and meanwhile:
                chdb.run(meanwhile.pop())
            super().run(statement)

    landing = ClickHouseLanding(Altered(), database)
    with pytest.raises(Failed, match="Type of 'c' must be"):
        landing.deliver(package)
    with pytest.raises(UnstorableRow, match="the column is"):
        landing.deliver(package)
    chdb.run(f"ALTER TABLE {database}.t MODIFY COLUMN c {wide}")
    landing.deliver(package)
    assert chdb.rows(f"SELECT id, c FROM {database}.t") == [[1, expected]]


@pytest.mark.parametrize(
    "of", ["Enum8('it\\'s' = 7, 'b' = 9)", "Nullable(Enum16('b' = 9))", "Int32", "Map(String, Int8)"]
)
def test_a_deletion_needs_no_value_but_its_key(chdb: Chdb, database: str, of: str) -> None:
    chdb.run(
        f"CREATE TABLE {database}.t (id Int32, c {of}, {VERSION} UInt64, {DELETED} UInt8, cdc_source String,"
        f" cdc_position Array(UInt64)) ENGINE ReplacingMergeTree({VERSION}, {DELETED}) ORDER BY id"
    )
    schema = PackageSchema(
        QualifiedName("public", "t"), (PackageColumn("id", "integer", is_key=True), PackageColumn("c", "text"))
    )
    deleted = PackageRow((5, 0), 4, "delete", ("1", None), key_only=True)
    ClickHouseLanding(chdb, database).deliver(RowPackage("s", "t", schema, (5, 0), (deleted,)))
    assert chdb.rows(f"SELECT id, {DELETED} FROM {database}.t") == [[1, 1]]
    assert chdb.rows(f"SELECT count() FROM {database}.t FINAL") == [[0]]


@pytest.mark.parametrize(
    ("of", "text", "fits"),
    [
        ("Int8", "127", True),
        ("Int8", "128", False),
        ("UInt8", "-1", False),
        ("UInt8", "t", True),
        ("Int32", "1.5", False),
        ("Nullable(Int16)", "-32769", False),
        ("LowCardinality(Nullable(Int64))", "9223372036854775808", False),
        ("Decimal(9, 2)", "1.20", True),
        ("Decimal(9, 2)", "1.200", True),
        ("Decimal(9, 2)", "1.201", False),
        ("Decimal(9, 2)", "NaN", False),
        ("FixedString(2)", "a", False),
        ("FixedString(2)", "ä", True),
        ("String", "anything", True),
        ("Int8", None, False),
        ("Nullable(Int8)", None, True),
    ],
)
def test_what_fits_a_column(of: str, text: str | None, fits: bool) -> None:
    assert (refused_value(of, "n", text) is None) == fits


def test_kills_at_every_point_leave_each_change_once(chdb: Chdb, database: str, source: Source) -> None:
    """Also in a view that counts."""
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY, name text)")
    make_table(chdb, source, "t")
    chdb.run(
        f"CREATE TABLE {database}.counts (n UInt64) ENGINE SummingMergeTree ORDER BY tuple() "
        "SETTINGS non_replicated_deduplication_window = 1000"
    )
    chdb.run(
        f"CREATE MATERIALIZED VIEW {database}.c TO {database}.counts AS SELECT count() AS n FROM {database}.t "
        f"WHERE cdc_source NOT LIKE '%/read'"
    )
    source.set_up("t")
    changes = 0
    running = RunningProducer(source.dsn, source.name, ClickHouseLanding(chdb, database), SMALL)
    for point in (CAPTURE_POINTS[2], *STORE_POINTS, *STORE_POINTS):
        arm(point, 2, lambda: None)
        for _ in range(8):
            source.run(f"INSERT INTO {{s}}.t VALUES ({changes}, 'a'), (-1 - {changes}, 'b')")
            source.run(f"UPDATE {{s}}.t SET name = '{point}' WHERE id = {changes}")
            changes += 3
        wait_until(lambda each=running: each.has_ended, 30)  # type: ignore[misc]
        disarm()
        running.stop()
        running = RunningProducer(source.dsn, source.name, ClickHouseLanding(chdb, database), SMALL)
    source.wait_until_stored("clickhouse")
    running.stop()
    expected = sorted(source.rows("SELECT id, name FROM {s}.t"))
    assert [tuple(row) for row in chdb.rows(f"SELECT id, name FROM {database}.t FINAL ORDER BY id")] == expected
    streamed = chdb.rows(
        f"SELECT count(), uniqExact(cdc_position) FROM {database}.t WHERE cdc_source NOT LIKE '%/read'"
    )
    assert int(str(streamed[0][0])) == int(str(streamed[0][1]))
    assert chdb.rows(f"SELECT sum(n) FROM {database}.counts") == [[changes]]


def test_targets_that_do_not_remember_blocks_are_named(chdb: Chdb, database: str) -> None:
    run = chdb.run
    run(f"CREATE TABLE {database}.t (id Int32, cdc_position Array(UInt64)) ENGINE ReplacingMergeTree ORDER BY id")
    for name, engine, settings in (
        ("sums", "SummingMergeTree", ""),
        ("safe", "SummingMergeTree", " SETTINGS non_replicated_deduplication_window = 100"),
        ("kept", "ReplacingMergeTree", ""),
        ("above", "MergeTree", ""),
    ):
        run(f"CREATE TABLE {database}.{name} (id Int32) ENGINE {engine} ORDER BY id{settings}")
        of = "safe" if name == "above" else "t"
        run(f"CREATE MATERIALIZED VIEW {database}.v_{name} TO {database}.{name} AS SELECT id FROM {database}.{of}")
    run(f"CREATE MATERIALIZED VIEW {database}.own ENGINE MergeTree ORDER BY id AS SELECT id FROM {database}.t")
    store = ClickHouseStore("warehouse", StoreSettings("clickhouse", database=database), chdb, lambda _: ViewChoices())
    notes = notes_on_targets(store.read_schema(), ["t"])
    assert sorted(note.split(",")[0].split(" owns")[0] for note in notes) == ["above", "sums", "the view own"]
    for note in notes:
        if "ALTER" in note:
            run(note[note.index("ALTER") :])
    assert [note.split(" owns")[0] for note in notes_on_targets(store.read_schema(), ["t"])] == ["the view own"]


def test_an_insert_that_failed_is_sent_again_under_its_name(chdb: Chdb, database: str, source: Source) -> None:
    """A view whose target refuses the row: once it takes it, the row is in both once."""
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY, name text)")
    make_table(chdb, source, "t")
    chdb.run(f"CREATE TABLE {database}.short (id Int32, name FixedString(1)) ENGINE MergeTree ORDER BY id")
    view = f"CREATE MATERIALIZED VIEW {database}.s TO {database}.short AS SELECT id,"
    chdb.run(f"{view} toFixedString(name, 1) AS name FROM {database}.t")
    source.set_up("t")
    with producing(source.dsn, source.name, ClickHouseLanding(chdb, database)):
        source.wait_until_stored("clickhouse")
        source.run("INSERT INTO {s}.t VALUES (1, 'long')")
        wait_until(lambda: source.records.tables()[0].problem, 30)
        chdb.run(f"DROP TABLE {database}.s SYNC")
        chdb.run(f"{view} 'x' AS name FROM {database}.t")
        wait_until(lambda: chdb.rows(f"SELECT count() FROM {database}.short") == [[1]], 30)
        source.wait_until_stored("clickhouse")
    assert chdb.rows(f"SELECT count() FROM {database}.t") == [[1]]


@pytest.mark.parametrize("point", ["cdc.before-insert", "cdc.inserted", "cdc.consumed", "cdc.confirmed"])
def test_a_consumer_that_is_killed_while_it_joins_messages(
    chdb: Chdb, database: str, source: Source, tmp_path: Path, point: str
) -> None:
    """What was sent comes again as the same block, though messages came in between: a sum counts it once."""
    server = nats_or_skip(tmp_path)
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY)")
    source.set_up("t")
    make_table(chdb, source, "t")
    settings = "SETTINGS non_replicated_deduplication_window = 1000"
    chdb.run(f"CREATE TABLE {database}.sums (k UInt8, n UInt64) ENGINE = SummingMergeTree ORDER BY k {settings}")
    chdb.run(f"CREATE MATERIALIZED VIEW {database}.v TO {database}.sums AS SELECT 1 AS k, 1 AS n FROM {database}.t")
    with producing(source.dsn, source.name, NatsBroker(server.url, source.name), SMALL):
        source.wait_until_published()
        for start in (0, 100):
            source.run(f"INSERT INTO {{s}}.t SELECT {start} + n FROM generate_series(1, 30) n")
            source.wait_until_published()
            if start == 0:
                arm(point, 1, lambda: None)
            landing = ClickHouseLanding(chdb, database)
            consumer = RunningConsumer(source, NatsBroker(server.url, source.name), landing)
            if start == 0:
                wait_until(lambda one=consumer: one.has_ended, 30)  # type: ignore[misc]
                disarm()
            else:
                source.wait_until_stored("clickhouse")
            consumer.stop()
    assert chdb.rows(f"SELECT count(), uniqExact(id) FROM {database}.t") == [[60, 60]]
    assert chdb.rows(f"SELECT sum(n) FROM {database}.sums") == [[60]]
    server.kill()


@pytest.mark.parametrize("announced", [True, False])
def test_a_swap_waits_for_the_store(chdb: Chdb, database: str, source: Source, announced: bool) -> None:
    """Both columns take each other's values, so nothing but the stop keeps them apart. Where it came too late, the
    table is read again."""
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY, a text, b text); INSERT INTO {s}.t VALUES (1, 'a1', 'b1')")
    make_table(chdb, source, "t")
    source.set_up("t")
    name = QualifiedName(source.schema, "t")
    migration = Migration(source.schema, name, "", "", False, (SwapColumns("a", "b"),))
    settings = StoreSettings("clickhouse", database=database)
    store = ClickHouseStore("warehouse", settings, chdb, lambda _: ViewChoices())
    records = StopRecords(source.connection)
    records.make()

    def announcements(stage: SourceStage) -> AnnouncedStops:
        table = read_catalog(source.connection, [source.schema]).table(name)
        assert table is not None
        state = SourceState({migration.id: stage}, {migration.id: table}, ())
        return AnnouncedStops([migration], state, records, lambda _: None)

    stops = SourceStops(source.dsn, source.name, ["warehouse"])
    landing = StoppingDestination(ClickHouseLanding(chdb, database), stops)
    with producing(source.dsn, source.name, landing):
        source.wait_until_stored("clickhouse")
        if announced:
            assert announcements(SourceStage.before).missing(store) == {migration.id}
            announcements(SourceStage.before).announce([store], lambda *_: False)
            assert announcements(SourceStage.before).missing(store) == frozenset()
            assert announcements(SourceStage.before).is_sure("warehouse", migration.id)
        source.run("INSERT INTO {s}.t VALUES (2, 'a2', 'b2')")
        rename = "ALTER TABLE {s}.t RENAME COLUMN"
        source.run(f"BEGIN; {rename} a TO c; {rename} b TO a; {rename} c TO b; COMMIT")
        source.run("INSERT INTO {s}.t (id, a, b) VALUES (3, 'a3', 'b3'); UPDATE {s}.t SET a = 'a1*' WHERE id = 1")
        now = announcements(SourceStage.after)
        if announced:
            wait_until(lambda: now.standing(migration, Phase.at_lsn) == {f"{source.name}/clickhouse"}, 30)
            alarms = read_status(source.connection, source.name).alarms
            assert any(f"clickhouse waits until warehouse has {migration.id}" in each for each in alarms), alarms
            assert chdb.rows(f"SELECT id, a, b FROM {database}.t FINAL ORDER BY id") == [
                [1, "a1", "b1"],
                [2, "a2", "b2"],
            ]
        else:
            source.wait_until_stored("clickhouse")
            now.announce([store], lambda *_: False)
        for step in store.plan(migration, Phase.at_lsn):
            store.carry_out(step)
        now.lift("warehouse", migration.id)
        source.wait_until_stored("clickhouse")
    expected = [list(row) for row in sorted(source.rows("SELECT id, a, b FROM {s}.t"))]
    assert expected == [[1, "a1*", "a1"], [2, "b2", "a2"], [3, "a3", "b3"]]
    assert chdb.rows(f"SELECT id, a, b FROM {database}.t FINAL ORDER BY id") == expected


def test_a_truncation_keeps_the_position(chdb: Chdb, database: str, source: Source) -> None:
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY)")
    make_table(chdb, source, "t")
    source.set_up("t")
    for _ in range(2):
        with producing(source.dsn, source.name, ClickHouseLanding(chdb, database)):
            source.run("INSERT INTO {s}.t VALUES (1); TRUNCATE {s}.t; INSERT INTO {s}.t VALUES (2)")
            source.wait_until_stored("clickhouse")
            source.run("DELETE FROM {s}.t")
            source.wait_until_stored("clickhouse")
    assert chdb.rows(f"SELECT id FROM {database}.t FINAL") == []


def test_kept_rows_take_the_place_of_what_is_there_of_them(chdb: Chdb, database: str, source: Source) -> None:
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY, a text)")
    make_table(chdb, source, "t")
    source.set_up("t")
    kept = KeptRows(source.dsn, source.name)
    with producing(source.dsn, source.name, KeepingDestination(ClickHouseLanding(chdb, database), kept)):
        source.wait_until_stored("clickhouse")
        source.run("ALTER TABLE {s}.t ADD COLUMN label text")
        source.run("INSERT INTO {s}.t VALUES (1, 'a1', 'l1'), (2, 'a2', 'l2'), (3, 'a3', 'l3')")
        source.run("DELETE FROM {s}.t WHERE id = 2")
        source.wait_until_stored("clickhouse")
        assert chdb.rows(f"SELECT id, a FROM {database}.t FINAL ORDER BY id") == [[1, "a1"], [3, "a3"]]
        chdb.run(f"ALTER TABLE {database}.t ADD COLUMN label Nullable(String)")
        source.run("UPDATE {s}.t SET label = 'l3*' WHERE id = 3")
        source.wait_until_stored("clickhouse")
        assert replay_rows(kept, ClickHouseLanding(chdb, database), "t") == 3
    expected = [list(row) for row in sorted(source.rows("SELECT id, a, label FROM {s}.t"))]
    assert chdb.rows(f"SELECT id, a, label FROM {database}.t FINAL ORDER BY id") == expected
