"""Rows of a Postgres in Penstock's tables, by way of `penstock cdc`: what FINAL shows is what is there, also while the
table gets a column and the landing another version."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.postgres.capture.producer import Producer
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.setup import remove_capture, set_up, table_choice
from penstock.postgres.capture.table_delivery import CapturePace
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.delivery.landing_datafile import landing_datafile
from penstock.postgres.delivery.penstock_landing import PenstockLanding
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


def datafile(connection: SourceConnection, schema: str) -> dict[str, str | None]:
    table = read_catalog(connection, [schema]).table(QualifiedName(schema, "captured"))
    assert table is not None
    return {"datasources/captured.datasource": landing_datafile(table, ("id",))}


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
