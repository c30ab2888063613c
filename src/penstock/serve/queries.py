"""Answers: endpoints and SQL.

In: a name or a query, and the deployment that is asked. Out: the answer in the wished format.
Called by `app`. Invariant: a query is read-only; the deployment is live unless the call says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import Location, NotFound, PenstockError, did_you_mean
from penstock.model.datasource import Text
from penstock.serve.host import Host, in_lane
from penstock.serve.parameters import OURS, all_parameters, deployment, required
from penstock.serve.render import EXTENSIONS, Answer, render
from penstock.sql.transpile import split_format


async def pipe(host: Host, request: Request) -> Response:
    """`GET/POST /v0/pipes/NAME.json` (csv, ndjson)."""
    pipeline = host.pipeline
    name, _, extension = request.path_params["file"].rpartition(".")
    if extension not in EXTENSIONS:
        known = [f"{name or extension}.{each}" for each in EXTENSIONS]
        raise NotFound(f"there is no `{request.path_params['file']}`", hint=did_you_mean(known[0], known))
    parameters = await all_parameters(request)
    given = {key: value for key, value in parameters.items() if key not in OURS}
    ref = deployment(parameters)
    answer = await _timed(host, "endpoint", lambda: pipeline.endpoint(name, given, ref))
    return render(answer, EXTENSIONS[extension])


async def sql(host: Host, request: Request) -> Response:
    """`GET/POST /v0/sql?q=…`; a POST may hold the query as its body."""
    pipeline = host.pipeline
    parameters = await all_parameters(request, raw="q")
    query, form = split_format(Text(required(parameters, "q"), Location("query")))
    ref = deployment(parameters)
    answer = await _timed(host, "sql", lambda: pipeline.sql(query.text, ref))
    return render(answer, form or "JSON")


async def _timed(host: Host, kind: str, call: Callable[[], Answer]) -> Answer:
    began = time.monotonic()
    code = "internal"
    try:
        answer = await in_lane(host.lanes.queries, call)
        code = "ok"
        return answer
    except PenstockError as error:
        code = error.code
        raise
    finally:
        host.metrics.queries.labels(kind, code).inc()
        host.metrics.seconds.labels(kind).observe(time.monotonic() - began)
