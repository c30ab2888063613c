"""Rows of a data source over HTTP: append or replace them, and remove some or all of them.

In: the name of a data source, and rows. Out: how many rows fit, or what was removed and where traces of it stay.
Invariant: 202 means that it will happen whatever becomes of the server, 200 (with `wait`) that queries of the live
version see it; the same Idempotency-Key is one change.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import did_you_mean
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
    many, and what would be left where."""
    pipeline, name, parameters = host.pipeline, request.path_params["name"], all_parameters(request)
    given = parameters.get("where") or parameters.get("delete_condition") or ""
    where = required_parameter({"where": given}, "where")
    waits = flag_parameter(parameters, "wait", "true")
    rows, traces = pipeline.deletion.count(name, where), asdict(pipeline.row_traces(name))
    found = {"datasource": name, "where": where, "rows": rows, "traces": traces}
    name_target(request, f"{name}, {rows} rows")
    if flag_parameter(parameters, "check"):
        return json_response({**found, "deleted": False})
    receipt = pipeline.deletion.delete(name, where, idempotency_key(request) or uuid.uuid4().hex)
    answer = partial(json_response, {**found, "deleted": True})
    if not waits:
        return answer(202)
    return Continued("waits", lambda: _answer_once_gone(host, receipt, answer(200)))


def _answer_once_gone(host: PipelineHost, receipt: Receipt, response: Response) -> Response:
    host.pipeline.ingestion.wait(receipt, WAIT_SECONDS)
    return response
