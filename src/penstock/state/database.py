"""The connection to the state store, on SQLite or Postgres: opening, migrations, transactions and errors.

In: an SQLAlchemy URL. Out: `Database`, whose `read` and `write` give a connection inside a transaction. Invariant:
a `write` that returned is on disk. On SQLite it holds the only write lock from its first statement, so what it read
stays true; on Postgres each module locks what it reads (`locks`). Once a lease token is set (`guard`), nothing is
written after another server has taken the lease. No error text contains a statement, its parameters or a password.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from penstock.crash_points import crash_point
from penstock.errors import Conflict, Failed, Fenced, PenstockError, StorageFull, Unavailable
from penstock.state.transactions.locks import read_lease_token, take_named_lock

MIGRATIONS = Path(__file__).parent / "migrations"
RETRY_SECONDS = 5.0
"""Seconds for which a connection to the store is tried again before a call fails."""
RETRY_PAUSE = 0.1
log = logging.getLogger("penstock.state")
T = TypeVar("T")
BUSY_MILLISECONDS = 30_000
# WAL lets readers work beside the writer; FULL makes a commit survive a power cut. Source: SQLite, "PRAGMA".
PRAGMAS = (f"busy_timeout={BUSY_MILLISECONDS}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
# These override the database's own configuration. A server that was suspended in the middle of a transaction
# (SIGSTOP, a suspended machine) loses it before the servers that wait for its locks give up.
POSTGRES_SETTINGS = {
    "default_transaction_isolation": "read\\ committed",
    "synchronous_commit": "on",
    "lock_timeout": str(BUSY_MILLISECONDS),
    "idle_in_transaction_session_timeout": str(BUSY_MILLISECONDS // 2),
}
# A peer that disappears (power, network) is noticed within 15 seconds. Source: libpq's connection parameters.
POSTGRES_CONNECTION: dict[str, str | int] = {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
    "application_name": "penstock",
}
POSTGRES_DRIVER = "postgresql+psycopg2"
PLAIN_DRIVERS = ("postgresql", "postgres")
INSTALL = "install the drivers: pip install 'penstock[postgres]'"
TRY_AGAIN = "nothing is lost: try again"
_deadline: ContextVar[float] = ContextVar("store_deadline", default=float("inf"))
"""Until when this thread waits for the store, in seconds of the monotonic clock."""
# Source: SQLite's result codes, and the first two letters of Postgres' SQLSTATE ("Error codes", appendix A).
SQLITE_FULL = "database or disk is full"
SQLITE_BUSY = ("database is locked", "database table is locked", "database schema is locked")
POSTGRES_FULL = "53100"
POSTGRES_LATER = ("08", "40", "53", "55", "57")
"""SQLSTATE classes: connection lost, rolled back (a deadlock), out of resources, lock timeout, shutting down."""


PASSING = ("starting up", "shutting down", "recovery", "too many", "connection slots", "administrator")
"""What Postgres says fatally, and not for ever."""


FIRST_WITH_LEASE = "0002"
"""The first revision with a lease; a server of an earlier release is known to have ended by the folder's lock."""


class NewerStore(Conflict):
    """The state store was migrated by a later release."""

    code = "newer-store"


class Database:
    """The state store. Thread-safe: each `read` or `write` takes a connection of its own from the pool."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._writing = engine.execution_options(penstock_writes=True)
        self._token: int | None = None

    @property
    def engine(self) -> Engine:
        """The engine, for a copy of the whole store."""
        return self._engine

    @property
    def url(self) -> str:
        """The URL of the store, including its password."""
        return self._engine.url.render_as_string(hide_password=False)

    @property
    def token(self) -> int | None:
        """The lease token that `guard` set; None before."""
        return self._token

    def guard(self, token: int) -> None:
        """From now on write only while the lease has this token."""
        self._token = token

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection in a read transaction. Raises Unavailable if the store does not answer."""
        with translated_errors(), _connect_with_retry(self._engine) as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection in a write transaction, which is committed at the end of the block and rolled back if it raises.

        Raises Fenced if another server has taken the lease, StorageFull; then nothing is written. Raises Unavailable
        if the store does not answer; then it is unknown whether it was written (`write_once` handles that).
        """
        crash_point("state.before")
        with translated_errors(), _connect_with_retry(self._writing) as connection, connection.begin():
            if self._token is not None:
                _check_lease_token(connection, self._token)
            yield connection
        crash_point("state.after")

    def write_once(self, write: Callable[[Connection], T], find: Callable[[Connection], T | None]) -> T:
        """Write in a transaction of its own; after a lost connection write again, unless `find` then finds the result.
        `find` must wait for transactions that may still write it (`locks.take_named_lock`).

        Raises Unavailable if the store does not come back, or refuses the second attempt; then it is unknown whether it
        was written.
        """
        end = min(time.monotonic() + 2 * RETRY_SECONDS, _deadline.get())
        attempt = write
        while True:
            try:
                with self.write() as connection:
                    return attempt(connection)
            except Unavailable as error:
                if time.monotonic() > end:
                    raise
                log.warning("a write is tried again", exc_info=error)
            except PenstockError as error:
                if attempt is write:
                    raise
                raise unknown_outcome(error) from error
            attempt = _write_unless_found(write, find)
            time.sleep(RETRY_PAUSE)

    def close(self) -> None:
        self._engine.dispose()


@contextmanager
def answer_within(seconds: float) -> Iterator[None]:
    """In the block, this thread waits at most so long in all for a store that does not answer, whatever it reads and
    writes; after that its calls raise Unavailable at once."""
    token = _deadline.set(min(_deadline.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


def unknown_outcome(error: PenstockError) -> Unavailable:
    """The error for a write whose answer was lost, and that cannot be looked for because of another error (another
    server has the store now): nothing of it may be undone."""
    return Unavailable(f"it is not known whether this was written: {error.message}", hint=TRY_AGAIN)


def _write_unless_found(
    write: Callable[[Connection], T], find: Callable[[Connection], T | None]
) -> Callable[[Connection], T]:
    def attempt(connection: Connection) -> T:
        found = find(connection)
        return write(connection) if found is None else found

    return attempt


@contextmanager
def _connect_with_retry(engine: Engine) -> Iterator[Connection]:
    """A working connection. It is safe to wait for a store that restarts, since nothing was sent to it yet."""
    if time.monotonic() > _deadline.get():
        raise Unavailable("the state store has not answered in time", hint=TRY_AGAIN)
    end = min(time.monotonic() + RETRY_SECONDS, _deadline.get())
    while True:
        try:
            connection = engine.connect()
            break
        except DBAPIError as error:
            if time.monotonic() > end or not isinstance(translate_error(error), Unavailable):
                raise
        time.sleep(RETRY_PAUSE)
    with connection:
        yield connection


def _check_lease_token(connection: Connection, token: int) -> None:
    """Lock the lease until the transaction ends. Raises Fenced if it has another token."""
    if read_lease_token(connection) != token:
        raise Fenced(
            "another server has taken over this warehouse", hint="this server writes nothing any more and ends"
        )


def open_database(url: str) -> Database:
    """Connect and run the missing migrations. Raises Failed if the store cannot be opened, NewerStore."""
    database = connect_database(url)
    try:
        migrate_database(database)
    except (Failed, Unavailable) as error:
        database.close()
        raise _open_failure(database, error) from error
    return database


def connect_database(url: str) -> Database:
    """Connect to a store of this release or an earlier one; a store without tables gets them. Otherwise nothing is
    written, so a store can be opened while a server that was stopped (SIGSTOP) in the middle of a write still holds
    the only write lock, and a server that waits for an earlier release to end changes nothing under it.

    Raises Failed if the store cannot be opened, NewerStore.
    """
    database = Database(make_engine(url))
    try:
        revision = _check_revision(database)
        if revision is None or revision < FIRST_WITH_LEASE:
            _run_migrations(database)
    except NewerStore:
        database.close()
        raise
    except (Failed, Unavailable) as error:
        database.close()
        raise _open_failure(database, error) from error
    return database


def migrate_database(database: Database) -> None:
    """Run the missing migrations, in one transaction; nothing is written if none is missing. The caller has the lease,
    or nobody else uses the store. Raises NewerStore: a server of a later release may have had the lease meanwhile."""
    if _check_revision(database) != _newest_revision():
        _run_migrations(database)


def _run_migrations(database: Database) -> None:
    with database.write() as connection:
        take_named_lock(connection, "migrations")
        command.upgrade(_migration_config(connection), "head")


def _check_revision(database: Database) -> str | None:
    """The revision of the store's tables; None if it has none. Raises NewerStore."""
    with database.read() as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
    known = {each.revision for each in _migration_scripts().walk_revisions()}
    if revision is not None and revision not in known:
        raise NewerStore(
            f"the state store was written by a later release of Penstock (its tables have revision {revision}, "
            f"this release knows them up to {_newest_revision()})",
            hint="start the release that wrote it, or restore a backup that was made before the upgrade "
            "(docs/upgrades.md)",
        )
    return revision


def _newest_revision() -> str | None:
    return _migration_scripts().get_current_head()


def _migration_scripts() -> ScriptDirectory:
    return ScriptDirectory(str(MIGRATIONS))


def _open_failure(database: Database, error: PenstockError) -> Failed:
    cause = error.__cause__.orig if isinstance(error.__cause__, DBAPIError) else error.message
    message = f"the state store {redacted_url(database.engine)} cannot be opened: {' '.join(str(cause).split())}"
    return Failed(message, hint="`url` in [state] of penstock.toml says where it is; without that, .penstock/state.db")


def _migration_config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def make_engine(url: str) -> Engine:
    """An engine that has not connected yet. Raises Failed for an invalid URL or a missing driver."""
    parsed = _parse_url(url)
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


def may_pass(text: str) -> bool:
    """Whether a database that refused a connection with this text may accept one later."""
    return "FATAL" not in text or any(each in text for each in PASSING)


def redacted_url(engine: Engine) -> str:
    """The URL of the store without its password."""
    return engine.url.render_as_string(hide_password=True)


def _parse_url(url: str) -> URL:
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError):
        raise Failed(
            "`url` of [state] is no address of a database", hint="postgresql://user:password@host/database"
        ) from None
    # An unescaped `@` ends the password too early; its rest would be shown as part of the host's name.
    if "@" in (parsed.host or ""):
        raise Failed(
            "the user's name or password in `url` of [state] has an `@` that is not escaped",
            hint="in a URL write %40 for @, %3A for :, %2F for / and %25 for %",
        )
    return parsed.set(drivername=POSTGRES_DRIVER) if parsed.drivername in PLAIN_DRIVERS else parsed


def _postgres_arguments(url: URL) -> dict[str, str | int]:
    """Connection arguments of psycopg2. What the URL itself sets comes last and wins."""
    given = url.query.get("options", "")
    own = [given] if isinstance(given, str) else list(given)
    options = " ".join([*(f"-c {name}={value}" for name, value in POSTGRES_SETTINGS.items()), *own]).strip()
    asked = {name: value for name, value in POSTGRES_CONNECTION.items() if name not in url.query}
    return {**asked, "options": options}


def _set_up_sqlite(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
    # The driver would begin transactions late, at the first write; `_begin_sqlite` begins them.
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("penstock_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn database errors of the block into `PenstockError`s; an IntegrityError passes, since it means something to
    the caller."""
    try:
        yield
    except IntegrityError:
        raise
    except PoolTimeout as error:
        raise Unavailable("the state store is busy: no connection became free", hint=TRY_AGAIN) from error
    except DBAPIError as error:
        raise translate_error(error) from error


def translate_error(error: DBAPIError) -> PenstockError:
    """The `PenstockError` for a database error: Unavailable (try again later), StorageFull or Failed."""
    text = _error_text(error)
    state = str(getattr(error.orig, "pgcode", None) or "")
    if SQLITE_FULL in text or state == POSTGRES_FULL:
        return StorageFull(
            f"the state store has no room: {text}", hint="free some disk space; nothing of this write was stored"
        )
    gone = error.connection_invalidated or isinstance(error, InterfaceError)
    # Without a SQLSTATE there was no answer from the server.
    silent = isinstance(error, OperationalError) and not state and not _is_sqlite(error)
    if gone or silent or state[:2] in POSTGRES_LATER or any(busy in text for busy in SQLITE_BUSY):
        return Unavailable(f"the state store does not answer: {text}", hint=TRY_AGAIN)
    return Failed(f"the state store refused: {text}")


def _error_text(error: DBAPIError) -> str:
    """The error's text without the details that Postgres adds, which may quote rows."""
    diagnosis = getattr(error.orig, "diag", None)
    return " ".join(str(getattr(diagnosis, "message_primary", None) or error.orig).split())


def _is_sqlite(error: DBAPIError) -> bool:
    return type(error.orig).__module__.startswith("sqlite3")
