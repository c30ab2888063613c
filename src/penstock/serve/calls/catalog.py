"""Data sources and endpoints of a deployment.

In: a reference to a deployment. Out: names, columns and row counts as JSON. Invariant: lists what queries of that
deployment can read, and only names that the token may read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import NotFound, did_you_mean
from penstock.model.deployment import Deployment
from penstock.model.manifest import Binding
from penstock.model.pipe import Copied, Exported, Materialized, Pipe
from penstock.model.project import Project
from penstock.plan.diff.resource_kinds import pipe_kind
from penstock.serve.http.access import may_read
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import deployment_parameter, invalid_request_parameter
from penstock.template.declared_parameters import parameters_of

PIPE_KINDS = ("endpoint", "materialized", "copy", "sink", "pipe")
ANY_KIND = "any"


def list_datasources(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/datasources`."""
    found, rows = _find_with_rows(host, request)
    shows = may_read(request)
    listed = [_datasource_json(binding, rows) for binding in found.manifest.bindings if shows(binding.name)]
    return json_response({"datasources": sorted(listed, key=lambda each: str(each["name"]))})


def show_datasource(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/datasources/NAME`."""
    found, rows = _find_with_rows(host, request)
    name = request.path_params["name"]
    binding = found.manifest.binding(name)
    if binding is None:
        known = [each.name for each in (*found.manifest.bindings, *found.manifest.quarantines)]
        raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, known))
    columns = [{"name": column.name, "type": str(column.type)} for column in binding.columns]
    return json_response({**_datasource_json(binding, rows), "columns": columns})


def list_pipes(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/pipes`: the endpoints; `?kind=copy`: the pipes of another kind, or of `any`."""
    given = request.query_params.get("kind")
    wanted = given or "endpoint"
    if wanted != ANY_KIND and wanted not in PIPE_KINDS:
        raise invalid_request_parameter("kind", f"one of {', '.join((*PIPE_KINDS, ANY_KIND))}")
    found = host.pipeline.store.find(deployment_parameter(request.query_params))
    project = host.pipeline.projects.load(found).project
    shows = may_read(request)
    pipes = [pipe for pipe in project.pipes if shows(pipe.name) and wanted in (ANY_KIND, pipe_kind(pipe))]
    if given is None:
        return json_response({"pipes": [{"name": pipe.name, "description": pipe.description} for pipe in pipes]})
    return json_response({"pipes": [_pipe_json(project, pipe) for pipe in pipes]})


def _pipe_json(project: Project, pipe: Pipe) -> dict[str, object]:
    """A pipe; `target` is the data source that it writes, or the place of a sink; `schedule` is that of a copy or a
    sink, `mode` and `parameters` are those of a copy."""
    kinds = [node.kind for node in pipe.nodes]
    target = next((kind.datasource for kind in kinds if isinstance(kind, (Copied, Materialized))), None)
    copies, exported = pipe.copies, next((kind for kind in kinds if isinstance(kind, Exported)), None)
    return {
        "name": pipe.name,
        "kind": pipe_kind(pipe),
        "description": pipe.description,
        "target": exported.place if exported else target,
        "schedule": copies.schedule if copies else exported.schedule if exported else None,
        "mode": copies.mode if copies else None,
        "parameters": [
            {"name": each.name, "type": each.type, "required": each.is_required}
            for each in (parameters_of(project, pipe) if copies else ())
        ],
    }


def _find_with_rows(host: PipelineHost, request: Request) -> tuple[Deployment, Mapping[str, Any]]:
    """The deployment that a call is about, and the status of its tables by the name of their data source."""
    pipeline, ref = host.pipeline, deployment_parameter(request.query_params)
    found = pipeline.store.find(ref)
    running = cast("list[dict[str, Any]]", pipeline.monitor.status()["deployments"])
    return found, next((each["tables"] for each in running if each["id"] == found.id), {})


def _datasource_json(binding: Binding, rows: Mapping[str, Any]) -> dict[str, object]:
    return {"name": binding.name, "table": binding.table, "rows": rows.get(binding.name, {}).get("rows")}
