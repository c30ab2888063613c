"""A deployment: one version of a project, from its plan until it is retired.

In: records of the state store. Out: `Deployment` and `DeploymentState`. Invariant: the state changes only along
the transitions that `deploy/lifecycle/states.py` lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from penstock.model.manifest import Manifest

DeploymentState: TypeAlias = Literal[
    "planned", "preparing", "backfilling", "ready", "live", "previous", "retired", "failed", "discarded"
]

RUNNING: tuple[DeploymentState, ...] = ("backfilling", "ready", "live", "previous")
"""States in which the flows of a deployment run."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One version of a project."""

    id: int
    name: str
    state: DeploymentState
    base: int | None
    """The id of the deployment that was live when this one was planned."""
    created_at: datetime
    updated_at: datetime
    files: Mapping[str, str]
    """The project's files as text, by relative path."""
    plan: Mapping[str, object]
    """The plan as JSON."""
    manifest: Manifest
    error: Mapping[str, object] | None = None
    """Why the deployment failed."""
    paused: bool = False
    """Flows that only this deployment needs do not run."""
