"""Delete rows from disk that have expired for every version.

In: a table and the TTLs of all deployments that bind it. Out: Iceberg snapshots that replace files. Invariant: a row
that any version still shows, or that a flow has not read yet, stays: only files that every reader of the table has
read to the end are touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.deploy.maintenance.maintained_tables import MaintainedTable, log_operation
from penstock.deploy.maintenance.retention import RetainedData
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.file_layouts import file_layout
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.lake.maintenance.data_files import DataFile, list_data_files
from penstock.lake.maintenance.removed_rows import note_loss
from penstock.lake.maintenance.rewrite import drop_files, rewrite_files, select_all_rows
from penstock.lake.read.bindings import unexpired_condition
from penstock.lake.spark.cancellation import time_limit
from penstock.lake.spark.names import qualified_table
from penstock.lake.tables import physical_tables
from penstock.lake.tables.snapshots import sequence_read

SHARE = 4
"""A file is rewritten once at least one of SHARE rows has expired."""


@dataclass(frozen=True, slots=True)
class ExpiredRows:
    """A file and how many of its rows have expired."""

    file: DataFile
    expired: int


def expiry_condition(on: MaintainedTable) -> str | None:
    """Spark SQL over physical columns, true for rows that no version shows any more; None if there are none."""
    if not on.bindings or on.others or any(each.keeps is None for each in on.bindings):
        return None
    return " AND ".join(sorted({f"NOT coalesce({unexpired_condition(each)}, false)" for each in on.bindings}))


def delete_expired(core: Core, on: MaintainedTable, retained: RetainedData) -> bool:
    """Delete expired rows from some of the table's files. Returns whether there were any."""
    expired, table = expiry_condition(on), on.table.id
    now = core.warehouse.registry.snapshots(table)
    if expired is None or now.current is None:
        return False
    files = files_read_by_all(core.warehouse, on, retained, list_data_files(core.warehouse.lake, table, now.current.id))
    counted = _count_expired(core, now.current.id, expired, on.table.id, files)
    whole = [each.file for each in counted if each.expired == each.file.rows]
    parts = [each.file for each in counted if each.expired < each.file.rows <= each.expired * SHARE]
    if not whole and not parts:
        return False

    def stays(view: str, columns: Sequence[tuple[str, str]]) -> str:
        return f"{select_all_rows(view, columns)} WHERE NOT ({expired})"

    with log_operation(core.store, "ttl", on) as done, core.warehouse.registry.pinned(table, now.current.id):
        note_loss(core.warehouse.lake, table)
        if whole:
            done.append(drop_files(core.warehouse.lake, table, now.current.id, whole))
            core.warehouse.registry.refresh(table)
        left, layout = core.settings.maintenance.compact_run_bytes, file_layout(on.table.sort, on.bindings)
        for file in parts:
            left -= file.bytes
            if left < 0 and done:
                break
            with time_limit(core.warehouse.lake.bulk, float(core.settings.flow.max_step_seconds)):
                done.append(rewrite_files(core.warehouse.lake, table, now.current.id, [file], stays, layout))
            core.warehouse.registry.refresh(table)
        note_loss(core.warehouse.lake, table)  # again: a deletion that ended meanwhile knew nothing of this one
    return True


def files_read_by_all(
    warehouse: Warehouse, on: MaintainedTable, retained: RetainedData, files: tuple[DataFile, ...]
) -> tuple[DataFile, ...]:
    """The files whose rows every flow that reads the table has read: files that are not newer than the snapshots up to
    which the flows have read."""
    table = on.table.id
    if table in retained.whole_tables:
        return ()
    readers = retained.read_snapshots.get(table, set())
    found = physical_tables.load_table(warehouse.lake, table)
    known = {each.snapshot_id: sequence_read(each) for each in found.metadata.snapshots} if found else {}
    if not readers <= known.keys():
        return ()
    upto = min((known[id] for id in readers), default=2**63)
    return tuple(file for file in files if file.sequence <= upto)


def _count_expired(
    core: Core, snapshot: int, expired: str, table: str, files: tuple[DataFile, ...]
) -> list[ExpiredRows]:
    """The files of a table that hold expired rows, by the Spark SQL condition `expired`."""
    if not files:
        return []
    by_path = {file.path: file for file in files}
    lake = core.warehouse.lake
    rows = lake.bulk.sql(
        f"SELECT _file, count(*) FROM {qualified_table(table)} VERSION AS OF {snapshot} WHERE {expired} GROUP BY _file"
    )
    with time_limit(lake.bulk, float(core.settings.flow.max_step_seconds)):
        found = rows.collect()
    return [ExpiredRows(by_path[path], count) for path, count in found if path in by_path]
