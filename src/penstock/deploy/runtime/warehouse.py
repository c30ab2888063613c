"""`Warehouse`: what is needed to read and change the tables of a running pipeline.

In: an opened `Lake`. Out: `Warehouse`. Invariant: holds references only and decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.flow.table_registry import TableRegistry
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.spark.session import Lake


@dataclass(frozen=True, slots=True)
class Warehouse:
    """Access to the tables."""

    lake: Lake
    """Spark and the catalog."""
    recorded: RecordedTables
    """The record of each table as Penstock made it."""
    registry: TableRegistry
    """The snapshots and the progress of each table."""
