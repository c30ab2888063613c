"""Append rows to a quarantine, with the progress of the landing or the view that left them out.

In: rows and the flow that they are from. Out: one commit. Invariant: the commit carries the progress of every table
that there is, and of no other: a quarantine outlives the tables of all versions that fill it.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.crash_points import crash_point
from penstock.flow.table_registry import TableRegistry
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor

_LANDING, _VIEW = "quarantine.", "condemned."


def landing_flow(table: str) -> str:
    """The flow, into the quarantine of its stream, of the rows that the landing into a table rejects."""
    return f"{_LANDING}{table}"


def view_flow(table: str, view: str) -> str:
    """The flow, into the quarantine of its target, of the rows for which a view into a table fails."""
    return f"{_VIEW}{table}.{view}"


def is_view_flow(flow: str) -> bool:
    """Whether a flow into a quarantine is that of rows for which a view fails."""
    return flow.startswith(_VIEW)


def commit_to_quarantine(
    lake: Lake, registry: TableRegistry, rows: DataFrame | pa.Table, quarantine: str, made: tuple[str, BatchCursor]
) -> int:
    """Append the rows with the cursor of the flow that `made` names. Returns how many were added. The caller holds the
    quarantine's lock."""
    flow, cursor = made
    ended = _ended_flows(lake, flow, registry.snapshots(quarantine).progress)
    added = registry.commit(rows, quarantine, {flow: Progress(cursor)}, ended)
    crash_point("quarantine.committed")
    return added


def _ended_flows(lake: Lake, this: str, flows: Iterable[str]) -> frozenset[str]:
    """Those of the flows whose tables were dropped: no name of a table is used twice."""
    return frozenset(flow for flow in flows if flow != this and _is_dropped(lake, _table_of(flow)))


def _table_of(flow: str) -> str | None:
    if flow.startswith(_LANDING):
        return flow.removeprefix(_LANDING)
    return flow.removeprefix(_VIEW).partition(".")[0] if flow.startswith(_VIEW) else None


def _is_dropped(lake: Lake, table: str | None) -> bool:
    try:
        return table is not None and physical_tables.load_table(lake, table) is None
    except DamagedTable:
        return False
