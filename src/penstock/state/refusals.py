"""What a database says when it cannot do what was asked, as errors of our own.

In: an exception of SQLAlchemy. Out: Unavailable (ask again later), StorageFull or Failed. Called by
`database` around each transaction. Invariant: a broken constraint passes as it is, since it means
something to who wrote; no message has a statement, a parameter or a password in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from penstock.errors import Failed, PenstockError, StorageFull, Unavailable

AGAIN = "nothing is lost: try again"
# Source: SQLite's result codes, and the first two letters of Postgres' SQLSTATE ("Error codes", appendix A).
SQLITE_FULL = "database or disk is full"
SQLITE_BUSY = ("database is locked", "database table is locked", "database schema is locked")
POSTGRES_FULL = "53100"
POSTGRES_LATER = ("08", "40", "53", "55", "57")
"""Connection lost, rolled back (a deadlock), out of resources, a lock not got in time, shutting down."""


@contextmanager
def plainly() -> Iterator[None]:
    """Raises what a statement in the block fails with as a `PenstockError`, but for broken constraints."""
    try:
        yield
    except IntegrityError:
        raise
    except PoolTimeout as error:
        raise Unavailable("the state store is busy: no connection came free", hint=AGAIN) from error
    except DBAPIError as error:
        raise refusal(error) from error


def refusal(error: DBAPIError) -> PenstockError:
    """The error of ours that says what this one says."""
    said = _said(error)
    state = str(getattr(error.orig, "pgcode", None) or "")
    if SQLITE_FULL in said or state == POSTGRES_FULL:
        return StorageFull(f"the state store has no room: {said}", hint="make room; nothing of this was kept")
    gone = error.connection_invalidated or isinstance(error, InterfaceError)
    # Without a SQLSTATE there was no answer: nobody there, or nobody any more.
    silent = isinstance(error, OperationalError) and not state and not _of_sqlite(error)
    if gone or silent or state[:2] in POSTGRES_LATER or any(busy in said for busy in SQLITE_BUSY):
        return Unavailable(f"the state store does not answer: {said}", hint=AGAIN)
    return Failed(f"the state store refused: {said}")


def _said(error: DBAPIError) -> str:
    """Without the details that Postgres adds, which may quote rows."""
    diagnosis = getattr(error.orig, "diag", None)
    return " ".join(str(getattr(diagnosis, "message_primary", None) or error.orig).split())


def _of_sqlite(error: DBAPIError) -> bool:
    return type(error.orig).__module__.startswith("sqlite3")
