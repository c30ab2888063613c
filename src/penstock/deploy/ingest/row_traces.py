"""Where rows of a data source are, or have left traces: what removing them does not reach.

In: a data source of live. Out: `RowTraces`. Invariant: names everything that a later reader could find them in (derived
data sources, the quarantine, raw batches, files of snapshots that are kept), and until when, where that is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from penstock.deploy.runtime.core import Core
from penstock.errors import NotFound, did_you_mean
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest
from penstock.model.pipe import Copied, CopyMode, Materialized, Pipe
from penstock.model.project import Project
from penstock.plan.diff.change_impact import with_upstream
from penstock.state.batches import BatchLog


@dataclass(frozen=True, slots=True)
class DerivedRows:
    """A data source that materialized views compute from another one."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """A data source that a copy fills."""

    name: str
    pipe: str
    mode: CopyMode


@dataclass(frozen=True, slots=True)
class RowTraces:
    """What there is of a data source."""

    rows: int
    derived: tuple[DerivedRows, ...]
    """The data sources that materialized views compute from its rows, directly, through others or by a join; they keep
    theirs."""
    copied: tuple[CopiedRows, ...]
    """The data sources that copies may have put its rows into, or rows that were computed from them."""
    quarantined_rows: int
    """Rows in its quarantine, of all versions."""
    raw_rows: int
    """Rows in batches that the inbox still has."""
    raw_until: datetime | None
    """When the inbox may remove the newest of these batches at the earliest; None without any."""
    snapshot_seconds: int
    """For how many seconds files that no version needs any more are kept for queries under way."""
    versions: tuple[int, ...]
    """The running deployments that have the data source."""


def find_row_traces(core: Core, batches: BatchLog, name: str) -> RowTraces:
    """The traces of a data source. Raises NotFound."""
    live = core.board.readable("live")
    landing = live.manifest.landing(name)
    if landing is None:
        known = [each.name for each in live.manifest.bindings]
        raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, known))
    stream, rows = landing.stream, core.warehouse.registry.readable
    first, head = max(batches.first(stream), 1), batches.head(stream)
    received = batches.last_received_at(stream)
    kept = timedelta(seconds=core.settings.maintenance.inbox_seconds)
    return RowTraces(
        rows(landing.table).rows,
        tuple(DerivedRows(each, rows(_table(live.manifest, each)).rows) for each in live.manifest.derived_names(name)),
        find_copied_rows(core.projects.load(live).project, name),
        rows(f"{stream}__quarantine").rows,
        batches.rows_between(stream, first - 1, head),
        received + kept if received is not None else None,
        core.settings.maintenance.snapshot_seconds,
        tuple(each.id for each in core.board.running.deployments if _has_stream(each, stream)),
    )


def find_copied_rows(project: Project, name: str) -> tuple[CopiedRows, ...]:
    """What copies fill from a data source, also through views and other copies; where it is only named, that counts."""
    reached, found = {name}, set[CopiedRows]()
    while True:
        before = len(reached)
        for pipe in project.pipes:
            target = _target(pipe)
            if target is None or not reached & with_upstream(project, [pipe.name]):
                continue
            reached.add(target)
            if pipe.copies is not None and target != name:
                found.add(CopiedRows(target, pipe.name, pipe.copies.mode))
        if len(reached) == before:
            return tuple(sorted(found, key=lambda each: (each.name, each.pipe)))


def _target(pipe: Pipe) -> str | None:
    """The data source that a pipe writes into."""
    kinds = (node.kind for node in pipe.nodes if isinstance(node.kind, (Copied, Materialized)))
    return next((kind.datasource for kind in kinds), None)


def _table(manifest: Manifest, name: str) -> str:
    bound = manifest.binding(name)
    assert bound is not None, "it is a data source of the manifest"
    return bound.table


def _has_stream(deployment: Deployment, stream: str) -> bool:
    return bool(deployment.manifest.landings_of(stream))
