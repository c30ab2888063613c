"""A real Postgres, and the ingestion of Penstock without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nats_server import NatsServer, nats_or_skip
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.setup import remove_capture, remove_table, set_up, table_choice
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.lsn import parse_lsn
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from postgres_capture.landing_server import InboxPipeline, landing_server
from postgres_server import Postgres, start_or_skip
from waiting import wait_until


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    server = nats_or_skip(tmp_path_factory.mktemp("nats"))
    yield server
    server.kill()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = start_or_skip()
    yield server
    server.end()


@dataclass
class Source:
    """A capture of tables in a schema of their own."""

    postgres: Postgres
    connection: SourceConnection
    schema: str
    name: str

    @property
    def dsn(self) -> str:
        return self.postgres.url()

    @property
    def records(self) -> CaptureRecords:
        return CaptureRecords(self.connection, self.name)

    def run(self, statement: str) -> None:
        """Run SQL in which `{s}` stands for the schema."""
        self.connection.cursor().execute(statement.replace("{s}", self.schema))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor()
        cursor.execute(query.replace("{s}", self.schema))
        return cursor.fetchall()

    def set_up(self, *tables: str, insert_only: tuple[str, ...] = ()) -> None:
        only = [f"{self.schema}.{each}" for each in insert_only]
        choices = [table_choice(f"{self.schema}.{each}", only) for each in tables]
        set_up(self.connection, self.name, choices)

    def remove(self, table: str) -> None:
        """Capture a table no more."""
        remove_table(self.connection, self.name, QualifiedName(self.schema, table))

    def written(self) -> int:
        return parse_lsn(str(self.rows("SELECT pg_current_wal_lsn()::text")[0][0]))

    def wait_until_published(self) -> None:
        """Until all that is written now is in the broker."""
        at = self.written()

        def is_published() -> bool:
            sent = read_status(self.connection, self.name).published
            there = {each.store for each in sent if parse_lsn(each.lsn) >= at}
            return all(each.read.done and each.store in there for each in self.records.tables())

        wait_until(is_published, 60, lambda: f"{at} {read_status(self.connection, self.name)}")

    def wait_until_stored(self, consumer: str = "penstock") -> None:
        """Until every table is read, and all that is written by then is acknowledged: behind a broker the rows that
        were read are on their way until then."""
        ends: list[int] = []

        def is_stored() -> bool:
            tables = self.records.tables()
            if not all(each.read.done and (each.files == each.files_now or each.insert_only) for each in tables):
                ends.clear()
                return False
            if not ends:
                ends.append(self.written())
            stored = {
                each.store
                for each in read_status(self.connection, self.name).acknowledged
                if each.consumer == consumer and parse_lsn(each.lsn) >= ends[0]
            }
            return all(each.store in stored for each in tables)

        wait_until(is_stored, 60, lambda: f"{ends} {self.records.tables()} {read_status(self.connection, self.name)}")


@pytest.fixture
def source(postgres: Postgres) -> Iterator[Source]:
    connection = open_source(postgres.url())
    schema = postgres.schema()
    made = Source(postgres, connection, schema, schema)
    yield made
    slots = f"SELECT active FROM pg_replication_slots WHERE slot_name = 'penstock_{schema}'"
    if made.rows(slots):
        wait_until(lambda: made.rows(slots) == [(False,)], 60)
        remove_capture(connection, schema)
    connection.close()


@pytest.fixture
def landing(tmp_path: Path) -> Iterator[tuple[InboxPipeline, str, str]]:
    with landing_server(tmp_path) as opened:
        yield opened
