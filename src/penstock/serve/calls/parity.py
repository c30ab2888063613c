"""The comparison of two versions, or of two tables of one, over HTTP.

In: two references to deployments, what may differ, and calls of endpoints as lines of JSON. Out: the report as JSON.
Invariant: who may not read every data source gets counts and checksums, and no row.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.requests import Request
from starlette.responses import Response

from penstock.deploy.parity.comparison_scope import MOST_SAMPLE, SAMPLE, ComparisonScope
from penstock.errors import InvalidRequest
from penstock.plan.parity.endpoint_calls import MOST_RECORDED, RECORDED_CALLS
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_body import body_of
from penstock.serve.http.request_parameters import count_parameter, invalid_request_parameter, required_parameter
from penstock.state.tokens import ApiToken


def compare_versions(host: PipelineHost, request: Request) -> Response:
    """`GET/POST /v0/diff?left=live&right=staging`; the body has the calls of endpoints, one JSON object a line."""
    host.require_spark()
    parameters = request.query_params
    left, right = parameters.get("left") or "live", parameters.get("right") or "staging"
    report = host.pipeline.comparison.compare(left, right, requested_scope(request)).as_json()
    return json_response(_with_rows_as_json(report))


def compare_tables(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/diff/tables?left=events_0_0&right=events_0_1`: two data sources of one deployment, live unless asked."""
    host.require_spark()
    parameters = request.query_params
    left, right = (required_parameter(parameters, side) for side in ("left", "right"))
    deployment = parameters.get("deployment") or "live"
    report = host.pipeline.comparison.compare_tables(deployment, left, right, requested_scope(request))
    return json_response(_with_rows_as_json(report.as_json()))


def requested_scope(request: Request) -> ComparisonScope:
    """What a call asks to compare. Raises InvalidRequest."""
    parameters = dict(request.query_params)
    sample = count_parameter(parameters, "rows") or SAMPLE
    if sample > MOST_SAMPLE:
        raise invalid_request_parameter("rows", f"at most {MOST_SAMPLE:,} differing rows are shown")
    token: ApiToken = request.state.token
    declared = tuple(name.strip() for name in parameters.get("expect", "").split(",") if name.strip())
    recorded = _recorded_count(parameters)
    reads = token.allows("read")
    return ComparisonScope(_calls(request), declared, sample if reads else 0, recorded, shows_parameters=reads)


def _recorded_count(parameters: Mapping[str, str]) -> int:
    """How many recorded calls of each endpoint are compared; 0 for none. Raises InvalidRequest."""
    if parameters.get("calls") == "0":
        return 0
    most = count_parameter(parameters, "calls") or RECORDED_CALLS
    if most > MOST_RECORDED:
        raise invalid_request_parameter("calls", f"at most {MOST_RECORDED:,} recorded calls of an endpoint are run")
    return most


def _calls(request: Request) -> str:
    if request.method != "POST":
        return ""
    try:
        return body_of(request).content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the calls of endpoints are not UTF-8: byte {error.start} is wrong") from error


def _with_rows_as_json(value: object) -> object:
    """The report, whose rows are texts of JSON, with the rows themselves."""
    match value:
        case {"side": side, "times": times, "row": str(row)}:
            return {"side": side, "times": times, "row": orjson.Fragment(row)}
        case dict():
            return {name: _with_rows_as_json(each) for name, each in value.items()}
        case list() | tuple():
            return [_with_rows_as_json(each) for each in value]
        case _:
            return value
