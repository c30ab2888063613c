"""Connections to the source's Postgres.

In: a DSN. Out: a connection of psycopg2 that names types and defaults independent of the caller's settings.
Invariants: the password of a DSN is a registered secret before anything is tried with it; what the driver raises while
it connects leaves as a `PenstockError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

from penstock.errors import Failed, Forbidden, InvalidRequest, Unavailable
from penstock.redaction import register_secrets

try:
    import psycopg2
    from psycopg2 import errors, extensions
except ImportError:  # installed without `penstock[postgres]`
    psycopg2 = None

CONNECT_SECONDS = 10
SPELLING: Mapping[str, str] = {
    "search_path": "''",
    "DateStyle": "'ISO'",
    "IntervalStyle": "'postgres'",
    "TimeZone": "'UTC'",
    "bytea_output": "'hex'",
    "extra_float_digits": "1",
    "quote_all_identifiers": "off",
}
"""Settings on which the texts of types, defaults and values depend; databases, roles and sessions have others."""

_DURABLE = """SELECT pg_catalog.set_config('synchronous_commit', 'local', false)
  WHERE pg_catalog.current_setting('synchronous_commit') = 'off'"""
"""What is written down before something is done must be there after a crash, whatever a database is set to."""
_UNCOMPILED = "SET jit = off"
"""Postgres takes short queries of the catalog for long ones, and would spend seconds on compiling them."""


class SourceCursor(Protocol):
    """What is used of a cursor of the driver."""

    def execute(self, query: str, values: Sequence[object] = ...) -> None: ...
    def fetchall(self) -> list[tuple[object, ...]]: ...
    def fetchone(self) -> tuple[object, ...] | None: ...


class SourceConnection(Protocol):
    """What is used of a connection of the driver."""

    autocommit: bool
    closed: int
    """Whether it was closed, or broke: then not 0."""

    def cursor(self) -> SourceCursor: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...


def open_source(dsn: str) -> SourceConnection:
    """A connection that commits each statement. Raises InvalidRequest for a text that is no DSN, Failed without the
    driver, Unavailable if Postgres does not answer or refuses the login."""
    if psycopg2 is None:
        raise Failed("the driver of Postgres is not installed", hint="pip install 'penstock[postgres]'")
    register_secrets(_passwords(dsn))
    options = {"connect_timeout": str(CONNECT_SECONDS), "application_name": "penstock", "client_encoding": "UTF8"}
    try:
        opened: SourceConnection = psycopg2.connect(dsn, **options)
    except psycopg2.Error as error:
        told = reason(error)
        hint = _DATABASE_HINT if _NO_DATABASE.search(told) else _HINT
        raise Unavailable(f"Postgres cannot be reached: {told}", hint=hint) from None
    opened.autocommit = True
    opened.cursor().execute("; ".join(f"SET {name} = {value}" for name, value in SPELLING.items()))
    opened.cursor().execute(_DURABLE)
    opened.cursor().execute(_UNCOMPILED)
    return opened


_NO_DATABASE = re.compile(r'database "[^"]*" does not exist')
_DATABASE_HINT = "the DSN ends with the name of the database: `createdb` makes it, or name another one"
_HINT = "the DSN is right if `psql` connects with it from here; PENSTOCK_POSTGRES_DSN may hold it"


def _passwords(dsn: str) -> list[str]:
    try:
        found = extensions.parse_dsn(dsn).get("password")
    except psycopg2.Error as error:
        message = "the DSN of Postgres cannot be read: it is no URL and no list of key=value"
        raise InvalidRequest(message, hint="such as postgresql://user@host:5432/database") from error
    return [found] if found else []


def reason(error: Exception) -> str:
    """What the driver says, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


class UnknownName(Failed):
    """A statement names a table or column that is not there, or no more."""


@contextmanager
def source_errors(doing: str) -> Iterator[None]:
    """A block in which what the driver raises becomes Failed, with what was done; Forbidden for a right that the user
    lacks; UnknownName for what is not there; Unavailable for a connection that is lost."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        hint = "docs/postgres-migrations.md and docs/postgres-cdc.md say which right is for what"
        raise Forbidden(f"penstock {doing}, and the user may not: {reason(error)}", hint=hint) from None
    except psycopg2.OperationalError as error:
        raise Unavailable(f"Postgres went away while penstock {doing}: {reason(error)}") from None
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName) as error:
        raise UnknownName(f"penstock {doing}, and Postgres refused it: {reason(error)}") from None
    except psycopg2.Error as error:
        raise Failed(f"penstock {doing}, and Postgres refused it: {reason(error)}") from None


@dataclass(frozen=True, slots=True)
class SourceQueries:
    """Statements on a connection that are for one thing, which errors name. Raises what `source_errors` raises."""

    connection: SourceConnection
    doing: str
    """What penstock did, as in "wrote its records"."""

    def run(self, statement: str, *values: object) -> None:
        """Run a statement whose rows nobody wants."""
        with source_errors(self.doing):
            self.connection.cursor().execute(statement, values)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        with source_errors(self.doing):
            cursor = self.connection.cursor()
            cursor.execute(statement, values)
            return cast("list[tuple[Any, ...]]", cursor.fetchall())

    def has_table(self, name: str) -> bool:
        """Whether a table is there, by its full name."""
        return bool(self.rows("SELECT pg_catalog.to_regclass(%s) IS NOT NULL", name)[0][0])
