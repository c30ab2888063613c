"""What a deployment has: its data sources and its endpoints.

In: a deployment's reference. Out: names, columns and rows as JSON. Called by `app`. Invariant: what
is listed is what that deployment's queries may read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson
from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import NotFound, did_you_mean
from penstock.model.deployment import Deployment
from penstock.model.manifest import Binding
from penstock.parse.project_loader import load_files
from penstock.serve.http.access import may_read
from penstock.serve.http.pipeline_host import Host, in_lane
from penstock.serve.http.request_parameters import deployment as asked


async def datasources(host: Host, request: Request) -> Response:
    """`GET /v0/datasources`."""
    found, rows = await _of(host, request)
    shows = may_read(request)
    listed = [_datasource(binding, rows) for binding in found.manifest.bindings if shows(binding.name)]
    return _answer({"datasources": sorted(listed, key=lambda each: str(each["name"]))})


async def datasource(host: Host, request: Request) -> Response:
    """`GET /v0/datasources/NAME`."""
    found, rows = await _of(host, request)
    name = request.path_params["name"]
    binding = found.manifest.binding(name)
    if binding is None:
        known = [each.name for each in (*found.manifest.bindings, *found.manifest.quarantines)]
        raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, known))
    columns = [{"name": column.name, "type": str(column.type)} for column in binding.columns]
    return _answer({**_datasource(binding, rows), "columns": columns})


async def pipes(host: Host, request: Request) -> Response:
    """`GET /v0/pipes`: the endpoints."""
    found, _ = await _of(host, request)
    project = (await in_lane(host.lanes.control, lambda: load_files(found.files))).project
    shows = may_read(request)
    endpoints = [pipe for pipe in project.pipes if pipe.endpoint is not None and shows(pipe.name)]
    listed = [{"name": pipe.name, "description": pipe.description} for pipe in endpoints]
    return _answer({"pipes": listed})


async def _of(host: Host, request: Request) -> tuple[Deployment, Mapping[str, Any]]:
    """The deployment that is asked about, and what the status says of its tables, by name."""
    pipeline, ref = host.pipeline, asked(request.query_params)
    found = await in_lane(host.lanes.control, lambda: pipeline.deployment(ref))
    running = cast("list[dict[str, Any]]", (await in_lane(host.lanes.control, pipeline.status))["deployments"])
    return found, next((each["tables"] for each in running if each["id"] == found.id), {})


def _datasource(binding: Binding, rows: Mapping[str, Any]) -> dict[str, object]:
    return {"name": binding.name, "table": binding.table, "rows": rows.get(binding.name, {}).get("rows")}


def _answer(document: object) -> Response:
    return Response(orjson.dumps(document), media_type="application/json")
