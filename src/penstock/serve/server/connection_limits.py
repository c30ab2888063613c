"""Limits of the connections to the server, which Uvicorn does not have.

In: connections. Out: Uvicorn's protocol, which closes those that only wait. Invariants: a connection without a running
call is closed after IDLE_SECONDS, however slowly its client sends; one whose client takes no answers is cut after
STALLED_SECONDS; there are never more connections than the limit.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.errors import Unavailable

IDLE_SECONDS = 20.0
"""The time for the head of a call, from the first byte or the end of the call before; and for the rest of a body that
was answered before it had arrived."""
STALLED_SECONDS = 60.0
"""The time in which a client must take what was sent, once more of it waits here than the network holds; and for the
last of it after the connection was closed."""


def limited_connection(most: int) -> type[H11Protocol]:
    """The class of the connections of a server that takes at most `most` at once."""
    return type("LimitedConnection", (_LimitedConnection,), {"most": most})


class _LimitedConnection(H11Protocol):
    most: ClassVar[int]

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self.most and not self._close_longest_idle():
            transport.write(_REFUSAL)
            self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        self._forget_stall()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not take what is sent: a call that waits here for it would wait for ever."""
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._forget_stall()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Set the deadline of a connection without a running call; more bytes do not move it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget_deadline()
        elif self.transport.is_closing():
            self._watch_writing()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(IDLE_SECONDS, self._close)

    def _close(self) -> None:
        """Close the connection once its client has taken what was sent, if it does so in time."""
        self.transport.close()
        self._watch_writing()

    def _watch_writing(self) -> None:
        if self._stalled is None:
            self._stalled = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def _forget_stall(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_longest_idle(self) -> bool:
        """Make room: close the connection that has waited longest for a call of its client."""
        idle = [
            (each._deadline.when(), at, each)
            for at, each in enumerate(self.connections)
            if isinstance(each, _LimitedConnection) and each._deadline is not None and each is not self
        ]
        if not idle:
            return False
        connection = min(idle)[2]
        connection._forget_deadline()
        self.connections.discard(connection)
        connection._close()
        return True


def _refusal() -> bytes:
    error = Unavailable(
        "the server has as many connections as it takes",
        hint="try again in a second; `max_connections` in [server] of penstock.toml is the limit",
    )
    body = json.dumps(error.as_json()).encode()
    head = (
        f"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        "retry-after: 1\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


_REFUSAL = _refusal()
