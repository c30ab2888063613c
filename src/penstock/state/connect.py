"""Connect to the state store: how each of SQLite and Postgres is opened and set up.

In: a SQLAlchemy URL. Out: an engine whose transactions begin as `database` needs them. Called by
`database`. Invariant: an error names the store without its password; a connection that its user has
left in a transaction does not keep its locks for ever.
"""

from __future__ import annotations

import sqlite3

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry

from penstock.errors import Failed

BUSY_MILLISECONDS = 30_000
# WAL lets readers and the writer go on beside each other; FULL makes a commit survive a power cut.
PRAGMAS = (f"busy_timeout={BUSY_MILLISECONDS}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
# What a database's own configuration may have otherwise. A server that was stopped in the middle of a
# transaction (SIGSTOP, a suspended machine) loses it before those who wait for its locks give up.
POSTGRES_SETTINGS = {
    "default_transaction_isolation": "read\\ committed",
    "synchronous_commit": "on",
    "lock_timeout": str(BUSY_MILLISECONDS),
    "idle_in_transaction_session_timeout": str(BUSY_MILLISECONDS // 2),
}
# A peer that is gone without a word (power, network) is noticed within 15 seconds.
POSTGRES_CONNECTION: dict[str, str | int] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
    "application_name": "penstock",
}
POSTGRES_DRIVER = "postgresql+psycopg2"
PLAIN = ("postgresql", "postgres")
INSTALL = "install the drivers: pip install 'penstock[postgres]'"


def make_engine(url: str) -> Engine:
    """An engine that has not connected yet. Raises Failed for a URL that is none, or whose driver is missing."""
    parsed = _parsed(url)
    postgres = parsed.get_backend_name() == "postgresql"
    arguments = _postgres_arguments(parsed) if postgres else {}
    try:
        # Parameters stay out of error texts: among them are manifests and digests.
        engine = sa.create_engine(
            parsed, pool_size=8, max_overflow=24, pool_pre_ping=postgres, hide_parameters=True, connect_args=arguments
        )
    except NoSuchModuleError as error:
        raise Failed(f"the state store is on SQLite or Postgres, not on `{parsed.drivername}`") from error
    except ModuleNotFoundError as error:
        raise Failed(f"the state store is on Postgres, whose driver {error.name} is missing", hint=INSTALL) from error
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def shown(engine: Engine) -> str:
    """The store's address without its password."""
    return engine.url.render_as_string(hide_password=True)


def _parsed(url: str) -> URL:
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError):
        raise Failed(
            "`url` of [state] is no address of a database", hint="postgresql://user:password@host/database"
        ) from None
    # An unescaped `@` in a password ends it too early: its rest would be shown as the host's name.
    if "@" in (parsed.host or ""):
        raise Failed(
            "the user's name or password in `url` of [state] has an `@` that is not escaped",
            hint="in a URL write %40 for @, %3A for :, %2F for / and %25 for %",
        )
    return parsed.set(drivername=POSTGRES_DRIVER) if parsed.drivername in PLAIN else parsed


def _postgres_arguments(url: URL) -> dict[str, str | int]:
    """What the URL itself says comes last, and holds."""
    given = url.query.get("options", "")
    own = [given] if isinstance(given, str) else list(given)
    options = " ".join([*(f"-c {name}={value}" for name, value in POSTGRES_SETTINGS.items()), *own]).strip()
    asked = {name: value for name, value in POSTGRES_CONNECTION.items() if name not in url.query}
    return {**asked, "options": options}


def _set_up_sqlite(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
    # The driver's own transactions begin late (at the first write); ours begin where they say so.
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("penstock_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
