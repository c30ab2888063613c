"""A JSON document as an HTTP response.

In: a value that orjson writes. Out: the response. Invariant: every call that answers with JSON uses this, except for
errors (`error_response`) and results of queries (`answer_formats`).
"""

from __future__ import annotations

import orjson
from starlette.responses import Response


def json_response(document: object, status: int = 200) -> Response:
    """The response with this status code."""
    return Response(orjson.dumps(document), status_code=status, media_type="application/json")
