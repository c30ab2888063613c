"""`Warehouse`: what is needed to read and change the tables of a running pipeline.

In: an opened `Lake`. Out: `Warehouse`. Invariant: holds references only and decides nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.flow.table_registry import TableRegistry
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.maintenance.removed_rows import shortened_tables
from penstock.lake.spark.session import Lake
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.lake.tables.stored_statistics import stored_values
from penstock.model.stored_values import StoredValues


@dataclass(frozen=True, slots=True)
class Warehouse:
    """Access to the tables."""

    lake: Lake
    """Spark and the catalog."""
    recorded: RecordedTables
    """The record of each table as Penstock made it."""
    registry: TableRegistry
    """The snapshots and the progress of each table."""

    def stored_values(self, table: str) -> StoredValues:
        """What Iceberg's statistics say of the values that a table has now; of none, where its metadata is damaged."""
        with suppress(DamagedTable, OSError, ValueError):
            is_whole = not shortened_tables(self.lake, [table])
            return replace(stored_values(self.lake, table), is_whole=is_whole)
        return StoredValues(0)
