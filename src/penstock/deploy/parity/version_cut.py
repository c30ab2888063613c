"""A cut: two versions that have processed exactly the same batches, and the snapshots that hold the result.

In: two references to deployments, or one, of which two tables are compared. Out: `Cut`, whose snapshots stay until the
block ends. Invariants: every table of both versions has every batch up to the cut and none after it; rows that arrive
meanwhile are kept and acknowledged; no stream is held for longer than HOLD_SECONDS, and none while rows are compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial

from penstock.deploy.lifecycle.promotion import describe_worst_lag
from penstock.deploy.runtime.core import Core
from penstock.errors import Conflict, InvalidRequest
from penstock.flow.lag import FlowLag, blocked_tables
from penstock.lake.read.bindings import SnapshotRows
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.lake.tables.snapshots import Progress, Snapshots
from penstock.model.deployment import Deployment

CATCH_UP_SECONDS = 60.0
"""How long both versions may take to process what had arrived, while rows go on landing."""
HOLD_SECONDS = 10.0
"""How long landing is held for what arrived while they did."""
TRIES = 3


@dataclass(frozen=True, slots=True)
class CutVersion:
    """One version as of the cut."""

    deployment: Deployment
    blocked: frozenset[str]
    """The tables into which a flow fails, and those that derive from them: they are not at the cut."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Two versions at the same batches."""

    at: datetime
    batches: Mapping[str, int]
    """By stream, the last batch that is in all tables."""
    left: CutVersion
    right: CutVersion
    snapshots: Mapping[str, SnapshotRows]
    """By physical table, its rows as of the cut; a damaged table is not in it."""
    rows: Mapping[str, int]
    """By physical table, how many rows are stored in it."""

    def unreadable(self, version: CutVersion, table: str) -> str | None:
        """Why a table of a version is not at the cut; None if it is."""
        if table in version.blocked:
            return f"a flow that feeds it fails in deployment {version.deployment.id}"
        return None if table in self.snapshots else "its table is damaged"


@contextmanager
def cut_versions(core: Core, left: str, right: str) -> Iterator[Cut]:
    """Wait until both versions are at one cut, and keep its snapshots and tables for the block.

    Raises NotFound, InvalidRequest if both are the same, Conflict if one of them cannot be read or does not catch up.
    """
    with ExitStack() as kept:
        ids = []
        for ref in (left, right):
            found = core.board.readable(ref)
            _refuse_paused(found)
            ids.append(found.id)
            kept.enter_context(core.board.readers.reading(ids[-1]))
        if ids[0] == ids[1]:
            raise InvalidRequest(
                f"`{left}` and `{right}` are the same deployment, {ids[0]}", hint="such as live and staging"
            )
        yield _find_cut(core, str(ids[0]), str(ids[1]), kept)


@contextmanager
def cut_version(core: Core, ref: str) -> Iterator[Cut]:
    """The cut of one version, which is both sides of it, for the block. Raises NotFound, and Conflict if it cannot be
    read or does not catch up."""
    with ExitStack() as kept:
        found = core.board.readable(ref)
        _refuse_paused(found)
        kept.enter_context(core.board.readers.reading(found.id))
        yield _find_cut(core, str(found.id), str(found.id), kept)


def _find_cut(core: Core, left: str, right: str, kept: ExitStack) -> Cut:
    """First without holding anything, since a version may be far behind; then, for what arrived meanwhile, with landing
    held. Raises Conflict."""
    for _ in range(TRIES):
        heads = core.flows.arrivals.heads
        if not core.flows.scheduler.wait(partial(_is_aligned, core, (left, right), heads), CATCH_UP_SECONDS):
            raise _not_aligned(_late(core, (left, right), heads))
        found = _hold_and_take(core, left, right, kept)
        if found is not None:
            return found
    raise _not_aligned(_late(core, (left, right), core.flows.arrivals.heads))


def _hold_and_take(core: Core, left: str, right: str, kept: ExitStack) -> Cut | None:
    """The cut; None if a version did not get there in time, or got other tables meanwhile."""
    flows, heads = core.flows, core.flows.arrivals.heads
    try:
        with flows.stepper.limit_batches(heads):
            if not flows.scheduler.wait(partial(_is_settled, core, (left, right), heads), HOLD_SECONDS):
                return None
            failing = flows.failing()
            versions = [_at_cut(core.board.readable(ref), failing) for ref in (left, right)]
            if any(flows.late(each.deployment.manifest, heads, failing) for each in versions):
                return None  # it was given tables of its own meanwhile
            with ExitStack() as pinned:
                taken = _pin_snapshots(core, versions, pinned)
                if any(has_passed(known.progress, heads) for known in taken.values()):
                    return None  # a step had begun with later batches before landing was held
                kept.enter_context(pinned.pop_all())
            snapshots = {table: SnapshotRows(_current(known)) for table, known in taken.items()}
            stored = {table: known.rows for table, known in taken.items()}
            return Cut(datetime.now(timezone.utc), dict(heads), versions[0], versions[1], snapshots, stored)
    finally:
        flows.scheduler.wake()


def _refuse_paused(deployment: Deployment) -> None:
    if deployment.paused:
        raise Conflict(
            f"deployment {deployment.id} is paused", hint=f"`penstock deployment resume {deployment.id}` continues it"
        )


def _at_cut(deployment: Deployment, failing: Collection[tuple[str, str]]) -> CutVersion:
    return CutVersion(deployment, blocked_tables(deployment.manifest, failing))


def _pin_snapshots(core: Core, versions: list[CutVersion], pinned: ExitStack) -> dict[str, Snapshots]:
    """Each table as it is now, its current snapshot pinned; a damaged table is left out."""
    registry = core.warehouse.registry
    found: dict[str, Snapshots] = {}
    for table in {table.id for each in versions for table in each.deployment.manifest.tables}:
        try:
            found[table] = registry.snapshots(table)
        except DamagedTable:
            continue
        pinned.enter_context(registry.pinned(table, _current(found[table])))
    return found


def _current(known: Snapshots) -> int | None:
    return known.current.id if known.current is not None else None


def has_passed(progress: Mapping[str, Progress], heads: Mapping[str, int]) -> bool:
    """Whether a table, by the progress of its flows, has rows of later batches than these (by stream)."""
    return any(batch > heads.get(stream, 0) for each in progress.values() for stream, batch in each.watermarks.items())


def _late(core: Core, refs: tuple[str, str], heads: Mapping[str, int]) -> list[FlowLag]:
    """The flows of both versions that are behind; failing ones are not waited for, their tables are not compared."""
    excused = core.flows.failing()
    return [lag for ref in refs for lag in core.flows.late(core.board.readable(ref).manifest, heads, excused)]


def _is_aligned(core: Core, refs: tuple[str, str], heads: Mapping[str, int]) -> bool:
    return not _late(core, refs, heads)


def _is_settled(core: Core, refs: tuple[str, str], heads: Mapping[str, int]) -> bool:
    """Whether both are aligned, and no step runs whose quarantine may not be committed yet."""
    landed = {landing.table for ref in refs for landing in core.board.readable(ref).manifest.landings}
    return _is_aligned(core, refs, heads) and not core.flows.scheduler.has_step(landed)


def _not_aligned(late: list[FlowLag]) -> Conflict:
    return Conflict(
        f"the versions were not compared: they did not reach the same batches: {describe_worst_lag(late)}"
        if late
        else "the versions were not compared: rows arrived faster than both could process them",
        hint="see `penstock status`; try again once both have caught up",
    )
