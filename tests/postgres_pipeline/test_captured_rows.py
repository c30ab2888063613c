"""Rows of a Postgres in Penstock's tables, by way of `penstock cdc`: what FINAL shows is what is there, also while the
table gets a column and the landing another version, and where two columns exchange their names."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from penstock.model.settings import StoreSettings
from penstock.postgres.application.migration_work import MigrationWork
from penstock.postgres.application.source_journal import SourceJournal
from penstock.postgres.application.source_state import source_state
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.producer import Producer
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.setup import remove_capture, set_up, table_choice
from penstock.postgres.capture.source_stops import SourceStops
from penstock.postgres.capture.table_delivery import CapturePace
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.delivery.landing_datafile import landing_datafile
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.delivery.stopping_destination import StoppingDestination
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.operation import Phase, SwapColumns
from penstock.postgres.migration.operation_effects import apply_operations
from penstock.postgres.stores.penstock_server import PenstockServer
from penstock.postgres.stores.penstock_store import PenstockStore
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from penstock.serve.http.pipeline_host import PipelineHost
from postgres_pipeline.conftest import Server
from postgres_server import Postgres
from unit.serve.web_server import web_server
from waiting import wait_until

TYPES = """id int PRIMARY KEY, small smallint, big bigint, price numeric(12, 3), any_number numeric, ratio float8,
  open bool, day date, at timestamptz, local timestamp, note text, tags text[], data jsonb, code uuid"""
ROW = """(1, -32768, 9223372036854775807, 123456789.125, 1e30, 'NaN', true, '2026-02-28',
  '2026-01-02 03:04:05.678901+02', '2026-01-02 03:04:05.5', E'it''s\\t"x"\\\\', '{a,NULL,"b c"}', '{"k": [1, null]}',
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')"""
SHOWN = "id, small, big, price, any_number, isNaN(ratio), open, day, at, local, note, tags, data, code"


@pytest.fixture
def source(postgres: Postgres) -> Iterator[tuple[SourceConnection, str]]:
    schema = postgres.schema()
    connection = open_source(postgres.url())
    set_up(connection, schema, [])
    yield connection, schema
    slot = f"SELECT 1 FROM pg_replication_slots WHERE slot_name = 'penstock_{schema}' AND active"
    wait_until(lambda: count(connection, slot) == 0)
    remove_capture(connection, schema)
    connection.close()


def count(connection: SourceConnection, query: str) -> int:
    cursor = connection.cursor()
    cursor.execute(query)
    return len(cursor.fetchall())


def catalog_table(connection: SourceConnection, schema: str, name: str) -> ReplicatedTable:
    table = read_catalog(connection, [schema]).table(QualifiedName(schema, name))
    assert table is not None
    return table


def datafile(connection: SourceConnection, schema: str, name: str = "captured") -> dict[str, str | None]:
    return {f"datasources/{name}.datasource": landing_datafile(catalog_table(connection, schema, name), ("id",))}


def test_captured_rows_are_what_is_in_postgres(
    server: Server, postgres: Postgres, source: tuple[SourceConnection, str]
) -> None:
    connection, schema = source
    run = connection.cursor().execute
    run(f"CREATE TABLE {schema}.captured ({TYPES})")
    run(f"INSERT INTO {schema}.captured VALUES {ROW}; INSERT INTO {schema}.captured (id) VALUES (2)")
    set_up(connection, schema, [table_choice(f"{schema}.captured", ())])
    assert server.deploy(datafile(connection, schema)).state == "live"
    host, stop = PipelineHost(), threading.Event()
    host.opened(server.pipeline)
    token = server.pipeline.tokens.create(f"capture {schema}", ["append", "deploy"])

    def shown(query: str) -> list[tuple[object, ...]]:
        return sorted(server.ask(f"SELECT {query} FROM captured FINAL"), key=str)

    with web_server(host) as (address, port):
        producer = Producer(postgres.url(), schema, PenstockLanding(f"http://{address}:{port}", token), stop.is_set)
        producer.pace = CapturePace(0.2, 0.2, 0.2)
        thread = threading.Thread(target=producer.run)
        thread.start()
        try:
            wait_until(lambda: len(shown("id")) == 2, 60, lambda: str(CaptureRecords(connection, schema).tables()))
            first = next(row for row in shown(SHOWN) if row[0] == 1)
            run(
                f"UPDATE {schema}.captured SET id = 3 WHERE id = 2; UPDATE {schema}.captured SET price = 1 WHERE id = 1"
            )
            run(f"ALTER TABLE {schema}.captured ADD COLUMN more text")
            run(f"INSERT INTO {schema}.captured (id, more) VALUES (4, 'kept')")
            wait_until(lambda: shown("id, price") == [(1, 1), (3, None)], 60, lambda: str(shown("id, price")))
            tables = CaptureRecords(connection, schema).tables
            wait_until(lambda: "no column" in str(tables()[0].problem), 60, lambda: str(tables()))
            assert server.deploy(datafile(connection, schema)).state == "live"
            wait_until(lambda: shown("id, more") == [(1, None), (3, None), (4, "kept")], 60, lambda: str(shown("*")))
            run(f"DELETE FROM {schema}.captured WHERE id < 4")
            wait_until(lambda: shown("id") == [(4,)], 60, lambda: str(shown("*")))
        finally:
            stop.set()
            thread.join(60)
    assert [str(each) for each in first] == [
        "1",
        "-32768",
        "9223372036854775807",
        "123456789.125",
        "1000000000000000000000000000000",
        "1",
        "True",
        "2026-02-28",
        "2026-01-02 01:04:05.678901",
        "2026-01-02 03:04:05.500000",
        'it\'s\t"x"\\',
        '{a,NULL,"b c"}',
        '{"k": [1, null]}',
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ]


def test_a_swap_waits_for_rows_that_are_not_landed(
    server: Server, postgres: Postgres, source: tuple[SourceConnection, str]
) -> None:
    """The server has accepted rows of before and has not landed them: it would read them by the new names. No row is
    read a second time."""
    connection, schema = source
    run = connection.cursor().execute
    run(f"CREATE TABLE {schema}.swapped (id int PRIMARY KEY, a text, b text)")
    run(f"INSERT INTO {schema}.swapped VALUES (1, 'a1', 'b1')")
    set_up(connection, schema, [table_choice(f"{schema}.swapped", ())])
    assert server.deploy(datafile(connection, schema, "swapped")).state == "live"
    swap = SwapColumns("a", "b")
    before = catalog_table(connection, schema, "swapped")
    after = apply_operations(before, [swap])
    migration = Migration("1_swap", before.name, fingerprint(before), fingerprint(after), False, (swap,))
    host, stop = PipelineHost(), threading.Event()
    host.opened(server.pipeline)
    token = server.pipeline.tokens.create(f"swap {schema}", ["append", "deploy"])
    journal, stops = SourceJournal(connection), StopRecords(connection)
    journal.take_lock()
    stops.make()

    def shown() -> list[tuple[object, ...]]:
        return sorted(server.ask("SELECT id, a, b FROM swapped FINAL"))

    def apply(phase: Phase, store: PenstockStore) -> list[str | None]:
        """What each state of the phase waits for."""
        state = source_state(read_catalog(connection, [schema]), MigrationHistory((migration,)))
        work = MigrationWork([migration], state, journal, stops, timedelta(0), lambda: datetime.now(timezone.utc))
        return [each.waits_for for each in work.apply([store], phase)]

    with web_server(host) as (address, port):
        url, names = f"http://{address}:{port}", SourceStops(postgres.url(), schema, ["live"])
        store = PenstockStore("live", StoreSettings("penstock"), PenstockServer(url, token), lambda _: ViewChoices())
        landing = StoppingDestination(PenstockLanding(url, token), names)
        producer = Producer(postgres.url(), schema, landing, stop.is_set)
        producer.pace = CapturePace(0.2, 0.2, 0.2)
        thread = threading.Thread(target=producer.run)
        thread.start()
        try:
            wait_until(lambda: len(shown()) == 1, 60)
            assert apply(Phase.pre, store) == []
            flows = server.pipeline.core.flows
            with flows.stepper.limit_batches(flows.arrivals.heads):
                rename = f"ALTER TABLE {schema}.swapped RENAME"
                run(f"INSERT INTO {schema}.swapped VALUES (2, 'a2', 'b2')")
                run(f"UPDATE {schema}.swapped SET a = 'a1*' WHERE id = 1")
                run(f"BEGIN; {rename} a TO c; {rename} b TO a; {rename} c TO b; COMMIT")
                run(f"INSERT INTO {schema}.swapped (id, a, b) VALUES (3, 'b3', 'a3')")
                wait_until(lambda: bool(stops.standing(["1_swap"])), 60)
                (waits,) = apply(Phase.at_lsn, store)
                assert "rows of `swapped` that are accepted and not landed" in str(waits)
                assert shown() == [(1, "a1", "b1")]
            flows.scheduler.wake()
            wait_until(lambda: apply(Phase.at_lsn, store) in ([None], []), 60)
            wait_until(lambda: len(shown()) == 3, 60, lambda: str(shown()))
        finally:
            stop.set()
            thread.join(60)
    assert shown() == [(1, "b1", "a1*"), (2, "b2", "a2"), (3, "b3", "a3")]
    assert server.ask("SELECT count(), uniqExact(cdc_commit_lsn, cdc_ordinal) FROM swapped") == [(4, 4)]
