"""Small files into few: what a stream of one commit a second leaves behind, rewritten in the order of the
sorting key and, where that changes no answer, with the rows merged that the engine merges.

In: a table. Out: Iceberg snapshots that replace files. Called by `maintenance`. Invariant: not a row comes,
goes or changes but by the engine's rule; each run is a commit of its own, so what is done stays done
whatever comes between.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from penstock.deploy.background import Tended, logged
from penstock.deploy.core import Core
from penstock.deploy.merging import merged_rows, merging
from penstock.lake.files import DataFile, Tiers, data_files, runs
from penstock.lake.jobs import limited
from penstock.lake.rewrite import Rewritten, compact, reduce, sorting
from penstock.lake.shared import note
from penstock.model.settings import MaintenanceSettings

TURN = 10.0
"""Seconds after which no further run is begun: the other tables have their turn, and a server that stops
does not wait."""

MERGED = "penstock.merged"
"""The property that tells people by which rule rows of a table were merged."""


def compact_table(core: Core, on: Tended) -> bool:
    """Rewrite some of the table's small files. Returns whether it did."""
    settings, table = core.settings.maintenance, on.table.id
    now = core.registry.snapshots(table)
    if now.current is None or now.files < settings.compact_files:
        return False
    found = tuple(runs(data_files(core.lake, table, now.current.id), tiers(settings)))
    if not found:
        return False
    left, end = settings.compact_run_bytes, time.monotonic() + TURN
    seconds = float(core.settings.flow.max_step_seconds)
    with logged(core, "compaction", on) as done:
        for files in found:
            left -= sum(file.bytes for file in files)
            if done and (left < 0 or time.monotonic() > end):
                break
            with limited(core.lake.bulk, seconds):
                done.append(_rewrite(core, on, now.current.id, files))
            core.registry.refresh(table)
    return True


def _rewrite(core: Core, on: Tended, snapshot: int, files: Sequence[DataFile]) -> Rewritten:
    """One run. Looked at each time: a deployment that was made meanwhile may read the rows otherwise."""
    order = sorting(on.table.sort)
    how = merging(on, core.deployments.list())
    if how is None:
        return compact(core.lake, on.table.id, snapshot, files, order)
    note(core.lake, on.table.id, {MERGED: str(how.rule)})
    return reduce(core.lake, on.table.id, snapshot, files, partial(merged_rows, how), order)


def tiers(settings: MaintenanceSettings) -> Tiers:
    return Tiers(settings.compact_files, settings.compact_small_bytes, settings.compact_target_bytes)
