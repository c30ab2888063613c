"""Reads tables of MySQL and MariaDB for one run of a copy.

In: the tables that its SQL names, and which columns it uses. Out: their columns with types, and their rows in Parquet
files. Invariants: all that is read from a database by one login is of one snapshot of it, as far as its engines have
any; rows are fetched some megabytes at a time; connections and files are gone when the block ends, whatever ends it.
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

from penstock.deploy.external.mysql_types import MysqlColumn, mysql_column, stored_column
from penstock.deploy.external.stored_values import UnsupportedValue
from penstock.deploy.external.table_file import TableFile, fetch_rows, write_rows
from penstock.errors import Failed, did_you_mean
from penstock.lake.spark.cancellation import raise_if_stopped
from penstock.model.external_tables import DatabaseTable, ExternalColumns, UnreadableTable
from penstock.sql.query import ExternalRead

try:
    import pymysql
    from pymysql.converters import encoders
    from pymysql.cursors import SSCursor
except ImportError:  # the extra `mysql` is not installed
    pymysql = None

CONNECT_SECONDS = 10
SILENT_SECONDS = 120
"""For how long the server may send nothing, also while it computes a view."""
LOOK = 0.2
"""Seconds between two looks whether the copy must stop."""
_BEGIN = (
    "SET time_zone = '+00:00'",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",  # with less, which a server may be set to, no snapshot
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_KNOWN = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() LIMIT 1000"
_COLUMNS = """SELECT column_name, column_type, is_nullable FROM information_schema.columns
WHERE table_schema = DATABASE() AND table_name = %s ORDER BY ordinal_position"""
_NO_TABLE = 1146


class _Cursor(Protocol):
    """What is used of a cursor of the driver."""

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> object: ...

    def fetchmany(self, count: int) -> list[tuple[object, ...]]: ...

    def fetchall(self) -> list[tuple[object, ...]]: ...


class _Connection(Protocol):
    """What is used of a connection of the driver."""

    def cursor(self, kind: object = None) -> _Cursor: ...

    def thread_id(self) -> int: ...

    def close(self) -> None: ...


class MysqlTables:
    """A block in which a copy reads tables of MySQL. Its files are named after `path`."""

    def __init__(self, path: Path, stops: Callable[[], bool]):
        self._path, self._stops = path, stops
        self._connections: dict[DatabaseTable, _Connection] = {}
        self._columns: dict[DatabaseTable, dict[str, MysqlColumn]] = {}
        self._files: list[Path] = []
        self._over = threading.Event()

    def __enter__(self) -> MysqlTables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for connection in self._connections.values():
            with suppress(pymysql.Error, OSError):  # it has ended already
                connection.close()
        for path in self._files:
            path.unlink(missing_ok=True)

    def columns(self, table: DatabaseTable, names: frozenset[str]) -> ExternalColumns:
        """The columns of a table, as MySQL tells them. Raises UnreadableTable, WorkCancelled."""
        with self._telling(table) as cursor:
            # Until the transaction ends nobody changes the columns of a table that it has read.
            cursor.execute(f"SELECT 1 FROM {_quoted(table.name)} LIMIT 0")
            cursor.fetchall()
            cursor.execute(_COLUMNS, (table.name,))
            listed = cursor.fetchall()
        known: dict[str, MysqlColumn] = {}
        unreadable: dict[str, str] = {}
        for name, of, nullable in listed:
            column = mysql_column(str(name), str(of))
            if column is None:
                unreadable[str(name)] = f"is of type {of}, which has no counterpart here"
            else:
                known[str(name)] = column.with_nulls() if str(nullable) == "YES" else column
        self._columns[table] = known
        return ExternalColumns({name: column.type for name, column in known.items()}, unreadable)

    @contextmanager
    def _telling(self, table: DatabaseTable) -> Iterator[_Cursor]:
        """A cursor of the table's connection; what the driver raises is why the table is unreadable."""
        if pymysql is None:
            message = "this server has no driver for MySQL"
            raise UnreadableTable(message, "pip install 'penstock[mysql]' where the server runs")
        raise_if_stopped(self._stops)
        try:
            yield self._connection(table).cursor()
        except pymysql.Error as error:
            raise_if_stopped(self._stops)
            if error.args[:1] == (_NO_TABLE,):
                message = f"there is no table {table.shown} that this login can see"
                raise UnreadableTable(message, did_you_mean(table.name, self._known_tables(table))) from None
            hint = "address, database, user and password are right if `mysql` connects with them from the server"
            raise UnreadableTable(f"the table {table.shown} cannot be read: {_reason(error)}", hint) from None

    def _known_tables(self, table: DatabaseTable) -> list[str]:
        with suppress(pymysql.Error):
            cursor = self._connection(table).cursor()
            cursor.execute(_KNOWN)
            return [str(name) for (name,) in cursor.fetchall()]
        return []

    def _connection(self, table: DatabaseTable) -> _Connection:
        """The connection to the database of a table, in a transaction whose snapshot does not change."""
        login = replace(table, name="")
        if login not in self._connections:
            opened = _connect(table)
            self._connections[login] = opened
            for statement in _BEGIN:
                opened.cursor().execute(statement)
            ends = threading.Thread(target=self._watch, args=(opened, table), name="external copy", daemon=True)
            ends.start()
        return self._connections[login]

    def _watch(self, connection: _Connection, table: DatabaseTable) -> None:
        """Ends what the connection waits for once the copy must stop."""
        while not self._over.wait(LOOK):
            if self._stops():
                with suppress(pymysql.Error, OSError):  # it has ended meanwhile
                    other = _connect(table)
                    other.cursor().execute(f"KILL {connection.thread_id()}")
                    other.close()
                return

    def read(self, wanted: ExternalRead) -> TableFile:
        """Write the used columns of a table to a file; of a table without a used one, any column. Raises Failed,
        WorkCancelled, OSError."""
        table = wanted.table
        assert isinstance(table, DatabaseTable), "others are read by others"
        every = self._columns[table]
        used = {name: column for name, column in every.items() if name in wanted.columns} or dict([*every.items()][:1])
        path = self._path.with_name(f"{self._path.name}.mysql{len(self._files)}.parquet")
        self._files.append(path)
        try:
            rows = self._write(table, [*used.values()], path)
        except (pymysql.Error, UnsupportedValue) as error:
            raise_if_stopped(self._stops)
            reason = str(error) if isinstance(error, UnsupportedValue) else _reason(error)
            hint = "no row was appended; cast or filter the column in a view of MySQL, or run the copy again"
            raise Failed(f"the rows of {table.shown} cannot be read: {reason}", hint=hint) from None
        return TableFile(path, {name: column.type for name, column in used.items()}, rows)

    def _write(self, table: DatabaseTable, columns: list[MysqlColumn], path: Path) -> int:
        schema = pa.schema([(column.name, column.arrow) for column in columns])

        def arrays(values: Iterable[tuple[object, ...]]) -> list[pa.Array]:
            return [stored_column(column, each) for column, each in zip(columns, values, strict=True)]

        return write_rows(path, schema, self._fetch(table, columns), arrays)

    def _fetch(self, table: DatabaseTable, columns: list[MysqlColumn]) -> Iterator[list[tuple[object, ...]]]:
        """The rows, as many at a time as have some megabytes."""
        cursor = self._connection(table).cursor(SSCursor)
        listed = ", ".join(column.read_as.format(_quoted(column.name)) for column in columns)
        cursor.execute(f"SELECT {listed} FROM {_quoted(table.name)}")
        yield from fetch_rows(cursor.fetchmany, lambda: raise_if_stopped(self._stops))


def _connect(table: DatabaseTable) -> _Connection:
    """A connection, encrypted if the server offers that, whose values are texts or bytes, as MySQL writes them."""
    opened: _Connection = pymysql.connect(
        host=table.host,
        port=table.port,
        database=table.database,
        user=table.user,
        password=table.password.encode(),
        charset="utf8mb4",
        conv=encoders,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=SILENT_SECONDS,
        write_timeout=SILENT_SECONDS,
        local_infile=False,
        program_name="penstock copy",
    )
    return opened


def _quoted(name: str) -> str:
    """A name, as MySQL reads it in quotes."""
    return "`" + name.replace("`", "``") + "`"


def _reason(error: Exception) -> str:
    """The first line of what the driver or MySQL says."""
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    return (text.strip() or type(error).__name__).splitlines()[0]
