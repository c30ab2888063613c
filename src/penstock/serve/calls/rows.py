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

from penstock.deploy.ingest.row_files.csv_rows import CsvForm
from penstock.deploy.ingest.row_files.file_ingestion import ParquetForm
from penstock.deploy.ingest.row_rebuilds import ROWS_ARE_GONE
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.errors import did_you_mean
from penstock.serve.calls.deployments import deployment_to_json
from penstock.serve.calls.events import (
    FILE_FORMATS,
    WAIT_SECONDS,
    idempotency_key,
    post_events,
    receipt_response,
    source_span,
    to_ndjson,
)
from penstock.serve.calls.jobs import job_to_json
from penstock.serve.http.access import require_also
from penstock.serve.http.audited_call import CHECKED, name_target
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import Continued, PipelineHost
from penstock.serve.http.request_body import decompress, rows_of
from penstock.serve.http.request_parameters import (
    all_parameters,
    flag_parameter,
    invalid_request_parameter,
    required_parameter,
)

if TYPE_CHECKING:
    from penstock.deploy.ingest.event_ingestion import Receipt
    from penstock.state.jobs import Job

MODES = ("append", "replace")


def post_rows(host: PipelineHost, request: Request) -> Response | Continued:
    """`POST /v0/datasources?name=DS&mode=append|replace&format=…`."""
    parameters = dict(request.query_params)
    name, mode = required_parameter(parameters, "name"), parameters.get("mode", "append").lower()
    name_target(request, f"{name}, {mode}")
    if mode == "append" and not _is_file(parameters):
        return post_events(host, request)
    if mode not in MODES:
        message = f"there is no mode `{mode[:60]}`"
        raise invalid_request_parameter("mode", f"{message}: {did_you_mean(mode, MODES) or 'append or replace'}")
    if mode == "replace":
        require_also(request, "deploy", f"replace the rows of `{name}`")
    body = decompress(rows_of(request), request.headers.get("content-encoding", ""))
    if _is_file(parameters):
        return _post_file(host, request, body, mode)
    rows = to_ndjson(body, parameters.get("format"))
    return _answer_for(
        host, request, host.pipeline.replacement.replace(name, rows, idempotency_key(request) or uuid.uuid4().hex)
    )


def _is_file(parameters: Mapping[str, str]) -> bool:
    return parameters.get("format", "").lower() in FILE_FORMATS


def _post_file(host: PipelineHost, request: Request, body: bytes, mode: str) -> Response | Continued:
    """Append or replace the rows of a CSV or Parquet file."""
    parameters, files = dict(request.query_params), host.pipeline.files
    name, key = parameters["name"], idempotency_key(request) or uuid.uuid4().hex
    form = _csv_form(parameters) if parameters["format"].lower() == "csv" else ParquetForm()
    receipt = files.append(name, body, form, key) if mode == "append" else files.replace(name, body, form, key)
    host.metrics.appended.labels(name).inc(receipt.successful_rows)
    host.metrics.quarantined.labels(name).inc(receipt.quarantined_rows)
    return _answer_for(host, request, receipt)


def _csv_form(parameters: Mapping[str, str]) -> CsvForm:
    """How the CSV of a call is written. Raises InvalidRequest."""
    delimiter = parameters.get("dialect_delimiter", ",")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise invalid_request_parameter("dialect_delimiter", "a delimiter is one ASCII character, and no quote")
    has_header = flag_parameter(parameters, "header") if "header" in parameters else None
    return CsvForm(delimiter, has_header, flag_parameter(parameters, "repeats_first"))


def _answer_for(host: PipelineHost, request: Request, receipt: Receipt) -> Response | Continued:
    parameters = dict(request.query_params)
    if not flag_parameter(parameters, "wait"):
        return receipt_response(receipt, 202)
    return Continued("waits", lambda: receipt_response(host.pipeline.ingestion.wait(receipt, WAIT_SECONDS), 200))


def truncate_datasource(host: PipelineHost, request: Request) -> Response | Continued:
    """`POST /v0/datasources/NAME/truncate`: remove all rows; with `check`, only say what would be left where."""
    pipeline, name, parameters = host.pipeline, request.path_params["name"], dict(request.query_params)
    traces = asdict(pipeline.row_traces(name))
    if flag_parameter(parameters, "check"):
        name_target(request, f"{name}, {CHECKED}")
        return json_response({"datasource": name, "truncated": False, "traces": traces})
    receipt = pipeline.replacement.truncate(name, idempotency_key(request) or uuid.uuid4().hex, source_span(request))
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
    rows, traces = pipeline.deletion.count(name, where), asdict(pipeline.row_traces(name))
    found = {"datasource": name, "where": where, "rows": rows, "traces": traces}
    name_target(request, f"{name}, {rows} rows")
    if rebuilds:
        return _delete_and_rebuild(host, parameters, found, idempotency_key(request))
    if flag_parameter(parameters, "check"):
        name_target(request, f"{name}, {rows} rows, {CHECKED}")
        return json_response({**found, "deleted": False})
    receipt = pipeline.deletion.delete(name, where, idempotency_key(request) or uuid.uuid4().hex)
    found |= {"deleted": True}
    if not waits:
        return json_response(found, 202)
    return Continued("waits", lambda: _answer_once_gone(host, receipt, json_response(found)))


def _delete_and_rebuild(
    host: PipelineHost, parameters: Mapping[str, str], found: Mapping[str, object], key: str | None
) -> Response | Continued:
    """Delete the rows and compute anew what views compute from them, by a job that goes on after a crash. Raises
    InvalidProject where that would change more than the rows that are deleted, unless it is allowed. The same deletion
    again, with no more rows to delete, goes on with the job and the deployment that there are. With `wait=false` the
    answer is the job, whose error says why it waits."""
    name, where, rebuilds = str(found["datasource"]), str(found["where"]), host.pipeline.rebuilds
    under_way = rebuilds.find_under_way(name) if found["rows"] == 0 else None
    allowed = under_way is not None or flag_parameter(parameters, "allow_destructive_operations")
    planned = host.pipeline.deployer.rebuild(name, DeployOptions(check=True, allow_destructive=allowed))
    answer = {**found, "rebuild": dict(planned.plan) if planned is not None else None}
    if flag_parameter(parameters, "check"):
        return json_response({**answer, "deleted": False})
    promote = flag_parameter(parameters, "auto_promote", "true")
    if under_way is None:
        host.pipeline.deletion.check(name, where)
    job = under_way or rebuilds.create(name, where, key or uuid.uuid4().hex, promote=promote)
    if not flag_parameter(parameters, "wait", "true"):
        return json_response({**answer, "deleted": job.state in ROWS_ARE_GONE, "job": job_to_json(job)}, 202)
    return Continued("waits", lambda: _answer_once_rebuilding(host, job, answer))


def _answer_once_rebuilding(host: PipelineHost, job: Job, answer: Mapping[str, object]) -> Response:
    pipeline, done = host.pipeline, host.pipeline.rebuilds.wait(job, WAIT_SECONDS)
    made = pipeline.store.deployments.get(done.deployment) if done.deployment is not None else None
    shown = deployment_to_json(made, pipeline.store.pointer.read().live) if made is not None else None
    return json_response({**answer, "deleted": True, "deployment": shown})


def _answer_once_gone(host: PipelineHost, receipt: Receipt, response: Response) -> Response:
    host.pipeline.ingestion.wait(receipt, WAIT_SECONDS)
    return response
