"""The audit log over HTTP.

In: how many entries. Out: the latest ones as JSON. Invariant: needs the state store only: it answers before the first
deployment, and while Spark is away.
"""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import invalid_request_parameter

MOST_ENTRIES = 10_000
"""The most entries that are listed."""


def list_audit_log(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/audit?limit=100`: the newest first."""
    limit = parse_whole_number(request.query_params.get("limit", "100"))
    if limit is None or not 0 < limit <= MOST_ENTRIES:
        raise invalid_request_parameter("limit", f"a whole number from 1 to {MOST_ENTRIES:,}")
    return json_response({"entries": [asdict(each) for each in host.pipeline.audit.recent(limit)]})
