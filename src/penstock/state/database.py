"""Open the state store and bring it to the newest schema.

In: a SQLAlchemy URL. Out: `Database`, whose `read` and `write` give a connection in a transaction.
Called by every module of state and by deploy/pipeline. Invariant: a `write` that returned is on
disk; on SQLite it holds the only write lock from its first statement, so what it read stays true; once
guarded by a token of the lease, nothing is written after another server has taken the lease.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from penstock.errors import Failed, Fenced
from penstock.faults import reached
from penstock.state.schema import lease

MIGRATIONS = Path(__file__).parent / "migrations"
BUSY_MILLISECONDS = 30_000
# WAL lets readers and the writer go on beside each other; FULL makes a commit survive a power cut.
PRAGMAS = (f"busy_timeout={BUSY_MILLISECONDS}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


class Database:
    """Thread-safe: each `read` or `write` takes a connection of its own from the pool."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._writing = engine.execution_options(penstock_writes=True)
        self._token: int | None = None

    @property
    def url(self) -> str:
        """The store's address, with its password."""
        return self._engine.url.render_as_string(hide_password=False)

    def guard(self, token: int) -> None:
        """From now on write only while the lease has this token."""
        self._token = token

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Commits at the end of the block, rolls back when it raises. Raises Fenced where another server
        has taken the lease; then nothing is written."""
        reached("state.before")
        with self._writing.begin() as connection:
            if self._token is not None:
                _hold(connection, self._token)
            yield connection
        reached("state.after")

    def close(self) -> None:
        self._engine.dispose()


def _hold(connection: Connection, token: int) -> None:
    """Keep the lease from being taken until the transaction ends: SQLite has one writer at a time anyway,
    elsewhere the row is locked."""
    now = connection.execute(sa.select(lease.c.token).with_for_update(read=True)).scalar_one()
    if now != token:
        raise Fenced("another server has taken over this warehouse", hint="this one writes nothing any more and ends")


def open_database(url: str) -> Database:
    """Connect, and run the migrations that are missing.

    Raises Failed if the store cannot be opened.
    """
    engine = sa.create_engine(url, pool_size=8, max_overflow=24)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    database = Database(engine)
    try:
        with database.write() as connection:
            _migrate(connection)
    except OperationalError as error:
        place = engine.url.render_as_string(hide_password=True)
        raise Failed(f"the state store {place} cannot be opened: {error.orig}") from error
    return database


def _migrate(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _set_up_sqlite(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
    # The driver's own transactions begin late (at the first write); ours begin where they say so.
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("penstock_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
