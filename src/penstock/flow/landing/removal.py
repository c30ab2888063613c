"""Remove rows from a landing table: what a removal in its stream asks for.

In: a batch whose file says which rows, for each landing version. Out: the rows are gone, and the landing's cursor is
past the batch. Invariant: no row that came after the batch is in the table before the cursor is past it, whichever flow
writes it; so to remove again what a crash cut off removes nothing more.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import orjson

from penstock.crash_points import crash_point
from penstock.errors import Failed
from penstock.flow.inbox.segments import read_segment
from penstock.flow.landing.landing import LandingResult, LandingTable, RawBatches
from penstock.flow.table_registry import TableRegistry
from penstock.lake.maintenance.removed_rows import note_loss, note_loss_over
from penstock.lake.maintenance.row_removal import remove_rows
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor
from penstock.model.manifest import Landing
from penstock.sql.spark_text import quote_identifier, replace_columns

log = logging.getLogger("penstock.flow")


@dataclass(frozen=True, slots=True)
class Removal:
    """Which rows are removed."""

    conditions: Mapping[str, str]
    """By landing version, Spark SQL over the physical columns of its table, true for the rows."""
    general: str
    """The condition for a version that was made later: Spark SQL over the logical columns."""
    columns: Mapping[str, str]
    """The logical columns that `general` reads, with the Spark types that it expects."""

    def encode(self) -> bytes:
        """The line of its segment."""
        return orjson.dumps(
            {"conditions": dict(self.conditions), "general": self.general, "columns": dict(self.columns)}
        )

    @staticmethod
    def decode(line: bytes) -> Removal:
        """The inverse of `encode`."""
        return Removal(**orjson.loads(line))

    def condition(self, landing: Landing) -> str:
        """The condition for the rows of a landing version. Raises Failed if it lacks a column."""
        known = self.conditions.get(landing.version)
        if known is not None:
            return known
        physical = {column.name: column.physical for column in landing.columns}
        missing = sorted(self.columns.keys() - physical.keys())
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            raise Failed(
                f"rows of `{landing.stream}` were deleted by {names}, which this version does not have: it is not known"
                " which of its rows these are",
                hint="deploy a version with these columns, or give the table the rows of the old one (FORWARD_QUERY)",
            )
        values = {
            name: f"try_cast({quote_identifier(physical[name])} AS {type_})" for name, type_ in self.columns.items()
        }
        return replace_columns(self.general, values)


def land_removal(lake: Lake, registry: TableRegistry, target: LandingTable, raw: RawBatches) -> LandingResult:
    """Remove the rows that a batch names from the target, and note that it was landed. The caller must hold the table's
    lock. Raises Failed if a version of the target cannot tell the rows."""
    batch = raw.batches[0]
    at = Progress(BatchCursor(batch.number), {target.stream: batch.number}, batch.number - 1)
    if batch.damage is None:
        [line] = read_segment(raw.inbox / batch.segment, batch.bytes, batch.digest)
        note = partial(note_loss, lake, target.table)
        remove_rows(lake, target.table, _condition(target, Removal.decode(line)), note)
        note_loss_over(lake, target.table)  # also of a removal that a crash cut off here
        registry.refresh(target.table)
    else:  # the stream goes on, and the operations log has the damage
        log.error("nothing is removed from %s: batch %d cannot be read: %s", target.table, batch.number, batch.damage)
    registry.add_progress(target.table, {target.flow: at})
    crash_point("landing.committed")
    return LandingResult(0, 0, batch.number)


def _condition(target: LandingTable, removal: Removal) -> str:
    """The condition for a table: that of any of the versions that share it."""
    conditions = dict.fromkeys(removal.condition(landing) for landing in target.landings)
    return "(" + " OR ".join(f"({each})" for each in conditions) + ")"
