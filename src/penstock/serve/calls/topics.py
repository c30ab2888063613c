"""Topics over HTTP: how those of data sources are read, and going on without what one has lost.

In: the name of a data source. Out: states as JSON. Invariant: a handler only calls the part that does the work.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from penstock.serve.http.audited_call import name_target
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost


def list_topics(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/topics`: how the topic of each data source is read."""
    return json_response({"topics": [each.as_json() for each in host.pipeline.topics.statuses()]})


def skip_missing(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/topics/NAME/skip`: go on without the messages that the topic of a data source has lost."""
    name = request.path_params["name"]
    given_up = host.pipeline.topics.skip_missing(name)
    name_target(request, f"{name}, {len(given_up)} partitions")
    return json_response({"given_up": {str(at): list(offsets) for at, offsets in sorted(given_up.items())}})
