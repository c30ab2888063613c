"""Health, status and metrics of the server.

In: nothing. Out: JSON, or the text format of Prometheus. Invariant: /health needs no token and answers from the first
moment, even while Spark starts.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from penstock import __version__
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost


def show_health(host: PipelineHost, request: Request) -> Response:
    """`GET /health`: 200 when the pipeline runs, else 503; the body has the current phase."""
    shown = {
        "status": "ok" if host.ready else "unavailable",
        "phase": host.phase,
        "seconds": round(host.seconds, 1),
        "version": __version__,
    }
    return json_response(shown, 200 if host.ready else 503)


def show_status(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/status`."""
    found = host.pipeline.status()
    return json_response({"version": __version__, "seconds": round(host.seconds, 1), **found})


def show_metrics(host: PipelineHost, request: Request) -> Response:
    """`GET /metrics`."""
    text = host.metrics.text(host.pipeline.status())
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
