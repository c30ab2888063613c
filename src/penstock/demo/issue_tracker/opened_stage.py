"""Opens the stage of the demo: servers, databases, the project, and the application that writes.

In: where the project lives and where Postgres' programs are. Out: a `TrackerStage` while the block runs. Invariant:
whatever was started is stopped when the block ends, however it ends, and when opening fails.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import psycopg2
from rich.console import Console

from penstock.demo.issue_tracker.application import Application
from penstock.demo.issue_tracker.services import Service, start_clickhouse, start_nats, start_postgres
from penstock.demo.issue_tracker.stage import (
    LIVE_STORE,
    TrackerStage,
    change_settings,
    database_dsn,
    prepare_project,
    use_dsn,
)
from penstock.demo.server import Server, prepare_folder

RATE = 10.0
"""Transactions a second."""


@dataclass(frozen=True, slots=True)
class StageOptions:
    """What a stage is made of."""

    folder: Path
    """Where the project lives. What is there is removed."""
    programs: Path
    """The folder of Postgres' programs."""
    rate: float = RATE
    has_penstock: bool = True
    """Whether Penstock is one of the stores; without it no JVM is needed."""


@contextmanager
def open_stage(console: Console, options: StageOptions) -> Iterator[TrackerStage]:
    """A stage whose application writes. Raises ServiceFailed, ServerFailed."""
    began, folder = time.monotonic(), options.folder.resolve()
    prepare_folder(folder)
    with ExitStack() as opened:
        data = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="penstock-demo-")))
        postgres = _kept(opened, start_postgres(options.programs, data, folder))
        nats, clickhouse = _kept(opened, start_nats(folder)), _kept(opened, start_clickhouse(folder))
        with as_file(files("penstock") / "examples" / "issue-tracker") as example:
            prepare_project(example, folder, clickhouse)
        opened.enter_context(use_dsn(database_dsn(postgres, "production")))
        _make_databases(postgres, (folder / "schema.sql").read_text(encoding="utf-8"))
        server = _start_server(opened, folder) if options.has_penstock else None
        application = Application(database_dsn(postgres, "production"), options.rate)
        services = postgres, nats, clickhouse
        stage = TrackerStage(console, folder, options.programs, *services, server, application, began)
        opened.callback(stage.close)
        stage.say(
            f"Postgres, NATS, ClickHouse{' and `penstock up`' if server else ''}; the application begins to write"
        )
        application.fill()
        application.start()
        opened.callback(application.stop)
        if server is not None:
            server.wait_until_ready()
        else:
            change_settings(folder, LIVE_STORE, "")
        yield stage


def _kept(opened: ExitStack, service: Service) -> Service:
    opened.callback(service.stop)
    return service


def _start_server(opened: ExitStack, folder: Path) -> Server:
    server = Server(folder)
    opened.callback(server.stop)
    return server


def _make_databases(postgres: Service, schema: str) -> None:
    """Production and development, both with the schema of before."""
    connection = psycopg2.connect(database_dsn(postgres, "postgres"))
    connection.autocommit = True
    for name in ("production", "development"):
        connection.cursor().execute(f"CREATE DATABASE {name}")
        with psycopg2.connect(database_dsn(postgres, name)) as made:
            made.cursor().execute(schema)
        made.close()
    connection.close()
