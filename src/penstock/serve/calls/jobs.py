"""Copies and their jobs over HTTP.

In: a copy's name and parameters, or a job's number. Out: jobs as JSON. Called by `app`. Invariant: what answers 202
is kept: the job runs, whatever becomes of the server.
"""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import NotFound
from penstock.integer_parsing import parse_whole_number
from penstock.serve.http.pipeline_host import Host, in_lane
from penstock.serve.http.request_parameters import OURS, deployment, template_parameters, texts, wrong
from penstock.state.jobs import Job
from penstock.state.schema import MAX_ROW_ID


async def copy(host: Host, request: Request) -> Response:
    """`POST /v0/pipes/NAME/copy?param=…`: run it."""
    pipeline, name = host.pipeline, request.path_params["name"]
    sent = await template_parameters(request)
    if deployment(texts(sent)) != "live":
        raise wrong("deployment", "a copy runs over the live version, and feeds every other one")
    given = {key: value for key, value in sent.items() if key not in OURS}
    made = await in_lane(host.lanes.control, lambda: pipeline.copy(name, given))
    return _answer({"job": as_json(made)}, 202)


async def listed(host: Host, request: Request) -> Response:
    """`GET /v0/jobs`: the newest first."""
    found = await in_lane(host.lanes.control, host.pipeline.jobs)
    return _answer({"jobs": list(map(as_json, found))})


async def shown(host: Host, request: Request) -> Response:
    """`GET /v0/jobs/ID`."""
    pipeline, id = host.pipeline, _id(request)
    return _answer(as_json(await in_lane(host.lanes.control, lambda: pipeline.job(id))))


async def cancel(host: Host, request: Request) -> Response:
    """`POST /v0/jobs/ID/cancel`."""
    pipeline, id = host.pipeline, _id(request)
    return _answer(as_json(await in_lane(host.lanes.control, lambda: pipeline.cancel(id))))


def as_json(job: Job) -> dict[str, object]:
    """A job as every surface shows it; moments in UTC."""
    return {
        "id": job.id,
        "kind": job.kind,
        "pipe": job.pipe,
        "datasource": job.datasource,
        "status": job.state,
        "parameters": job.parameters,
        "due_at": job.due_at,
        "created_at": job.created_at,
        "updated_at": job.updated_at,
        "deployment": job.deployment,
        "rows": job.rows,
        "error": job.error,
    }


def _id(request: Request) -> int:
    text = request.path_params["id"]
    found = parse_whole_number(text)
    if found is None or found > MAX_ROW_ID:
        raise NotFound(f"there is no job `{text[:60]}`", hint="`penstock job ls` lists them")
    return found


def _answer(document: object, status: int = 200) -> Response:
    return Response(orjson.dumps(document), status_code=status, media_type="application/json")
