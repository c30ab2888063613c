"""The tables of a running pipeline, as the parts that read and change them are given them.

In: an opened `Lake`. Out: `Warehouse`. Invariant: holds references only and decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.flow.table_registry import TableRegistry
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.spark.session import Lake


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The tables: Spark and the catalog, what each table was made as, and how far each one is."""

    lake: Lake
    recorded: RecordedTables
    registry: TableRegistry
