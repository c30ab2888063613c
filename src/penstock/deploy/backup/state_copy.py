"""Copy a whole state store, from SQLite or Postgres to SQLite or Postgres.

In: a store and the place of the copy. Out: the same rows of one moment. Invariant: the copy is owned by nobody and
knows no storage, so it is never taken for the store that it was made of.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from penstock.errors import Conflict
from penstock.state.database import Database, open_database
from penstock.state.schema import METADATA, batches, deployments, journal, lease, made_tables, pointer, storage, tokens

ROWS = 1_000
"""Rows that are written at a time."""


def copy_state_to_file(database: Database, path: Path) -> None:
    """Write the store of a running server to an SQLite file. Raises Unavailable, StorageFull, Failed."""
    if database.engine.dialect.name == "sqlite":
        with database.read() as connection, closing(sqlite3.connect(path)) as target:
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection), "the dialect is SQLite"
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE").close()
        copy = open_database(f"sqlite:///{path}")
    else:
        copy = open_database(f"sqlite:///{path}")
        _copy_rows(database, copy)
    _disown(copy)
    copy.close()
    _close_file(path)


def copy_file_to_state(path: Path, database: Database) -> None:
    """Fill an empty store with the rows of a file. Raises Conflict if the store is in use."""
    require_empty(database)
    source = open_database(f"sqlite:///{path}")
    _copy_rows(source, database)
    source.close()
    _disown(database)


def holds_copy(path: Path, database: Database) -> bool:
    """Whether the store was filled with the rows of a file, and no server has used it since."""
    counts = [sa.select(sa.func.count()).select_from(table) for table in METADATA.sorted_tables]
    source = open_database(f"sqlite:///{path}")
    try:
        with source.read() as one, database.read() as other:
            if other.execute(sa.select(sa.func.count()).select_from(storage)).scalar():
                return False
            if any(one.execute(each).scalar() != other.execute(each).scalar() for each in counts):
                return False
        return structure_digest(source) == structure_digest(database)
    finally:
        source.close()


def require_empty(database: Database) -> None:
    """Raises Conflict if the store has rows that somebody may need."""
    with database.read() as connection:
        for table in (deployments, batches, tokens):
            if connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None:
                raise Conflict("the state store is in use", hint="name an empty one in [state] of penstock.toml")


def structure_digest(database: Database) -> str:
    """A digest of what says which tables there are: equal twice, nothing of it changed in between."""
    digest = hashlib.sha256()
    columns = [deployments.c[name] for name in ("id", "state", "updated_at")]
    queries = (
        sa.select(*columns).order_by(deployments.c.id),
        sa.select(pointer),
        sa.select(journal).order_by(journal.c.deployment, journal.c.ordinal),
        sa.select(made_tables).order_by(made_tables.c.id),
    )
    with database.read() as connection:
        for query in queries:
            for row in connection.execution_options(stream_results=True).execute(query):
                digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()


def _copy_rows(source: Database, target: Database) -> None:
    with source.read() as reading, target.write() as writing:
        if reading.dialect.name == "postgresql":
            reading.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table in reversed(METADATA.sorted_tables):
            writing.execute(sa.delete(table))
        for table in METADATA.sorted_tables:
            rows = reading.execution_options(stream_results=True).execute(sa.select(table))
            for part in rows.mappings().partitions(ROWS):
                writing.execute(sa.insert(table), [dict(row) for row in part])
        if writing.dialect.name == "postgresql":
            _continue_sequences(writing)


def _continue_sequences(connection: Connection) -> None:
    """Let the ids that Postgres gives follow those that were copied."""
    for table in METADATA.sorted_tables:
        column = table.autoincrement_column
        if column is not None:
            sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
            newest = sa.select(sa.func.coalesce(sa.func.max(column), 0) + 1).scalar_subquery()
            connection.execute(sa.select(sa.func.setval(sequence, newest, False)))


def _disown(database: Database) -> None:
    with database.write() as connection:
        connection.execute(sa.update(lease).values(beat=0, owner={}))
        connection.execute(sa.delete(storage))


def _close_file(path: Path) -> None:
    """One file, without a write-ahead log beside it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        connection.execute("PRAGMA journal_mode=DELETE").close()
