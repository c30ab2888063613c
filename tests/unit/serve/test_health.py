"""Health and metrics, also while the pipeline's store does not answer."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from penstock.deploy.health import HealthCheck
from penstock.deploy.runtime.background_reading import Reading
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost
from unit.serve.memory import MemoryPipeline

GONE = HealthCheck("store", "the state store has not answered for 12 s", stops=True, details="at db.internal")
LATE = HealthCheck("lag", "rows of live have waited for 45 s")


def test_a_process_lives_before_it_is_ready() -> None:
    client = TestClient(create_app(PipelineHost()))
    assert client.get("/health/live").status_code == 200
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["status"]) == (503, "unavailable")
    assert answer.json()["reasons"] == ["the server is not ready: starting Spark"]


@pytest.mark.parametrize(
    ("checks", "code", "status", "reasons"),
    [
        ((), 200, "ready", []),
        ((LATE,), 200, "degraded", ["rows of live have waited for 45 s"]),
        ((LATE, GONE), 503, "unavailable", [LATE.reason, GONE.reason]),
    ],
)
def test_readiness_says_what_is_wrong(
    client: TestClient,
    pipeline: MemoryPipeline,
    checks: tuple[HealthCheck, ...],
    code: int,
    status: str,
    reasons: list[str],
) -> None:
    pipeline.health.checks = lambda: checks
    answer = client.get("/health/ready", headers={"Authorization": ""})
    assert (answer.status_code, answer.json()["status"], answer.json()["reasons"]) == (code, status, reasons)
    assert "db.internal" not in answer.text, "no machine is named without a token"
    assert client.get("/health/live").status_code == 200
    assert client.get("/health").json()["status"] == "ok", "the pipeline runs"


def test_a_stopping_server_is_not_ready(client: TestClient, host: PipelineHost) -> None:
    host.stop()
    assert client.get("/health/ready").status_code == 503
    assert client.get("/health/live").status_code == 200


def test_metrics_answer_without_figures(
    client: TestClient, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an outage from the very start."""
    monkeypatch.setattr(pipeline, "figures", lambda: Reading(None, 33.0, "no answer for 2 s"))
    pipeline.health.checks = lambda: (GONE,)
    lines = client.get("/metrics").text.splitlines()
    assert 'penstock_check_ok{check="store"} 0.0' in lines
    assert "penstock_figures_age_seconds 33.0" in lines
    assert any(line.startswith("process_resident_memory_bytes ") for line in lines)


def test_a_flow_that_has_caught_up_keeps_its_series(client: TestClient) -> None:
    lines = client.get("/metrics").text.splitlines()
    for name in ("penstock_lag_batches", "penstock_freshness_seconds"):
        assert f'{name}{{deployment="3",flow="landing",stream="flights",table="flights__d1"}} 0.0' in lines
    assert 'penstock_freshness_seconds{deployment="3",flow="view",stream="flights",table="daily__d1"} 1.5' in lines
    assert 'penstock_flow_failures{deployment="3",flow="view",table="daily__d1"} 4.0' in lines
    assert "penstock_live_deployment 3.0" in lines
    assert 'penstock_step_seconds_count{kind="view",outcome="done"} 1.0' in lines
