"""Allow a table to delete its files again once the last clone that shared them is dropped.

In: the tables of the warehouse. Out: changed table properties. Invariant: a table deletes no file that another one
may refer to. A clone has the location of its original, so only tables with the same location share files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.crash_points import crash_point
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.java_table import JavaTable

TRIMS_METADATA = "write.metadata.delete-after-commit.enabled"
COLLECTS_GARBAGE = "gc.enabled"


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of a table."""

    location: str
    metadata: str
    """Its current metadata file."""
    before: frozenset[str]
    """Its earlier metadata files."""
    collects: bool
    """Whether it deletes the data files of expired snapshots."""
    trims: bool
    """Whether it deletes earlier metadata files."""


def read_table_files(lake: Lake, table: str) -> TableFiles | None:
    """The files of a table; None if there is no such table."""
    found = physical_tables.load_table(lake, table)
    if found is None:
        return None
    properties = found.properties
    return TableFiles(
        found.location().rstrip("/"),
        found.metadata_location,
        frozenset(each.metadata_file for each in found.metadata.metadata_log),
        properties.get(COLLECTS_GARBAGE) != "false",
        properties.get(TRIMS_METADATA) == "true",
    )


def restorable_properties(table: str, homes: Mapping[str, TableFiles]) -> dict[str, str]:
    """The properties that allow the table to delete files again, as far as that is safe now. It may delete earlier
    metadata files even if clones share its location, unless one of them has no metadata file of its own yet."""
    mine = homes[table]
    beside = [other for name, other in homes.items() if name != table and other.location == mine.location]
    wanted: dict[str, str] = {}
    if not mine.collects and not beside:
        wanted[COLLECTS_GARBAGE] = "true"
    if not mine.trims and not any(other.metadata in (mine.metadata, *mine.before) for other in beside):
        wanted[TRIMS_METADATA] = "true"
    return wanted


def set_properties(lake: Lake, table: str, wanted: Mapping[str, str]) -> None:
    """Set the properties that have other values now. If they allow files to be deleted, the caller makes sure that the
    table is not cloned meanwhile."""
    table_now = JavaTable(lake, table).table
    there = dict(table_now.properties())
    missing = {key: value for key, value in wanted.items() if there.get(key) != value}
    if not missing:
        return
    update = table_now.updateProperties()
    for key, value in sorted(missing.items()):
        update = update.set(key, value)
    crash_point("lake.before")
    update.commit()
    crash_point("lake.after")
