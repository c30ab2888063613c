"""Copies, sinks and their jobs over HTTP.

In: a pipe's name and parameters, or a job's number. Out: jobs as JSON. Invariant: a run that was answered with 202 is
recorded: its job runs even if the server ends before it.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import NotFound
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.serve.http.audited_call import name_target
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import (
    deployment_parameter,
    invalid_request_parameter,
    parameter_texts,
    template_parameters,
)
from penstock.state.jobs import Job
from penstock.state.schema import MAX_ROW_ID
from penstock.template.general_parameters import GENERAL_PARAMETERS
from penstock.template.render_frame import Parameter

MOST_JOBS = 100
"""The most jobs that are listed."""


def run_copy(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/pipes/NAME/copy?param=…`: run it."""
    pipeline, name = host.pipeline, request.path_params["name"]
    made = pipeline.copies.run(name, _copy_parameters(request))
    name_target(request, f"{name}, job {made.id}")
    return json_response({"job": job_to_json(made)}, 202)


def run_sink(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/pipes/NAME/sink?deployment=…&param=…`: run it, for live unless another version is named."""
    name, sent = request.path_params["name"], template_parameters(request)
    ref = deployment_parameter(parameter_texts(sent))
    given = {key: each for key, each in sent.items() if key not in GENERAL_PARAMETERS}
    made = host.pipeline.sinks.run(name, given, ref, request.state.token.name)
    name_target(request, f"{name}, job {made.id}")
    return json_response({"job": job_to_json(made)}, 202)


def run_range(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/pipes/NAME/ranges?param=…`: run it for a range, which the parameters name, once."""
    name = request.path_params["name"]
    made = host.pipeline.copies.run_range(name, _copy_parameters(request))
    name_target(request, f"{name}, job {made.id}")
    return json_response({"job": job_to_json(made)}, 202)


def list_ranges(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/pipes/NAME/ranges`: its jobs for ranges, the oldest first."""
    found = host.pipeline.store.jobs.ranges_of(request.path_params["name"])
    return json_response({"jobs": list(map(job_to_json, found))})


def list_jobs(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/jobs`: the newest first."""
    jobs = host.pipeline.store.jobs
    found = jobs.recent(MOST_JOBS)
    return json_response({"jobs": list(map(job_to_json, found))})


def show_job(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/jobs/ID`."""
    pipeline, id = host.pipeline, _job_id(request)
    return json_response(job_to_json(pipeline.store.jobs.get(id)))


def cancel_job(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/jobs/ID/cancel`."""
    pipeline, id = host.pipeline, _job_id(request)
    return json_response(job_to_json(pipeline.copies.cancel(id)))


def job_to_json(job: Job) -> dict[str, object]:
    """A job as JSON; times in UTC."""
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
        "mode": job.mode,
        "error": job.error,
    }


def _copy_parameters(request: Request) -> dict[str, Parameter]:
    """The parameters of the copy's templates. Raises InvalidRequest for a version other than live."""
    sent = template_parameters(request)
    if deployment_parameter(parameter_texts(sent)) != "live":
        raise invalid_request_parameter(
            "deployment", "a copy reads the live version only; its rows go to every running version"
        )
    return {key: value for key, value in sent.items() if key not in GENERAL_PARAMETERS}


def _job_id(request: Request) -> int:
    text = request.path_params["id"]
    found = parse_whole_number(text)
    if found is None or found > MAX_ROW_ID:
        raise NotFound(f"there is no job `{text[:60]}`", hint="`penstock job ls` lists them")
    return found
