"""The answer of `GET /v0/status`: the running deployments, their progress, and what fails.

In: the parts of a running pipeline. Out: JSON values. Invariant: read from records and tables at the moment of the
call; nothing is kept between two calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.deploy.lifecycle.deployment_events import backfill_progress, reason_for_waiting
from penstock.deploy.lifecycle.drift_watch import Drift
from penstock.deploy.maintenance.column_materialization import materialized_share
from penstock.deploy.maintenance.maintained_tables import MaintenanceCounts
from penstock.deploy.runtime.core import Core
from penstock.flow.lag import find_lags
from penstock.model.deployment import Deployment
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
        "streams": dict(heads),
        "deployments": [_deployment_status(core, each, heads) for each in core.board.running.deployments],
        "apart": {"process": flows.worker.process, "tables": sorted(frozenset().union(*flows.worker.tables.values()))},
        "failures": [
            {"table": table, "flow": flow, "message": failure.message, "attempts": failure.attempts}
            for (table, flow), failure in flows.scheduler.failures.items()
        ],
        "damaged": [
            {"stream": each.stream, "batch": each.number, "rows": each.rows, "damage": each.damage}
            for each in batches.list_condemned(MOST_DAMAGED)
        ],
        "drift": [each.as_json() for each in drift],
        "maintenance": maintenance.as_json(),
    }


def _deployment_status(core: Core, deployment: Deployment, heads: Mapping[str, int]) -> dict[str, object]:
    registry = core.warehouse.registry
    histories = backfill_progress(core.store, core.warehouse, deployment)
    return {
        "id": deployment.id,
        "name": deployment.name,
        "state": deployment.state,
        "paused": deployment.paused,
        "tables": {
            bound.name: {
                "table": bound.table,
                "rows": registry.snapshots(bound.table).rows,
                "settled": materialized_share(bound),
            }
            for bound in deployment.manifest.bindings
        },
        "behind": [
            {"table": each.table, "flow": each.flow, "stream": each.stream, "batches": each.head - each.at}
            for each in find_lags(registry, deployment.manifest, heads)
        ],
        "filling": [each.data for each in histories if not each.done and each.all.rows],
        "waits": reason_for_waiting(core.flows, deployment),
    }
