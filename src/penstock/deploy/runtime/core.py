"""`Core`: the opened parts of a running pipeline in one value, for functions that need nearly all of them.

In: the parts that `pipeline` opened. Out: `Core`. Invariant: holds references only and decides nothing; a function that
needs only one or two of the parts gets those instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.suspect_queries import SuspectQueries
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Core:
    """The parts of a running pipeline."""

    settings: Settings
    warehouse: Warehouse
    """The tables."""
    store: StateStore
    """The records."""
    flows: RunningFlows
    """What moves rows."""
    board: DeploymentBoard
    """The running deployments."""
    projects: ProjectCache
    """The parsed projects of deployments."""
    suspects: SuspectQueries
    """The queries that run, and those that may end Spark."""
