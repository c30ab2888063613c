"""Open the state store and bring it to the newest schema.

In: a SQLAlchemy URL. Out: `Database`, whose `read` and `write` give a connection in a transaction.
Called by every module of state and by deploy/pipeline. Invariant: a `write` that returned is on
disk; on SQLite it holds the only write lock from its first statement, so what it read stays true (on
Postgres each module locks what it reads, see `locks`); once guarded by a token of the lease, nothing is
written after another server has taken the lease.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from penstock.errors import Failed, Fenced, PenstockError, Unavailable
from penstock.faults import reached
from penstock.state.connect import make_engine, shown
from penstock.state.locks import alone, token_held
from penstock.state.refusals import plainly, refusal

MIGRATIONS = Path(__file__).parent / "migrations"
PATIENCE = 5.0
"""For so many seconds a store that cannot be reached is asked again before a call fails."""
PAUSE = 0.1
log = logging.getLogger("penstock.state")
T = TypeVar("T")


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

    @property
    def token(self) -> int | None:
        """The lease's token under which it writes."""
        return self._token

    def guard(self, token: int) -> None:
        """From now on write only while the lease has this token."""
        self._token = token

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Raises Unavailable if the store does not answer."""
        with plainly(), _reached(self._engine) as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Commits at the end of the block, rolls back when it raises. Raises Fenced where another server
        has taken the lease, StorageFull: then nothing is written. Raises Unavailable if the store does
        not answer: then nobody knows; who writes again sees to it that it is there once (`once`)."""
        reached("state.before")
        with plainly(), _reached(self._writing) as connection, connection.begin():
            if self._token is not None:
                _hold(connection, self._token)
            yield connection
        reached("state.after")

    def once(self, write: Callable[[Connection], T], find: Callable[[Connection], T | None]) -> T:
        """Write in a transaction of its own, and again where the connection died in the middle, unless
        `find` then finds it there. `find` waits for transactions that may still write it (`locks.alone`).

        Raises Unavailable if the store stays away; whether it is written is not known then.
        """
        end = time.monotonic() + 2 * PATIENCE
        attempt = write
        while True:
            try:
                with self.write() as connection:
                    return attempt(connection)
            except Unavailable as error:
                if time.monotonic() > end:
                    raise
                log.warning("%s; asking it again", error.message)
            attempt = _unless_there(write, find)
            time.sleep(PAUSE)

    def close(self) -> None:
        self._engine.dispose()


def _unless_there(
    write: Callable[[Connection], T], find: Callable[[Connection], T | None]
) -> Callable[[Connection], T]:
    def attempt(connection: Connection) -> T:
        found = find(connection)
        return write(connection) if found is None else found

    return attempt


@contextmanager
def _reached(engine: Engine) -> Iterator[Connection]:
    """A connection that works. A store that restarts is waited for: nothing was asked of it yet."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection = engine.connect()
            break
        except DBAPIError as error:
            if time.monotonic() > end or not isinstance(refusal(error), Unavailable):
                raise
        time.sleep(PAUSE)
    with connection:
        yield connection


def _hold(connection: Connection, token: int) -> None:
    """Keep the lease from being taken until the transaction ends."""
    if token_held(connection) != token:
        raise Fenced("another server has taken over this warehouse", hint="this one writes nothing any more and ends")


def open_database(url: str) -> Database:
    """Connect, and run the migrations that are missing. Where none is, nothing is written: a store opens beside
    a server that was stopped (SIGSTOP) in the middle of a write and still has the only lock.

    Raises Failed if the store cannot be opened.
    """
    engine = make_engine(url)
    database = Database(engine)
    try:
        if not _is_newest(database):
            with database.write() as connection:
                alone(connection, "migrations")
                command.upgrade(_migrations(connection), "head")
    except (Failed, Unavailable) as error:
        database.close()
        raise _not_opened(engine, error) from error
    return database


def _not_opened(engine: Engine, error: PenstockError) -> Failed:
    cause = error.__cause__.orig if isinstance(error.__cause__, DBAPIError) else error.message
    return Failed(f"the state store {shown(engine)} cannot be opened: {' '.join(str(cause).split())}")


def _is_newest(database: Database) -> bool:
    """The schema has had all migrations."""
    with database.read() as connection:
        newest = ScriptDirectory.from_config(_migrations(connection)).get_current_head()
        return MigrationContext.configure(connection).get_current_revision() == newest


def _migrations(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
