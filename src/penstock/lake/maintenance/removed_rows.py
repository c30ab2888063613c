"""Which tables do not have all the rows they got, and which targets were made after these rows were gone.

In: tables, notes before and after rows are removed, and the beginnings of views. Out: table properties. Invariant: a
target counts as made after a removal only if it surely is: the removal was noted as over at a sequence number of the
source's snapshots, and each view from there into the target began with that snapshot or a later one.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from penstock.lake.maintenance.shared_files import set_properties
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.java_table import JavaTable
from penstock.model.manifest import View

ROWS_LOST = "penstock.expired"
"""Table property: rows whose TTL expired were deleted, others were replaced, or those of before were of engine Null, so
a table that is rebuilt from this one lacks them."""
LOST_UNTIL = "penstock.expired-until"
"""Table property: the sequence number of a snapshot, up to which all of them went; empty if that is not known."""
BEGAN = "penstock.began"
"""Begins the properties of a target with the sequence number of the snapshot with which a view began to read."""


def note_loss(lake: Lake, table: str) -> None:
    """Note that rows are about to be removed from a table."""
    set_properties(lake, table, {ROWS_LOST: "true", LOST_UNTIL: ""})


def note_loss_over(lake: Lake, table: str) -> None:
    """Note that whatever was to be removed from a table is gone. The caller must know that nobody else removes rows."""
    now = JavaTable(lake, table).table
    current, properties = now.currentSnapshot(), dict(now.properties())
    if current is not None and ROWS_LOST in properties and not properties.get(LOST_UNTIL):
        set_properties(lake, table, {LOST_UNTIL: str(int(current.sequenceNumber()))})


def note_beginning(lake: Lake, view: View, snapshot: int) -> None:
    """Note the snapshot of its source with which a view begins, before its first rows are committed."""
    source = view.trigger.binding.table
    found = JavaTable(lake, source).table.snapshot(snapshot)
    if found is not None:
        set_properties(lake, view.table, {_began(source, view.id): str(int(found.sequenceNumber()))})


def shortened_tables(lake: Lake, tables: Iterable[str]) -> frozenset[str]:
    """The tables that do not have all the rows they got, as far as they can be read."""
    return frozenset(table for table in tables if ROWS_LOST in _properties(lake, table))


def made_afterwards(lake: Lake, shortened: Iterable[str], views: Iterable[View]) -> frozenset[tuple[str, str]]:
    """The pairs of a shortened table and a target whose views all began when the rows were gone: the target has never
    had what was made of them."""
    until = {table: _properties(lake, table).get(LOST_UNTIL, "") for table in shortened}
    late: set[tuple[str, str]] = set()
    early: set[tuple[str, str]] = set()
    for view in views:
        source = view.trigger.binding.table
        if source in until:
            began = _properties(lake, view.table).get(_began(source, view.id), "")
            is_late = bool(began and until[source]) and int(began) >= int(until[source])
            (late if is_late else early).add((source, view.table))
    return frozenset(late - early)


def _began(source: str, view: str) -> str:
    return f"{BEGAN}.{source}.{view}"


def _properties(lake: Lake, table: str) -> dict[str, str]:
    """The properties of a table; none if it cannot be read: of a damaged one, the drift check speaks."""
    with suppress(physical_tables.DamagedTable):
        found = physical_tables.load_table(lake, table)
        if found is not None:
            return dict(found.properties)
    return {}
