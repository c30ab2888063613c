"""Reads tables of Postgres for one run of a copy.

In: the tables that its SQL names, and which columns it uses. Out: their columns with types, and their rows in Parquet
files. Invariants: all that is read from a database by one login, columns and rows, is of one snapshot of it; rows are
fetched some megabytes at a time; connections and files are gone when the block ends, whatever ends it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol

import pyarrow as pa

from penstock.deploy.external.postgres_types import (
    PostgresColumn,
    UnsupportedType,
    arrow_values,
    postgres_column,
    without_nulls,
)
from penstock.deploy.external.stored_values import UnsupportedValue
from penstock.deploy.external.table_file import TableFile, fetch_rows, write_rows
from penstock.errors import Failed, did_you_mean
from penstock.lake.spark.cancellation import raise_if_stopped
from penstock.model.external_tables import DatabaseTable, ExternalColumns, UnreadableTable
from penstock.sql.query import ExternalRead

try:
    import psycopg2
    from psycopg2 import extensions, sql
except ImportError:  # the server was installed without `penstock[postgres]`
    psycopg2 = None

CONNECT_SECONDS = 10
"""How long a database may take to accept a connection."""
SILENT_MILLISECONDS = 60_000
"""After this time without an answer to the system's own questions a connection is lost."""
LOOK = 0.5
"""How often, in seconds, a reading looks whether it must stop."""
_SETTINGS = "SET TimeZone TO 'UTC'; SET DateStyle TO 'ISO'; SET IntervalStyle TO 'postgres'; SET bytea_output TO 'hex'"
_FIND = "SELECT c.oid FROM pg_class c WHERE c.oid = to_regclass(%s)"
_KNOWN = """SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') LIMIT 1000"""
_COLUMNS = """SELECT a.attname, a.attnotnull OR t.typnotnull, CASE WHEN t.typtype = 'd'
    THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(a.atttypid, a.atttypmod) END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
"""Names, whether they are never NULL, and types; of a domain the type that it is based on."""


class _Connection(Protocol):
    """What is used of a connection of the driver."""

    def cursor(self, name: str | None = None) -> _Cursor: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class _Cursor(Protocol):
    """What is used of a cursor of the driver."""

    def execute(self, statement: object, values: tuple[object, ...] = ()) -> None: ...

    def fetchmany(self, count: int) -> list[tuple[object, ...]]: ...

    def fetchall(self) -> list[tuple[object, ...]]: ...

    def close(self) -> None: ...


class PostgresTables:
    """A block in which a copy reads tables of Postgres. Its files are named after `path`."""

    def __init__(self, path: Path, stops: Callable[[], bool]):
        self._path, self._stops = path, stops
        self._connections: dict[DatabaseTable, _Connection] = {}
        self._columns: dict[DatabaseTable, dict[str, PostgresColumn]] = {}
        self._files: list[Path] = []
        self._over = threading.Event()

    def __enter__(self) -> PostgresTables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for connection in self._connections.values():
            connection.close()
        for path in self._files:
            path.unlink(missing_ok=True)

    def columns(self, table: DatabaseTable, names: frozenset[str]) -> ExternalColumns:
        """The columns of a table, as Postgres tells them. Raises UnreadableTable, WorkCancelled."""
        with self._telling(table) as cursor:
            cursor.execute(_FIND, (_quoted_name(table),))
            found = cursor.fetchall()
            if not found:
                cursor.execute(_KNOWN)
                near = did_you_mean(table.name, [str(name).removeprefix("public.") for (name,) in cursor.fetchall()])
                raise UnreadableTable(f"there is no table {table.shown} that this login can see", near)
            cursor.execute(_COLUMNS, found[0])
            listed = cursor.fetchall()
        known: dict[str, PostgresColumn] = {}
        unreadable: dict[str, str] = {}
        for name, not_null, of in listed:
            try:
                column = postgres_column(str(name), str(of))
                known[str(name)] = without_nulls(column) if not_null else column
            except UnsupportedType as error:
                unreadable[str(name)] = str(error)
        self._columns[table] = known
        return ExternalColumns({name: column.type for name, column in known.items()}, unreadable)

    @contextmanager
    def _telling(self, table: DatabaseTable) -> Iterator[_Cursor]:
        """A cursor of the table's connection; what the driver raises is why the table is unreadable."""
        if psycopg2 is None:
            message = "this server has no driver for Postgres"
            raise UnreadableTable(message, "pip install 'penstock[postgres]' where the server runs")
        raise_if_stopped(self._stops)
        try:
            yield self._connection(table).cursor()
        except psycopg2.Error as error:
            raise_if_stopped(self._stops)
            hint = "address, database, user and password are right if `psql` connects with them from the server"
            raise UnreadableTable(f"the table {table.shown} cannot be read: {_reason(error)}", hint) from None

    def _connection(self, table: DatabaseTable) -> _Connection:
        """The connection to the database of a table, in a transaction whose snapshot does not change."""
        login = replace(table, schema="", name="")
        if login not in self._connections:
            opened = psycopg2.connect(
                host=table.host,
                port=table.port,
                dbname=table.database,
                user=table.user,
                password=table.password,
                connect_timeout=CONNECT_SECONDS,
                keepalives_idle=SILENT_MILLISECONDS // 2000,
                tcp_user_timeout=SILENT_MILLISECONDS,
                application_name="penstock copy",
                client_encoding="UTF8",
            )
            self._connections[login] = opened
            opened.set_session(isolation_level=extensions.ISOLATION_LEVEL_REPEATABLE_READ, readonly=True)
            opened.cursor().execute(_SETTINGS)
            threading.Thread(target=self._watch, args=(opened,), name="external copy", daemon=True).start()
        return self._connections[login]

    def _watch(self, connection: _Connection) -> None:
        """Cancels what the connection waits for once the copy must stop."""
        while not self._over.wait(LOOK):
            if self._stops():
                with suppress(psycopg2.Error):  # it has ended meanwhile
                    connection.cancel()

    def read(self, wanted: ExternalRead) -> TableFile:
        """Write the used columns of a table to a file; of a table without a used one, any column. Raises Failed,
        WorkCancelled, OSError."""
        table = wanted.table
        assert isinstance(table, DatabaseTable), "others are read by others"
        every = self._columns[table]
        used = {name: column for name, column in every.items() if name in wanted.columns} or dict([*every.items()][:1])
        path = self._path.with_name(f"{self._path.name}.{len(self._files)}.parquet")
        self._files.append(path)
        try:
            rows = self._write(table, [*used.values()], path)
        except (psycopg2.Error, ValueError, OverflowError) as error:
            raise_if_stopped(self._stops)
            reason = str(error) if isinstance(error, UnsupportedValue) else _reason(error)
            hint = "no row was appended; cast or filter the column in a view of Postgres, or run the copy again"
            raise Failed(f"the rows of {table.shown} cannot be read: {reason}", hint=hint) from None
        return TableFile(path, {name: column.type for name, column in used.items()}, rows)

    def _write(self, table: DatabaseTable, columns: list[PostgresColumn], path: Path) -> int:
        schema = pa.schema([(column.name, column.arrow) for column in columns])

        def arrays(values: Iterable[tuple[object, ...]]) -> list[pa.Array]:
            return [arrow_values(column, each) for column, each in zip(columns, values, strict=True)]

        return write_rows(path, schema, self._fetch(table, columns), arrays)

    def _fetch(self, table: DatabaseTable, columns: list[PostgresColumn]) -> Iterator[list[tuple[object, ...]]]:
        """The rows, as many at a time as have some megabytes."""
        cursor = self._connection(table).cursor("penstock_copy")
        cursor.execute(_select(table, columns))
        yield from fetch_rows(cursor.fetchmany, lambda: raise_if_stopped(self._stops))
        cursor.close()


def _select(table: DatabaseTable, columns: list[PostgresColumn]) -> object:
    """The statement that reads the columns."""
    cast = [
        sql.SQL("{}::" + column.cast if column.cast else "{}").format(sql.Identifier(column.name)) for column in columns
    ]
    parts = [table.schema, table.name] if table.schema else [table.name]
    return sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(cast), sql.Identifier(*parts))


def _quoted_name(table: DatabaseTable) -> str:
    """The table's name, as Postgres reads a name in quotes."""
    parts = [table.schema, table.name] if table.schema else [table.name]
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _reason(error: Exception) -> str:
    """The first line of what the driver or Postgres says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
