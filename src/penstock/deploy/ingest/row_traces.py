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
from penstock.state.batches import BatchLog


@dataclass(frozen=True, slots=True)
class DerivedRows:
    """A data source that materialized views compute from another one."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class RowTraces:
    """What there is of a data source."""

    rows: int
    derived: tuple[DerivedRows, ...]
    """The data sources that materialized views fed with its rows, directly or through others; they keep theirs."""
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
        tuple(DerivedRows(each, rows(table).rows) for each, table in _derived(live.manifest, landing.table)),
        rows(f"{stream}__quarantine").rows,
        batches.rows_between(stream, first - 1, head),
        received + kept if received is not None else None,
        core.settings.maintenance.snapshot_seconds,
        tuple(each.id for each in core.board.running.deployments if _has_stream(each, stream)),
    )


def _derived(manifest: Manifest, table: str) -> list[tuple[str, str]]:
    """The data sources below a table, each with its own."""
    return sorted((manifest.name_of(each), each) for each in manifest.table_graph.downstream(table) if each != table)


def _has_stream(deployment: Deployment, stream: str) -> bool:
    return bool(deployment.manifest.landings_of(stream))
