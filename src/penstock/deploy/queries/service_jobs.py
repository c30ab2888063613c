"""The rows of `penstock.jobs_log`: copies and replays, deployments, and changes of rows, as jobs of the format.

In: the records of jobs, deployments and audited actions. Out: rows by column, newest first. Invariant: each is listed
once; `status` is one of the format's: waiting, working, done, error, cancelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import orjson

from penstock.deploy.runtime.state_store import StateStore
from penstock.errors import PenstockError
from penstock.model.deployment import DeploymentRecord, DeploymentState
from penstock.state.jobs import Job, JobState
from penstock.state.logs.audit_log import BEGUN, DONE, AuditEntry

JOB_STATUS: Mapping[JobState, str] = {
    "waiting": "waiting",
    "reading": "working",
    "appending": "working",
    "done": "done",
    "failed": "error",
    "cancelled": "cancelled",
}
DEPLOYMENT_STATUS: Mapping[DeploymentState, str] = {
    "planned": "waiting",
    "preparing": "working",
    "backfilling": "working",
    "ready": "done",
    "live": "done",
    "previous": "done",
    "retired": "done",
    "failed": "error",
    "discarded": "cancelled",
}
ROW_CHANGES: Mapping[str, str] = {"delete rows": "delete", "truncate": "truncate", "clear quarantine": "clear"}
"""The actions that change rows without a job of their own, by the name that the audit log has for them."""


def list_jobs(store: StateStore, most: int) -> list[Mapping[str, object]]:
    """The latest jobs of all kinds, `most` of each at most."""
    copies = map(_job_row, store.jobs.recent(most))
    deployments = map(_deployment_row, store.deployments.list(most))
    changes = [_change_row(entry) for entry in store.audit.recent(most) if entry.action in ROW_CHANGES]
    return sorted([*copies, *deployments, *changes], key=_created, reverse=True)


def _created(row: Mapping[str, object]) -> datetime:
    created = row["created_at"]
    assert isinstance(created, datetime), "each kind of job has that column"
    return created


def _job_row(job: Job) -> Mapping[str, object]:
    metadata = {
        "pipe_name": job.pipe,
        "datasource_name": job.datasource,
        "parameters": dict(job.parameters),
        "mode": job.mode,
        "rows": job.rows,
        "deployment": job.deployment,
        "scheduled": job.due_at is not None,
    }
    return {
        "job_id": str(job.id),
        "job_type": job.kind,
        "pipe_id": job.pipe,
        "pipe_name": job.pipe,
        "datasource_id": job.datasource,
        "datasource_name": job.datasource,
        "created_at": job.created_at,
        "started_at": job.created_at,
        "updated_at": job.updated_at,
        "status": JOB_STATUS[job.state],
        "error": _error_text(job.error),
        "job_metadata": orjson.dumps(metadata, default=str).decode(),
        "id": job.id,
        "kind": job.kind,
        "pipe": job.pipe,
        "datasource": job.datasource,
        "state": job.state,
        "parameters": orjson.dumps(dict(job.parameters), default=str).decode(),
        "due_at": job.due_at,
        "deployment": job.deployment,
        "rows": job.rows,
    }


def _deployment_row(found: DeploymentRecord) -> Mapping[str, object]:
    metadata = {"deployment": found.id, "name": found.name, "state": found.state, "rows": found.rows_moved}
    return {
        "job_id": f"deployment-{found.id}",
        "job_type": "deployment",
        "created_at": found.created_at,
        "started_at": found.created_at,
        "updated_at": found.updated_at,
        "status": DEPLOYMENT_STATUS[found.state],
        "error": _error_text(found.error),
        "job_metadata": orjson.dumps(metadata).decode(),
        "id": found.id,
        "kind": "deployment",
        "state": found.state,
        "deployment": found.id,
        "rows": found.rows_moved,
    }


def _change_row(entry: AuditEntry) -> Mapping[str, object]:
    kind, name = ROW_CHANGES[entry.action], entry.target.partition(",")[0].strip()
    status = {BEGUN: "working", DONE: "done"}.get(entry.outcome, "error")
    return {
        "job_id": f"{kind}-{entry.request_id}",
        "job_type": kind,
        "datasource_id": name,
        "datasource_name": name,
        "request_id": entry.request_id,
        "created_at": entry.began_at,
        "started_at": entry.began_at,
        "updated_at": entry.began_at + timedelta(seconds=entry.elapsed_time),
        "status": status,
        "error": entry.outcome if status == "error" else None,
        "job_metadata": orjson.dumps({"datasource_name": name, "target": entry.target}).decode(),
        "kind": kind,
        "datasource": name,
        "state": entry.outcome,
        "parameters": "",
    }


def _error_text(error: Mapping[str, object] | None) -> str | None:
    """The message of a stored error."""
    return str(error.get("error") or error.get("message") or PenstockError.code) if error is not None else None
