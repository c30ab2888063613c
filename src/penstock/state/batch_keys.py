"""The idempotency keys of posted bodies: for each, the batch with its rows and the digest of the body.

In: keys as their batch is logged, and the keys of new bodies. Out: `UsedKey` values. Invariant: a key is known for at
least its retention of time in which a server runs. The clock of keys stands still while no server runs, so a caller
that repeats its post after an outage, however long, finds its key; and it follows no jump of the system's clock.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from penstock.errors import Conflict
from penstock.state.database import Database
from penstock.state.schema import batch_keys

MOST_AT_ONCE = 500
"""Keys that one query looks for."""


@dataclass(frozen=True, slots=True)
class BodyKey:
    """The idempotency key of one body."""

    key: str
    digest: str | None = None
    """SHA-256 of the body in hexadecimal."""


@dataclass(frozen=True, slots=True)
class UsedKey:
    """A key that was used before."""

    key: str
    number: int
    """The batch with the rows of its body."""
    digest: str | None
    """The digest of its body; None if a release that computed none logged it."""


class ReusedKey(Conflict):
    """An idempotency key was sent again with another body."""

    code = "reused-key"

    def __init__(self, key: str):
        super().__init__(
            f"the idempotency key `{key[:60]}` was used for another body; none of these rows is kept",
            hint="send a body again only with the same rows, and give every other body a key of its own",
        )


class BatchKeys:
    """The keys of all streams."""

    def __init__(self, database: Database):
        self._database = database
        with database.read() as connection:
            newest = connection.execute(sa.select(sa.func.max(batch_keys.c.used_at))).scalar_one()
        self._first = newest if newest is not None else datetime.now(timezone.utc)
        self._began = time.monotonic()

    @property
    def now(self) -> datetime:
        """The clock of keys."""
        return self._first + timedelta(seconds=time.monotonic() - self._began)

    def add(self, connection: Connection, stream: str, number: int, keys: Collection[BodyKey]) -> None:
        """Record the keys of a batch inside the caller's transaction. Raises IntegrityError if one is known."""
        if keys:
            same = {"stream": stream, "number": number, "used_at": self.now}
            rows = [{**same, "key": each.key, "digest": each.digest} for each in keys]
            connection.execute(sa.insert(batch_keys), rows)

    def find(self, stream: str, keys: Collection[str]) -> Mapping[str, UsedKey]:
        """Those of the keys that were used before."""
        wanted, found = sorted(keys), {}
        columns = sa.select(batch_keys.c.key, batch_keys.c.number, batch_keys.c.digest)
        for at in range(0, len(wanted), MOST_AT_ONCE):
            part = wanted[at : at + MOST_AT_ONCE]
            query = columns.where(batch_keys.c.stream == stream, batch_keys.c.key.in_(part))
            with self._database.read() as connection:
                found.update({row.key: UsedKey(*row) for row in connection.execute(query)})
        return found

    def trim(self, seconds: float, most: int, held: Collection[str] = ()) -> int:
        """Remove up to `most` of the keys that were used more than `seconds` ago by the clock of keys, except those
        that begin with a text in `held`. Returns how many."""
        old = [batch_keys.c.used_at < self.now - timedelta(seconds=seconds)]
        old += [sa.not_(batch_keys.c.key.startswith(prefix, autoescape=True)) for prefix in held]
        query = sa.select(batch_keys.c.stream, batch_keys.c.key).where(*old).order_by(batch_keys.c.used_at).limit(most)
        with self._database.read() as connection:  # usually nothing is found, and no write lock is needed
            found = connection.execute(query).all()
        if not found:
            return 0
        this = sa.and_(batch_keys.c.stream == sa.bindparam("of"), batch_keys.c.key == sa.bindparam("named"))
        with self._database.write() as connection:
            connection.execute(
                sa.delete(batch_keys).where(this), [{"of": row.stream, "named": row.key} for row in found]
            )
        return len(found)

    def count(self) -> int:
        """How many keys are known. Reads all of them: for tests and benches."""
        with self._database.read() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(batch_keys)).scalar_one())
