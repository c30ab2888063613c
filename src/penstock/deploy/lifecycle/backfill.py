"""Decide which flows the worker process runs: large backfills, slow steps, and steps that ended Spark.

In: a deployment and its plan, or a flow. Out: tables given to the worker. Invariant: it makes no
difference to the rows which process fills a history: the cursors in the tables record the progress.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import partial

from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.deploy.worker.supervisor import DEATHS
from penstock.errors import PenstockError
from penstock.flow.scheduler import MAX_RETRY_WAIT, FlowFailure
from penstock.flow.work_items import PRIORITY, WorkItem
from penstock.model.cursor import TailCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import Copy, View


def move_large_backfill(warehouse: Warehouse, flows: RunningFlows, deployment: Deployment, threshold: int) -> None:
    """Let the worker process fill the deployment's histories if the plan reads more than `threshold` bytes."""
    moved = deployment.plan.get("bytes_moved", 0)
    if deployment.paused or not isinstance(moved, int) or moved <= threshold:
        return
    tables = unfinished_tables(warehouse, flows, deployment)
    if tables:
        flows.worker.begin(deployment.id, tables, "complete")


def unfinished_tables(warehouse: Warehouse, flows: RunningFlows, deployment: Deployment) -> frozenset[str]:
    """The tables with a history that is not complete, without those that the live or the previous version needs."""
    urgent = {work.table for work in flows.scheduler.work if work.priority <= PRIORITY["previous"]}
    return frozenset(
        flow.table
        for flow in deployment.manifest.flows
        if isinstance(flow, (Copy, View)) and not isinstance(warehouse.registry.cursor(flow.table, flow.id), TailCursor)
    ).difference(urgent)


def move_slow_flow(core: Core, work: WorkItem) -> bool:
    """Give a flow to the worker process, if it can run there, after one of its steps took too long beside live's steps,
    or got no memory. The step is counted as a crash of Spark, since cancelling it may end Spark; after a restart the
    flow then does not start beside live again. This runs in the thread of the step, so a new thread waits for the step
    to end."""
    with suppress(PenstockError):  # without the count the flow is only tried once more beside live
        core.store.crash_counts.record_deaths([work.key])
    if not _can_run_in_worker(core.flows, core.board, work):
        return False
    begin = partial(core.flows.worker.begin, work.deployments[0], [work.table], "idle")
    threading.Thread(target=begin, name=f"outgrow {work.table}", daemon=True).start()
    return True


def move_crashing_flows(core: Core) -> None:
    """After a start: flows of versions that are not live, during whose steps Spark's process ended or which took too
    long, continue in the worker process; after DEATHS such steps they are reported as failed, and retried rarely."""
    for work in core.flows.scheduler.work:
        deaths = core.store.crash_counts.deaths.get(work.key, 0)
        if not deaths or work.priority <= PRIORITY["previous"]:
            continue
        if deaths < DEATHS and _can_run_in_worker(core.flows, core.board, work):
            core.flows.worker.begin(work.deployments[0], [work.table], "idle")
        else:
            message = f"{deaths} steps took too long beside live, or Spark's process ended in them (out of memory?)"
            wait = MAX_RETRY_WAIT * 60 if deaths >= DEATHS else MAX_RETRY_WAIT
            core.flows.scheduler.report(work.key, FlowFailure(message, deaths, time.monotonic() + wait))


def _can_run_in_worker(flows: RunningFlows, board: DeploymentBoard, work: WorkItem) -> bool:
    """Whether the worker may write the table: not while rows land in it, since only the server lands rows. (A copy ends
    before the landing into its table begins.)"""
    match work.run:
        case Copy():
            return True
        case View():
            landings = (each for live in board.running.deployments for each in live.manifest.landings)
            return not any(each.table == work.table and flows.arrivals.head(each.stream) for each in landings)
        case _:
            return False
