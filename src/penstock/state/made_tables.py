"""What each physical table looked like when Penstock last made or changed it.

In: `MadeTable` values to store. Out: the stored `MadeTable` values. Invariant: there is one record per table; it holds
only changes by Penstock, never later changes from outside.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.schema import attempts, condemned_rows, made_tables
from penstock.state.transactions.locks import take_named_lock


@dataclass(frozen=True, slots=True)
class MadeColumn:
    """A physical column in Iceberg's terms; its field `id` survives a rename and is never used twice."""

    name: str
    type: str
    id: int


@dataclass(frozen=True, slots=True)
class MadeTable:
    """The record of one table. Snapshots are identified by their sequence numbers, which only grow."""

    id: str
    uuid: str
    """Iceberg's uuid of the table."""
    columns: tuple[MadeColumn, ...]
    accepted: int = 0
    """Snapshots up to this sequence number count as made by Penstock."""
    newest: int = 0
    """The last snapshot that Penstock is known to have made; 0 if none."""


class MadeTables:
    """The stored records."""

    def __init__(self, database: Database):
        self._database = database

    def all(self) -> tuple[MadeTable, ...]:
        """All records, sorted by table id."""
        return self._read(sa.select(made_tables))

    def of(self, tables: Collection[str]) -> tuple[MadeTable, ...]:
        """The records of these tables, as far as there are some."""
        return self._read(sa.select(made_tables).where(made_tables.c.id.in_(tables)))

    def _read(self, query: sa.Select[tuple[object, ...]]) -> tuple[MadeTable, ...]:
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(made_tables.c.id)).all()
        return tuple(
            MadeTable(row.id, row.uuid, tuple(MadeColumn(**each) for each in row.columns), row.accepted, row.newest)
            for row in rows
        )

    def keep(self, tables: Collection[MadeTable]) -> None:
        """Store the records, replacing older records of the same tables; all or none."""
        if not tables:
            return
        values = [asdict(each) for each in tables]
        with self._database.write() as connection:
            take_named_lock(connection, made_tables.name)
            connection.execute(sa.delete(made_tables).where(made_tables.c.id.in_([each.id for each in tables])))
            connection.execute(sa.insert(made_tables), values)

    def forget(self, table: str) -> None:
        """Remove the record of a table that Penstock dropped, if there is one, and what is known of its flows: their
        condemned rows and their crashes."""
        with self._database.write() as connection:
            connection.execute(sa.delete(made_tables).where(made_tables.c.id == table))
            connection.execute(sa.delete(condemned_rows).where(condemned_rows.c.table_id == table))
            connection.execute(sa.delete(attempts).where(attempts.c.table_id == table))
