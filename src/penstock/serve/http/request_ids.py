"""What every request gets: an id, and a place in the figures of `/metrics`.

In: an ASGI application. Out: the same application, whose answers have the header `X-Request-Id`: the caller's own id if
one was sent. Invariant: the lines that a request logs, in any thread, begin with its id, and its error has it too.
"""

from __future__ import annotations

import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.flow.log_context import log_context
from penstock.serve.http.metrics import Metrics

HEADER = "x-request-id"
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
            with log_context(request=id):
                await self._app(scope, receive, send_with_id)
        finally:
            self._metrics.observe_call(scope.get(CALL, "none"), status, time.monotonic() - began)


def choose_request_id(sent: str | None) -> str:
    """The id that the caller sent, or a new one if it sent none or one that is no plain text of at most 128
    characters."""
    return sent if sent is not None and len(sent) <= 128 and _ID.fullmatch(sent) else uuid.uuid4().hex
