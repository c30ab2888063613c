"""Every error as the same JSON.

In: an exception. Out: an HTTP response. Invariant: the client gets the error shape of the interface and never a
traceback; errors that are not the user's are logged.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from penstock.errors import NotFound, Overloaded, PenstockError, Unauthorized, Unavailable, did_you_mean
from penstock.flow.telemetry.log_context import log_context_value

log = logging.getLogger("penstock.serve")


class Internal(PenstockError):
    """A bug of Penstock."""

    status, code = 500, "internal"


class WrongMethod(PenstockError):
    """The address exists, but not with this method."""

    status, code = 405, "wrong-method"

    def __init__(self, path: str, allowed: Sequence[str]):
        super().__init__(f"{path} does not take this method", hint=f"it takes {' and '.join(allowed)}")
        self.allowed = allowed


class Unacceptable(PenstockError):
    """A request that is wrong as HTTP."""

    status, code = 400, "invalid-request"


def error_response(error: PenstockError, path: str) -> Response:
    """The HTTP response for an error; errors of status 500 are logged."""
    if error.status == 500:
        log.error("a call of %s failed: %s", path, error.message, exc_info=error)
    return Response(
        # Not orjson: a message may quote text that is no valid UTF-8.
        json.dumps({**error.as_json(), "request_id": log_context_value("request")}),
        status_code=error.status,
        headers=_headers(error),
        media_type="application/json",
    )


def from_http_exception(error: HTTPException, path: str, known: Mapping[str, Sequence[str]]) -> PenstockError:
    """The error for a request that Starlette refused. `known` are the addresses of all calls with their methods."""
    if error.status_code == 404:
        return NotFound(f"there is nothing at {path}", hint=did_you_mean(path, known))
    if error.status_code == 405:
        return WrongMethod(path, _methods_of(path, known))
    return Unacceptable(str(error.detail))


def _methods_of(path: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """All methods of an address; several calls can have it, each with one."""
    return sorted(
        {method for each, methods in known.items() if compile_path(each)[0].match(path) for method in methods}
    )


def from_bug(fault: Exception) -> PenstockError:
    """The error for an exception that should not have happened; the details go to the log, not to the client."""
    error = Internal("the server made a mistake", hint=".penstock/server.log has the details")
    error.__cause__ = fault
    return error


def _headers(error: PenstockError) -> Mapping[str, str]:
    if isinstance(error, WrongMethod):
        return {"Allow": ", ".join(error.allowed)}
    if isinstance(error, Unauthorized):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, (Unavailable, Overloaded)):
        return {"Retry-After": str(getattr(error, "retry_after", 1))}
    return {}
