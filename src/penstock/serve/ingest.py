"""`POST /v0/events`: rows in.

In: NDJSON or JSON, packed or not. Out: how many rows fit and how many are quarantined. Called by
`app`. Invariant: 202 says that the rows are durable, 200 (with wait) that they are queryable; an
Idempotency-Key is one ingestion for ever: the body that came first with it is kept, later ones are not
looked at but for the counts of the answer.
"""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import InvalidRequest
from penstock.serve.bodies import read_body, unpack
from penstock.serve.host import Host, in_lane
from penstock.serve.parameters import flag, required
from penstock.serve.rows import as_lines

WAIT_SECONDS = 60.0
LONGEST_KEY = 256


async def post_events(host: Host, request: Request) -> Response:
    """Keep the rows of the body."""
    pipeline, parameters = host.pipeline, dict(request.query_params)
    name, waits = required(parameters, "name"), flag(parameters, "wait")
    key, form = _key(request), parameters.get("format", "ndjson")
    encoding = request.headers.get("content-encoding", "")
    body = await read_body(request)
    receipt = await in_lane(
        host.lanes.appends, lambda: pipeline.append(name, as_lines(unpack(body, encoding), form), key)
    )
    host.metrics.appended.labels(name).inc(receipt.successful_rows)
    host.metrics.quarantined.labels(name).inc(receipt.quarantined_rows)
    if waits:
        receipt = await in_lane(host.lanes.waits, lambda: pipeline.wait(receipt, WAIT_SECONDS))
    told = {"successful_rows": receipt.successful_rows, "quarantined_rows": receipt.quarantined_rows}
    return Response(orjson.dumps(told), status_code=200 if waits else 202, media_type="application/json")


def _key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise InvalidRequest(f"an Idempotency-Key has 1 to {LONGEST_KEY} characters")
    return key
