"""Health, status and metrics of the server.

In: nothing. Out: JSON, or the text format of Prometheus. Invariant: /health, /health/live and /health/ready need no
token and answer from memory, from the first moment and in every outage; they name no table and no machine (digests of
the machine and the folder let a client see whether it is the server that it means).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from penstock import __version__
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost

if TYPE_CHECKING:
    from penstock.deploy.health import HealthCheck


def show_health(host: PipelineHost, request: Request) -> Response:
    """`GET /health`: 200 when the pipeline runs, else 503; the body has the current phase and the checks."""
    shown = {
        "status": "ok" if host.ready else "unavailable",
        "phase": host.phase,
        "seconds": round(host.seconds, 1),
        "version": __version__,
        "checks": _checks_to_json(host.checks()),
        **({"identity": host.identity.as_json()} if host.identity is not None else {}),
    }
    return json_response(shown, 200 if host.ready else 503)


def show_liveness(host: PipelineHost, request: Request) -> Response:
    """`GET /health/live`: 200 as long as the process answers; a server for which it does not is to be restarted."""
    return json_response({"status": "ok", "seconds": round(host.seconds, 1)})


def show_readiness(host: PipelineHost, request: Request) -> Response:
    """`GET /health/ready`: 200 if posts and queries can be served (`ready`; `degraded` if a check fails that stops
    neither), else 503 with the reasons."""
    checks = host.checks()
    reasons = [each.reason for each in checks if not each.ok]
    serves = host.ready and not any(each.stops for each in checks if not each.ok)
    status = "unavailable" if not serves else "degraded" if reasons else "ready"
    if not host.ready:
        reasons.insert(0, f"the server is not ready: {host.phase}")
    shown = {"status": status, "phase": host.phase, "reasons": reasons, "checks": _checks_to_json(checks)}
    return json_response(shown, 200 if serves else 503)


def show_status(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/status`."""
    found = host.pipeline.monitor.status()
    return json_response({"version": __version__, "seconds": round(host.seconds, 1), **found})


def show_metrics(host: PipelineHost, request: Request) -> Response:
    """`GET /metrics`."""
    return Response(host.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _checks_to_json(checks: tuple[HealthCheck, ...]) -> list[dict[str, object]]:
    return [{"check": each.name, "ok": each.ok, "reason": each.reason} for each in checks]
