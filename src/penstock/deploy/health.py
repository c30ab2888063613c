"""Whether the pipeline can serve, check by check, known in memory at every moment.

In: the parts of a running pipeline. Out: `HealthCheck`s. Invariant: asking takes no lock and touches neither disk nor
network: every check is a `BackgroundReading` with a thread of its own, so one that hangs delays no other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import sqlalchemy as sa

from penstock.deploy.failing_flows import FailingFlow, failing_flows
from penstock.deploy.runtime.background_reading import BackgroundReading, Reading
from penstock.deploy.runtime.core import Core
from penstock.flow.inbox.inbox import Inbox
from penstock.lake.spark.jvm_figures import JvmFigures, read_jvm_figures
from penstock.model.manifest import Landing
from penstock.model.settings import Settings
from penstock.state.database import Database

PATIENCE = 3.0
"""Seconds by which an answer may be late before a check fails."""
MIB = 2**20
MOST_NAMED = 5
"""The most failing flows in the details of a check."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One check at one moment."""

    name: str
    reason: str | None
    """What is wrong, without names of tables and machines, since it is shown without a token; None: nothing."""
    stops: bool = False
    """Whether posts or queries cannot be served while it is so."""
    details: str | None = None
    """More, for whoever may read the status."""

    @property
    def ok(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The space of one of the folders that rows and records are kept in."""

    folder: str
    """`inbox`, `state` or `warehouse`."""
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class FlowHealth:
    """The flows of live, and what waits for them."""

    lag_seconds: float
    failing: tuple[FailingFlow, ...]
    failing_landings: int
    full_streams: int
    """Streams whose posts are refused because too much of them waits."""


class HealthChecks:
    """The checks of one pipeline."""

    def __init__(self, core: Core, database: Database, inbox: Inbox, folders: Mapping[str, Path]):
        self._core = core
        self._folders = folders
        settings = core.settings
        self.store = BackgroundReading("state store", lambda: _ask_store(database), 2.0, PATIENCE)
        self.catalog = BackgroundReading("catalog", lambda: _ask_catalog(core), 5.0, PATIENCE)
        self.disks = BackgroundReading("disks", lambda: read_disks(folders), 2.0, PATIENCE)
        self.flows = BackgroundReading("flows", lambda: _read_flows(core, inbox, settings), 2.0, PATIENCE)
        self.jvm: BackgroundReading[JvmFigures] = BackgroundReading(
            "Spark", lambda: read_jvm_figures(core.warehouse.lake), 5.0, PATIENCE
        )
        self._readings = (self.store, self.catalog, self.disks, self.flows, self.jvm)

    def start(self) -> None:
        for each in self._readings:
            each.start()

    def stop(self) -> None:
        for each in self._readings:
            each.stop()

    def checks(self) -> tuple[HealthCheck, ...]:
        """All checks, from memory."""
        flows = self.flows.reading
        return (
            _reached("store", "the state store", self.store.reading),
            _reached("catalog", "the catalog", self.catalog.reading),
            _reached("spark", "Spark's process", self.jvm.reading),
            _disk_check(self.disks.reading, self._core.settings.inbox.min_free_bytes),
            _landing_check(flows),
            _lag_check(flows, float(self._core.settings.deploy.max_lag_seconds)),
            _flows_check(flows),
        )


def local_folder(address: str) -> Path | None:
    """The folder of a warehouse's address; None if it is not on a disk of this machine."""
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") else None


def read_disks(folders: Mapping[str, Path]) -> tuple[DiskSpace, ...]:
    """The space of each folder that exists. Raises OSError if the inbox's folder is gone."""
    found: list[DiskSpace] = []
    for name, folder in folders.items():
        if name == "inbox" or folder.exists():
            disk = os.statvfs(folder)
            found.append(DiskSpace(name, disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize))
    return tuple(found)


def _ask_store(database: Database) -> bool:
    with database.read() as connection:
        connection.execute(sa.select(1))
    return True


def _ask_catalog(core: Core) -> bool:
    core.warehouse.lake.catalog.list_namespaces()
    return True


def _read_flows(core: Core, inbox: Inbox, settings: Settings) -> FlowHealth:
    live = core.board.live()
    failing = core.flows.failing()
    flows = live.manifest.flows if live is not None else ()
    stopped = [each for each in flows if (each.table, each.id) in failing]
    most = settings.inbox.max_pending_bytes
    return FlowHealth(
        lag_seconds=core.flows.lag(live.manifest) if live is not None else 0.0,
        failing=tuple(failing_flows(core.flows, core.board)),
        failing_landings=sum(isinstance(each, Landing) for each in stopped),
        full_streams=sum(waiting >= most for waiting in inbox.waiting_bytes(most - 1).values()),
    )


def _reached(name: str, what: str, reading: Reading[T]) -> HealthCheck:
    if reading.problem is None:
        return HealthCheck(name, None)
    return HealthCheck(name, f"{what} has not answered for {reading.age:.0f} s", True, reading.problem)


def _disk_check(reading: Reading[tuple[DiskSpace, ...]], least: int) -> HealthCheck:
    if reading.problem is not None:
        return HealthCheck("disk", "a disk does not answer", True, reading.problem)
    for disk in reading.value or ():
        if disk.folder == "inbox" and disk.free_bytes < least:
            details = f"{disk.free_bytes:,} bytes are free"
            return HealthCheck("disk", f"less than {least // MIB:,} MiB are free for posted rows", True, details)
    return HealthCheck("disk", None)


def _landing_check(reading: Reading[FlowHealth]) -> HealthCheck:
    if reading.problem is not None:
        return HealthCheck("landing", "it is not known whether rows land", False, reading.problem)
    found = reading.value
    if found is not None and found.full_streams:
        text = _count(found.full_streams, "data source takes no rows", "data sources take no rows")
        return HealthCheck("landing", f"{text}: too much waits", True)
    if found is not None and found.failing_landings:
        text = _count(found.failing_landings, "landing of live fails", "landings of live fail")
        return HealthCheck("landing", f"{text}; posted rows are kept and wait")
    return HealthCheck("landing", None)


def _lag_check(reading: Reading[FlowHealth], most: float) -> HealthCheck:
    found = reading.value
    if found is not None and found.lag_seconds > most:
        return HealthCheck("lag", f"rows of live have waited for {found.lag_seconds:.0f} s")
    return HealthCheck("lag", None)


def _flows_check(reading: Reading[FlowHealth]) -> HealthCheck:
    found = reading.value
    if found is not None and found.failing:
        text = _count(len(found.failing), "flow fails", "flows fail")
        details = "; ".join(map(str, found.failing[:MOST_NAMED]))
        return HealthCheck("flows", f"{text}; `penstock status` names them", False, details)
    return HealthCheck("flows", None)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
