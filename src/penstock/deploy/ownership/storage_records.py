"""Which warehouse and which inbox belong to this state store.

In: a record by part. Out: the stored records. Invariant: there is one record a part; its stamp changes at each start of
a server, and `next_stamp` is the one that the start under way may have written into the storage already.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.schema import storage
from penstock.state.transactions.locks import take_named_lock


@dataclass(frozen=True, slots=True)
class StorageRecord:
    """What the store knows of one part of its storage."""

    part: str
    """`warehouse` or `inbox`."""
    uuid: str
    stamp: str
    next_stamp: str | None
    location: str
    """Where it was at the last start."""


class StorageRecords:
    """The stored records."""

    def __init__(self, database: Database):
        self._database = database

    def find(self, part: str) -> StorageRecord | None:
        """The record of a part; None before the first start that made one."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(storage).where(storage.c.part == part)).one_or_none()
        return StorageRecord(row.part, row.uuid, row.stamp, row.next_stamp, row.location) if row else None

    def keep(self, record: StorageRecord) -> None:
        """Store a record in place of the one before it. Raises Fenced."""
        with self._database.write() as connection:
            take_named_lock(connection, storage.name)
            connection.execute(sa.delete(storage).where(storage.c.part == record.part))
            connection.execute(sa.insert(storage).values(asdict(record)))
