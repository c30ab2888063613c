"""What a deployment is carried out with: the few functions that need nearly everything get this one value.

In: what `pipeline` opened. Out: `Core`. Invariant: holds references only and decides nothing; a function that
needs one or two of its values is given those, not the core.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.deploy.runtime.deployment_board import DeploymentBoard
from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Core:
    """The settings, the tables, the records, the flows, and the deployments that run."""

    settings: Settings
    warehouse: Warehouse
    store: StateStore
    flows: RunningFlows
    board: DeploymentBoard
    projects: ProjectCache
