"""Which histories are filled beside live's flows, and which in a Spark process of their own.

In: a deployment and its plan. Out: tables for `apart`. Called by executor and pipeline. Invariant: where a
history is filled changes nothing about what is filled: the cursors in the tables say how far it is.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from penstock.deploy.apart import DEATHS
from penstock.deploy.core import Core
from penstock.flow.landing import LandingTable
from penstock.flow.scheduler import LONGEST_WAIT, Failure
from penstock.flow.work import PRIORITY, Work
from penstock.model.cursor import Tail
from penstock.model.deployment import Deployment
from penstock.model.manifest import Copy, View


def fill(core: Core, deployment: Deployment, threshold: int) -> None:
    """Give the deployment's histories a process of their own if the plan reads more bytes than that."""
    moved = deployment.plan.get("bytes_moved", 0)
    if deployment.paused or not isinstance(moved, int) or moved <= threshold:
        return
    tables = filling(core, deployment)
    if tables:
        core.apart.begin(deployment.id, tables, "complete")


def filling(core: Core, deployment: Deployment) -> frozenset[str]:
    """The tables of a deployment with a history that is not complete."""
    return frozenset(
        flow.table
        for flow in deployment.manifest.flows
        if isinstance(flow, (Copy, View)) and not isinstance(core.registry.cursor(flow.table, flow.id), Tail)
    )


def outgrow(core: Core, work: Work) -> None:
    """A step for a deployment that is not live took too long beside live's: let it take its time elsewhere.
    A table that rows land in stays: its landing is everybody's."""
    if not isinstance(work.run, LandingTable) and not _lands(core, work.table):
        core.apart.begin(work.deployments[0], [work.table], "idle")


def spare_live(core: Core) -> None:
    """After a start: what was under way, for versions that are not live, when Spark's process ended goes
    on apart; what was so too often does not go on by itself."""
    for work in core.scheduler.work:
        deaths = core.attempts.deaths.get(work.key, 0)
        if deaths and work.priority > PRIORITY["previous"]:
            if deaths >= DEATHS or _lands(core, work.table):
                message = f"Spark's process ended {deaths} times in the middle of its steps (out of memory?)"
                wait = LONGEST_WAIT * 60 if deaths >= DEATHS else LONGEST_WAIT
                core.scheduler.report(work.key, Failure(message, deaths, time.monotonic() + wait))
            else:
                core.apart.begin(work.deployments[0], [work.table], "idle")


def _lands(core: Core, table: str) -> bool:
    return table in _landed(core.board.running.deployments)


def _landed(deployments: Collection[Deployment]) -> set[str]:
    return {landing.table for each in deployments for landing in each.manifest.landings}
