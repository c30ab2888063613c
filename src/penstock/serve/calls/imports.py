"""Files of data sources over HTTP: which were taken, and looking for others now.

In: the name of a data source. Out: a report as JSON. Invariant: a handler only calls the part that does the work.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from penstock.serve.http.audited_call import name_target
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import all_parameters, flag_parameter, limit_parameter

USUAL_FILES, MOST_FILES = 100, 10_000


def show_files(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/datasources/NAME/files?limit=…`: how they are taken, how many by state, and the latest."""
    limit = limit_parameter(request.query_params, USUAL_FILES, MOST_FILES)
    return json_response(host.pipeline.imports.files(request.path_params["name"], limit).as_json())


def look_for_files(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/datasources/NAME/sync?retry=…`: look for files now; with `retry` those that failed are tried again."""
    name, imports = request.path_params["name"], host.pipeline.imports
    tried_again = imports.try_again(name) if flag_parameter(all_parameters(request), "retry") else 0
    asked = imports.look_now(name)
    name_target(request, name)
    return json_response({"request": asked, "tried_again": tried_again}, 202)
