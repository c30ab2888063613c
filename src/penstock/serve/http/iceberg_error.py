"""Errors in the shape of the Iceberg REST protocol, with ours beside it.

In: an exception, and the request that failed. Out: an HTTP response. Invariant: every call below `/iceberg` that fails
is answered so; readers show the message only, so it has the hint too. Source: apache/iceberg,
open-api/rest-catalog-open-api.yaml, `IcebergErrorResponse`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

from penstock.deploy.queries.open_namespaces import NoSuchNamespace
from penstock.errors import PenstockError
from penstock.serve.http.error_response import error_response

ADDRESS = "/iceberg"
READS = ("GET", "HEAD")
TYPES: Mapping[int, str] = {
    400: "BadRequestException",
    401: "NotAuthorizedException",
    403: "ForbiddenException",
    404: "NoSuchTableException",
    406: "UnsupportedOperationException",
    422: "UnprocessableEntityException",
    429: "TooManyRequestsException",
    503: "ServiceUnavailableException",
}
"""By HTTP status, the class that readers in Java raise."""


class ReadOnly(PenstockError):
    """A call of the protocol that would change something, or that hands out tokens."""

    status, code = 406, "read-only"

    def __init__(self) -> None:
        super().__init__(
            "Penstock's tables are read only for other readers",
            hint="rows come by /v0/events, changes by `penstock deploy`, tokens by `penstock token create`",
        )


class NoChanges(PenstockError):
    """Spark asks for the changes of a table."""

    status, code = 406, "no-history"

    def __init__(self) -> None:
        super().__init__(
            "Iceberg readers are given a table as it is now, and none of its history",
            hint="compare `live` with what was read before, or ask /v0/sql",
        )


def is_iceberg(path: str) -> bool:
    """Whether an address is one of the protocol."""
    return path == ADDRESS or path.startswith(f"{ADDRESS}/")


def iceberg_error_response(error: PenstockError, path: str) -> Response:
    """The response for an error; errors of status 500 are logged."""
    response = error_response(error, path)
    ours = json.loads(bytes(response.body))
    hints = [str(each["hint"]) for each in ours["problems"] if each["hint"]][:3]
    message = f"{ours['error']} ({'; '.join(hints)})" if hints else str(ours["error"])
    kind = TYPES.get(error.status, "ServiceFailureException")
    kind = "NoSuchNamespaceException" if isinstance(error, NoSuchNamespace) else kind
    theirs = {"message": message, "type": kind, "code": error.status}
    body = json.dumps({**ours, "error": theirs})
    headers = {name: value for name, value in response.headers.items() if name in ("www-authenticate", "retry-after")}
    return Response(body, status_code=error.status, headers=headers, media_type="application/json")
