"""Quarantines over HTTP: why rows were rejected, posting them again, and removing them.

In: the name of a data source. Out: a report as JSON, a job, or how many rows were removed. Invariant: a handler only
calls the part that does the work; a replay that was answered with 202 runs even if the server ends before it.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from penstock.serve.calls.jobs import job_to_json
from penstock.serve.http.audited_call import name_target
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import deployment_parameter, limit_parameter

USUAL_ROWS, MOST_ROWS = 20, 1_000


def show_quarantine(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/datasources/NAME/quarantine?limit=…`: the reasons, and the newest rows."""
    ref, limit = (
        deployment_parameter(request.query_params),
        limit_parameter(request.query_params, USUAL_ROWS, MOST_ROWS),
    )
    found = host.pipeline.quarantines.describe(request.path_params["name"], ref, limit)
    return json_response(
        {
            "rows": found.rows,
            "reasons": [{"column": each.column, "reason": each.text, "rows": each.rows} for each in found.reasons],
            "newest": [
                {"inserted_at": moment, "raw": raw, "problems": problems} for moment, raw, problems in found.newest
            ],
        }
    )


def replay_quarantine(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/datasources/NAME/quarantine/replay`: post the rows again that fit live now."""
    name = request.path_params["name"]
    made = host.pipeline.copies.replay(name)
    name_target(request, f"{name}, job {made.id}")
    return json_response({"job": job_to_json(made)}, 202)


def clear_quarantine(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/datasources/NAME/quarantine/clear`: remove the rows that live shows in the quarantine."""
    name = request.path_params["name"]
    removed = host.pipeline.quarantines.clear(name)
    name_target(request, f"{name}, {removed} rows")
    return json_response({"removed_rows": removed})
