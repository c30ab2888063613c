"""The answer of `GET /v0/status`: the running deployments, their progress, and what fails.

In: the parts of a running pipeline. Out: JSON values. Invariant: what fails is read at the moment of the call, from
memory; the rest from records and tables, and if these do not answer, it is what they answered last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.deploy.failing_flows import failing_flows
from penstock.deploy.health import HealthCheck
from penstock.deploy.lifecycle.deployment_events import backfill_progress, reason_for_waiting
from penstock.deploy.lifecycle.drift_watch import Drift
from penstock.deploy.maintenance.maintained_tables import MaintenanceCounts
from penstock.deploy.runtime.background_reading import Reading
from penstock.deploy.runtime.bridged_columns import materialized_share
from penstock.deploy.runtime.core import Core
from penstock.flow.lag import find_lags
from penstock.model.deployment import CANDIDATES, Deployment
from penstock.state.batches import BatchLog

MOST_DAMAGED = 50
"""The most damaged batches that are listed."""


def pipeline_status(
    core: Core, batches: BatchLog, drift: Iterable[Drift], maintenance: MaintenanceCounts
) -> dict[str, object]:
    """Streams, running deployments, the worker process, failures, damaged batches, drift and maintenance."""
    flows = core.flows
    heads = flows.arrivals.heads
    return {
        "failures": _failures(core),
        "streams": dict(heads),
        "deployments": [_deployment_status(core, each, heads) for each in core.board.running.deployments],
        "apart": {"process": flows.worker.process, "tables": sorted(frozenset().union(*flows.worker.tables.values()))},
        "damaged": [
            {"stream": each.stream, "batch": each.number, "rows": each.rows, "damage": each.damage}
            for each in batches.list_condemned(MOST_DAMAGED)
        ],
        "drift": [each.as_json() for each in drift],
        "maintenance": maintenance.as_json(),
    }


def status_in_outage(
    core: Core, reading: Reading[dict[str, object]], checks: Iterable[HealthCheck]
) -> dict[str, object]:
    """The last status that could be read, with what fails now; `stale_seconds` is its age if it is not of now."""
    found = reading.value if reading.value is not None else _status_without_store(core)
    shown = [{"check": each.name, "ok": each.ok, "reason": each.reason, "details": each.details} for each in checks]
    age = round(reading.age, 1) if reading.problem is not None else 0.0
    return {
        "failures": _failures(core),
        **{name: value for name, value in found.items() if name != "failures"},
        "checks": shown,
        "stale_seconds": age,
        "stale_because": reading.problem,
    }


def _status_without_store(core: Core) -> dict[str, object]:
    """What is in memory, if nothing could be read since the start."""
    unknown: dict[str, object] = {"tables": {}, "behind": [], "filling": [], "waits": None}
    return {
        "streams": dict(core.flows.arrivals.heads),
        "deployments": [
            {
                "id": each.id,
                "name": each.name,
                "state": each.state,
                "paused": each.paused,
                "stale": is_stale(each, core.board.live()),
                **unknown,
            }
            for each in core.board.running.deployments
        ],
        "apart": {"process": core.flows.worker.process, "tables": []},
        "damaged": [],
        "drift": [],
        "maintenance": MaintenanceCounts().as_json(),
    }


def _failures(core: Core) -> list[dict[str, object]]:
    return [each.as_json() for each in failing_flows(core.flows, core.board)]


def is_stale(deployment: Deployment, live: Deployment | None) -> bool:
    """Whether it is a candidate that another version has overtaken: it cannot be promoted any more."""
    return deployment.state in CANDIDATES and deployment.base != (live.id if live is not None else None)


def _deployment_status(core: Core, deployment: Deployment, heads: Mapping[str, int]) -> dict[str, object]:
    registry = core.warehouse.registry
    histories = backfill_progress(core.store, core.warehouse, deployment)
    return {
        "id": deployment.id,
        "name": deployment.name,
        "state": deployment.state,
        "paused": deployment.paused,
        "stale": is_stale(deployment, core.board.live()),
        "tables": {
            bound.name: {
                "table": bound.table,
                "rows": registry.readable(bound.table).rows,
                "settled": materialized_share(bound),
            }
            for bound in deployment.manifest.bindings
        },
        "behind": [
            {
                "table": each.table,
                "name": deployment.manifest.name_of(each.table),
                "flow": each.flow,
                "stream": each.stream,
                "batches": each.head - each.at,
                "seconds": round(core.flows.arrivals.seconds_waiting(each.stream, each.at), 1),
            }
            for each in find_lags(registry, deployment.manifest, heads)
        ],
        "filling": [each.data for each in histories if not each.done and each.all.rows],
        "waits": reason_for_waiting(core.flows, deployment),
    }
