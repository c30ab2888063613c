"""Jobs of all kinds under the names of the format."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import get_args

import orjson

from penstock.deploy.queries.service_jobs import DEPLOYMENT_STATUS, JOB_STATUS, list_jobs
from penstock.model.deployment import ALL_STATES, DeploymentRecord
from penstock.state.jobs import Job, JobState
from penstock.state.logs.audit_log import AuditEntry

NOW = datetime(2026, 1, 2, tzinfo=timezone.utc)


def test_every_state_has_a_status() -> None:
    assert set(JOB_STATUS) == set(get_args(JobState))
    assert set(DEPLOYMENT_STATUS) == set(ALL_STATES)


def test_copies_deployments_and_changes_of_rows() -> None:
    copy = Job(7, "copy", "snap", "shots", "failed", {"day": "1"}, None, NOW, NOW, error={"error": "no such row"})
    deployed = DeploymentRecord(3, "v3", "live", 2, NOW - timedelta(hours=1), NOW, None, False, 0, 0)
    removed = AuditEntry("delete rows", "shots, 4 rows", "ci", "::1", "r1", outcome="ok", began_at=NOW + timedelta(1))
    promoted = AuditEntry("promote", "3", "ci", "::1", "r2", outcome="ok", began_at=NOW)
    store = SimpleNamespace(
        jobs=SimpleNamespace(recent=lambda most: (copy,)),
        deployments=SimpleNamespace(list=lambda most: (deployed,)),
        audit=SimpleNamespace(recent=lambda most: (removed, promoted)),
    )
    found = list_jobs(store, 10)  # type: ignore[arg-type]
    assert [(each["job_id"], each["job_type"], each["status"]) for each in found] == [
        ("delete-r1", "delete", "done"),
        ("7", "copy", "error"),
        ("deployment-3", "deployment", "done"),
    ]
    assert (found[0]["datasource_name"], found[1]["error"]) == ("shots", "no such row")
    metadata = orjson.loads(str(found[1]["job_metadata"]))
    assert (metadata["pipe_name"], metadata["parameters"]) == ("snap", {"day": "1"})
