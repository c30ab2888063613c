"""Locks that last until the transaction ends, for databases that allow several writers at a time.

In: a connection inside a transaction. Out: nothing. Invariant: on SQLite there is nothing to do, since `write` holds
the only write lock; on Postgres waiters are served in order, so a steady stream of writers cannot keep a server from
taking the lease.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from penstock.state.schema import lease

_LEASE = f"LOCK TABLE {lease.name} IN"


def read_lease_token(connection: Connection) -> int:
    """The lease's token, locked against changes until this transaction ends."""
    query = sa.select(lease.c.token)
    if _is_postgres(connection):
        # A row lock would let the next owner starve: Postgres grants shared row locks ahead of a waiting exclusive one.
        connection.exec_driver_sql(f"{_LEASE} ROW SHARE MODE")
    return int(connection.execute(query).scalar_one())


def lock_out_writers(connection: Connection) -> None:
    """Wait until every transaction that has locked the token has ended, and let no other one begin. A heartbeat does
    not need this lock, so it never waits for it."""
    if _is_postgres(connection):
        connection.exec_driver_sql(f"{_LEASE} EXCLUSIVE MODE")


def take_named_lock(connection: Connection, name: str) -> None:
    """Wait for, and hold until the transaction ends, the lock of this name: one transaction at a time has it."""
    if _is_postgres(connection):
        key = sa.func.hashtextextended(sa.func.concat(sa.func.current_schema(), " ", name), 0)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))


def _is_postgres(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"
