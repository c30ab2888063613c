"""What every request gets: an id, and a place in the figures of `/metrics`.

In: an ASGI application. Out: the same application, whose answers have the header `X-Request-Id`: the caller's own id if
one was sent. Invariant: the lines that a request logs, in any thread, begin with its id, and its error has it too.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from opentelemetry.trace import INVALID_SPAN, Span
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.flow.telemetry.log_context import log_context
from penstock.flow.telemetry.spans import call_span, set_error, trace_id
from penstock.serve.http.metrics import Metrics

HEADER = "x-request-id"
UNTRACED = ("/health", "/metrics")
"""The beginnings of the paths whose calls have no span."""
CALL = "penstock.call"
"""Where the path of the call is in the scope of a request, once it is known which call it is."""
_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class RequestObserver:
    """Wraps an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics):
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id, began, status = choose_request_id(Headers(scope=scope).get(HEADER)), time.monotonic(), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = id
            await send(message)

        scope.setdefault("state", {})["request_id"] = id
        try:
            with _traced_call(scope, id) as span, log_context(**_context(id, span)):
                try:
                    await self._app(scope, receive, send_with_id)
                finally:
                    _describe_answer(span, scope, status)
        finally:
            self._metrics.observe_call(scope.get(CALL, "none"), status, time.monotonic() - began)


@contextmanager
def _traced_call(scope: Scope, id: str) -> Iterator[Span]:
    """The span of a call; those that only ask how the server is have none."""
    if scope["path"].startswith(UNTRACED):
        yield INVALID_SPAN
        return
    method = scope["method"]
    attributes = {"http.request.method": method, "penstock.request_id": id}
    with call_span(method, Headers(scope=scope), attributes) as span:
        yield span


def _context(id: str, span: Span) -> dict[str, str]:
    """What the lines of a call begin with: its id and, where it is recorded, that of its trace."""
    trace = trace_id(span)
    return {"request": id} if trace is None else {"request": id, "trace": trace}


def _describe_answer(span: Span, scope: Scope, status: int) -> None:
    """Say in the span which call it was and how it was answered."""
    if CALL in scope:
        span.update_name(f"{scope['method']} {scope[CALL]}")
        span.set_attribute("http.route", scope[CALL])
    span.set_attribute("http.response.status_code", status)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        set_error(span, str(status))


def choose_request_id(sent: str | None) -> str:
    """The id that the caller sent, or a new one if it sent none or one that is no plain text of at most 128
    characters."""
    return sent if sent is not None and len(sent) <= 128 and _ID.fullmatch(sent) else uuid.uuid4().hex
