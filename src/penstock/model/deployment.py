"""A deployment: one version of a project, from plan to retirement.

In: records of the state store. Out: `Deployment`, `State`. Called by state, deploy, serve.
Invariant: `state` changes only by the moves of `deploy/lifecycle/states.py`.
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
"""The states in which a deployment's flows run."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """`base` is the id of the deployment that was live when this one was planned; `files` the
    project as text by relative path; `plan` the plan's JSON; `error` the problem that failed it; `paused`
    that nothing is done that only this deployment needs."""

    id: int
    name: str
    state: DeploymentState
    base: int | None
    created_at: datetime
    updated_at: datetime
    files: Mapping[str, str]
    plan: Mapping[str, object]
    manifest: Manifest
    error: Mapping[str, object] | None = None
    paused: bool = False
