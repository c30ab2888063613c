"""Deployments as JSON.

In: `Deployment` values. Out: JSON objects. Called by `deployments`. Invariant: the plan is shown as
the planner told it, whatever state the deployment is in.
"""

from __future__ import annotations

from penstock.model.deployment import Deployment


def summary(deployment: Deployment) -> dict[str, object]:
    """A line of the list of deployments."""
    return {
        "id": deployment.id,
        "name": deployment.name,
        "state": deployment.state,
        "paused": deployment.paused,
        "base": deployment.base,
        "created_at": deployment.created_at.isoformat(),
        "updated_at": deployment.updated_at.isoformat(),
        "rows_moved": deployment.plan.get("rows_moved"),
        "bytes_moved": deployment.plan.get("bytes_moved"),
        "error": deployment.error,
    }


def record(deployment: Deployment) -> dict[str, object]:
    """A deployment with its plan and problems."""
    problems = deployment.plan.get("problems", [])
    return {**summary(deployment), "plan": deployment.plan, "problems": problems, "files": sorted(deployment.files)}
