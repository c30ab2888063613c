"""The parts that a process beside the server opens to run steps: a Spark of its own, the state store, a stepper.

In: the settings, and the fencing token of the server. Out: `OpenedParts`. Invariant: once another server owns the
lease, nothing here can write to the state store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.deploy.runtime_config import backfill_rate, inbox_folder, state_url, step_limits
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.stepper import Stepper
from penstock.flow.table_registry import TableRegistry
from penstock.flow.throttle import BackfillThrottle
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.spark.session import Lake, open_lake
from penstock.lake.tables import physical_tables
from penstock.model.settings import Settings
from penstock.state.batches import BatchLog
from penstock.state.condemned_rows import CondemnedRows
from penstock.state.database import Database, open_database
from penstock.state.logs.operations import OperationsLog
from penstock.state.made_tables import MadeTables


@dataclass(frozen=True, slots=True)
class OpenedParts:
    """What a process needs to run steps."""

    database: Database
    lake: Lake
    registry: TableRegistry
    operations: OperationsLog
    arrivals: Arrivals
    recorded: RecordedTables
    stepper: Stepper


def open_parts(settings: Settings, home: Path, token: int | None, live_lag: Callable[[], float]) -> OpenedParts:
    """Open them; Spark starts. `live_lag` gives live's lag in seconds."""
    database = open_database(state_url(settings, home))
    if token is not None:
        database.guard(token)
    batches, operations, lake = BatchLog(database), OperationsLog(database), open_lake(settings, home)
    registry, arrivals = TableRegistry(lake), Arrivals(batches.heads())
    recorded = RecordedTables(partial(physical_tables.load_table, lake), MadeTables(database))
    stepper = Stepper(
        lake,
        registry,
        batches,
        inbox_folder(settings, home),
        step_limits(settings),
        operations,
        arrivals,
        BackfillThrottle(backfill_rate(settings), live_lag),
        recorded,
        CondemnedRows(database),
    )
    return OpenedParts(database, lake, registry, operations, arrivals, recorded, stepper)
