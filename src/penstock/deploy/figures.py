"""The figures of a running pipeline, for `GET /metrics`.

In: the parts of a pipeline. Out: `PipelineFigures`. Invariant: every flow of every running deployment has its lag, 0 if
it is up to date, so that no series ends when a flow catches up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.deploy.ingest.imports.file_import import ImportStatus
from penstock.deploy.ingest.topics.topic_status import TopicStatus
from penstock.deploy.lifecycle.deployment_events import BackfillProgress, backfill_progress
from penstock.deploy.lifecycle.drift_watch import Drift
from penstock.deploy.maintenance.maintained_tables import MaintenanceCounts
from penstock.deploy.runtime.core import Core
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.lag import find_lags
from penstock.model.deployment import Deployment
from penstock.model.manifest import Copy, Flow, Landing
from penstock.state.batches import BatchLog

MOST_DAMAGED = 1_000
"""The most damaged batches that are counted."""


@dataclass(frozen=True, slots=True)
class FlowFigures:
    """One flow of a deployment and one stream that reaches it."""

    deployment: int
    table: str
    flow: str
    stream: str
    """Empty for a history copy."""
    batches: int
    """Batches that it has not processed yet; 1 for a history that is not complete."""
    seconds: float
    """For how long the oldest of them has waited."""
    failures: int
    """Steps that failed in a row."""


@dataclass(frozen=True, slots=True)
class RunningDeployment:
    """A deployment that runs."""

    id: int
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class PipelineFigures:
    """All figures at one moment."""

    streams: Mapping[str, int]
    """The last batch of each stream."""
    inbox_bytes: Mapping[str, int]
    deployments: tuple[RunningDeployment, ...]
    flows: tuple[FlowFigures, ...]
    backfills: tuple[tuple[int, BackfillProgress], ...]
    """The histories of each deployment."""
    steps_under_way: int
    damaged: int
    drifted: Mapping[str, int]
    """Differences of tables that were changed from outside: those that stop a table (`yes`), and others (`no`)."""
    maintenance: MaintenanceCounts
    topics: tuple[TopicStatus, ...] = ()
    """How the topics of data sources are read."""
    imports: tuple[ImportStatus, ...] = ()
    """How the files of data sources are taken."""


def read_figures(
    core: Core, batches: BatchLog, inbox: Inbox, drift: Iterable[Drift], maintenance: MaintenanceCounts
) -> PipelineFigures:
    """Read the figures. Raises what the store and the catalog raise while they are away."""
    running, stops = core.board.running.deployments, [each.difference.stops for each in drift]
    return PipelineFigures(
        streams=core.flows.arrivals.heads,
        inbox_bytes=inbox.waiting_bytes(0),
        deployments=tuple(RunningDeployment(each.id, each.name, each.state) for each in running),
        flows=tuple(found for each in running for found in _flow_figures(core, each)),
        backfills=tuple(
            (each.id, found) for each in running for found in backfill_progress(core.store, core.warehouse, each)
        ),
        steps_under_way=len(core.flows.scheduler.under_way),
        damaged=len(batches.list_condemned(MOST_DAMAGED)),
        drifted={"yes": sum(stops), "no": len(stops) - sum(stops)},
        maintenance=maintenance,
    )


def _flow_figures(core: Core, deployment: Deployment) -> Iterator[FlowFigures]:
    arrivals, manifest = core.flows.arrivals, deployment.manifest
    late = {
        (each.table, each.flow, each.stream): each
        for each in find_lags(core.warehouse.registry, manifest, arrivals.heads)
    }
    failures, carried = core.flows.scheduler.failures, manifest.streams_by_table
    for flow in manifest.flows:
        failure = failures.get((flow.table, flow.id))
        for stream in _streams(flow, carried):
            lag = late.get((flow.table, flow.id, stream))
            yield FlowFigures(
                deployment.id,
                flow.table,
                flow.id,
                stream,
                lag.head - lag.at if lag is not None else 0,
                arrivals.seconds_waiting(stream, lag.at) if lag is not None and stream else 0.0,
                failure.attempts if failure is not None else 0,
            )


def _streams(flow: Flow, carried: Mapping[str, frozenset[str]]) -> Iterable[str]:
    match flow:
        case Copy():
            return ("",)
        case Landing():
            return (flow.stream,)
        case _:
            return sorted(carried[flow.trigger.binding.table])
