"""Rows of a data source over HTTP: append or replace them, and remove some or all of them.

In: the name of a data source, and rows. Out: how many rows fit, or what was removed and where traces of it stay.
Invariant: 202 means that it will happen whatever becomes of the server, 200 (with `wait`) that queries of the live
version see it; the same Idempotency-Key is one change.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.errors import Timeout, did_you_mean
from penstock.serve.calls.deployments import deployment_to_json
from penstock.serve.calls.events import WAIT_SECONDS, idempotency_key, post_events, receipt_response, to_ndjson
from penstock.serve.http.access import require_also
from penstock.serve.http.audited_call import name_target
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import Continued, PipelineHost
from penstock.serve.http.request_body import body_of, decompress
from penstock.serve.http.request_parameters import (
    all_parameters,
    flag_parameter,
    invalid_request_parameter,
    required_parameter,
)

if TYPE_CHECKING:
    from penstock.deploy.ingest.event_ingestion import Receipt

MODES = ("append", "replace")


def post_rows(host: PipelineHost, request: Request) -> Response | Continued:
    """`POST /v0/datasources?name=DS&mode=append|replace&format=…`."""
    parameters = dict(request.query_params)
    name, mode = required_parameter(parameters, "name"), parameters.get("mode", "append").lower()
    name_target(request, f"{name}, {mode}")
    if mode == "append":
        return post_events(host, request)
    if mode != "replace":
        message = f"there is no mode `{mode[:60]}`"
        raise invalid_request_parameter("mode", f"{message}: {did_you_mean(mode, MODES) or 'append or replace'}")
    require_also(request, "deploy", f"replace the rows of `{name}`")
    body = decompress(body_of(request), request.headers.get("content-encoding", ""))
    rows = to_ndjson(body, parameters.get("format"))
    receipt = host.pipeline.replacement.replace(name, rows, idempotency_key(request) or uuid.uuid4().hex)
    if not flag_parameter(parameters, "wait"):
        return receipt_response(receipt, 202)
    return Continued("waits", lambda: receipt_response(host.pipeline.ingestion.wait(receipt, WAIT_SECONDS), 200))


def truncate_datasource(host: PipelineHost, request: Request) -> Response | Continued:
    """`POST /v0/datasources/NAME/truncate`: remove all rows; with `check`, only say what would be left where."""
    pipeline, name, parameters = host.pipeline, request.path_params["name"], dict(request.query_params)
    traces = asdict(pipeline.row_traces(name))
    if flag_parameter(parameters, "check"):
        return json_response({"datasource": name, "truncated": False, "traces": traces})
    receipt = pipeline.replacement.truncate(name, idempotency_key(request) or uuid.uuid4().hex)
    answer = partial(json_response, {"datasource": name, "truncated": True, "traces": traces})
    if not flag_parameter(parameters, "wait", "true"):
        return answer(202)
    return Continued("waits", lambda: _answer_once_gone(host, receipt, answer(200)))


def delete_rows(host: PipelineHost, request: Request) -> Response | Continued:
    """`POST /v0/datasources/NAME/delete` with `where`: remove the rows for which it is true; with `check`, only say how
    many, and what would be left where. With `rebuild`, a deployment then computes anew what views compute from them."""
    pipeline, name, parameters = host.pipeline, request.path_params["name"], all_parameters(request)
    given = parameters.get("where") or parameters.get("delete_condition") or ""
    where = required_parameter({"where": given}, "where")
    waits, rebuilds = flag_parameter(parameters, "wait", "true"), flag_parameter(parameters, "rebuild")
    if rebuilds and not waits:
        raise invalid_request_parameter("wait", "a rebuild begins when the rows are gone: it needs wait=true")
    rows, traces = pipeline.deletion.count(name, where), asdict(pipeline.row_traces(name))
    found = {"datasource": name, "where": where, "rows": rows, "traces": traces}
    name_target(request, f"{name}, {rows} rows")
    if rebuilds:
        found |= {"rebuild": _planned_rebuild(host, name, parameters)}
    if flag_parameter(parameters, "check"):
        return json_response({**found, "deleted": False})
    receipt = pipeline.deletion.delete(name, where, idempotency_key(request) or uuid.uuid4().hex)
    found |= {"deleted": True}
    if not waits:
        return json_response(found, 202)
    if rebuilds:
        return Continued("waits", lambda: _rebuild_once_gone(host, receipt, (name, parameters), found))
    return Continued("waits", lambda: _answer_once_gone(host, receipt, json_response(found)))


def _planned_rebuild(host: PipelineHost, name: str, parameters: Mapping[str, str]) -> dict[str, object] | None:
    """The plan of computing anew what views compute from a data source; None if there is nothing. Raises InvalidProject
    where that would change more than the rows that are deleted, unless it is allowed."""
    allowed = flag_parameter(parameters, "allow_destructive_operations")
    planned = host.pipeline.deployer.rebuild(name, DeployOptions(check=True, allow_destructive=allowed))
    return dict(planned.plan) if planned is not None else None


def _rebuild_once_gone(
    host: PipelineHost, receipt: Receipt, about: tuple[str, Mapping[str, str]], found: Mapping[str, object]
) -> Response:
    """The answer once a rebuild has begun. What may be lost by it was asked before the rows were deleted."""
    (name, parameters), pipeline = about, host.pipeline
    try:
        pipeline.ingestion.wait(receipt, WAIT_SECONDS)
    except Timeout as error:
        raise Timeout(
            f"the rows of `{name}` will be removed, which takes long: nothing is rebuilt yet",
            hint="once `penstock status` shows no lag, repeat it with --rebuild --allow-destructive-operations",
        ) from error
    promote = flag_parameter(parameters, "auto_promote", "true")
    made = pipeline.deployer.rebuild(name, DeployOptions(promote=promote, allow_destructive=True))
    live = pipeline.store.pointer.read().live
    return json_response({**found, "deployment": deployment_to_json(made, live) if made is not None else None})


def _answer_once_gone(host: PipelineHost, receipt: Receipt, response: Response) -> Response:
    host.pipeline.ingestion.wait(receipt, WAIT_SECONDS)
    return response
