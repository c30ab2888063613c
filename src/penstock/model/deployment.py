"""A deployment: one version of a project, from its plan until it is retired.

In: records of the state store. Out: `Deployment` and `DeploymentState`. Invariant: the state changes only along
the transitions that `deploy/lifecycle/states.py` lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from penstock.model.manifest import Manifest
from penstock.model.quick_dataclass import dataclass

DeploymentState: TypeAlias = Literal[
    "planned", "preparing", "backfilling", "ready", "live", "previous", "retired", "failed", "discarded"
]

ALL_STATES: tuple[DeploymentState, ...] = get_args(DeploymentState)
RUNNING: tuple[DeploymentState, ...] = ("backfilling", "ready", "live", "previous")
"""States in which the flows of a deployment run."""
CANDIDATES: tuple[DeploymentState, ...] = ("planned", "preparing", "backfilling", "ready")
"""States of a deployment that may still become live."""


@dataclass(frozen=True, slots=True)
class DeploymentRecord:
    """What lists and checks of states need of a deployment: everything but its files, plan and manifest, which may be
    megabytes."""

    id: int
    name: str
    state: DeploymentState
    base: int | None
    """The id of the deployment that was live when this one was planned."""
    created_at: datetime
    updated_at: datetime
    error: Mapping[str, object] | None
    """Why the deployment failed."""
    paused: bool
    rows_moved: int | None
    bytes_moved: int | None
    """What its plan moves; None if the plan does not know."""


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

    @property
    def rows_moved(self) -> int | None:
        """The rows that its plan moves; None if the plan does not know."""
        return _whole_number(self.plan.get("rows_moved"))

    @property
    def bytes_moved(self) -> int | None:
        return _whole_number(self.plan.get("bytes_moved"))


def _whole_number(value: object) -> int | None:
    return value if isinstance(value, int) else None
