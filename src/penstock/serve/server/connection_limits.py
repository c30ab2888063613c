"""Limits of the connections to the server, which Uvicorn does not have.

In: connections. Out: Uvicorn's protocol, which closes those that only wait. Invariants: a connection without a running
call is closed after IDLE_SECONDS, however slowly its client sends; one whose client takes no answers is cut after
STALLED_SECONDS; there are never more connections than the limit; a head is read in time linear to its length
(httptools; the expressions of h11 are quadratic) and has a limit.
"""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from penstock.errors import PenstockError, TooLarge, Unavailable

IDLE_SECONDS = 20.0
"""The time for the head of a call, from the first byte or the end of the call before; and for the rest of a body that
was answered before it had arrived."""
STALLED_SECONDS = 60.0
"""The time in which a client must take what was sent, once more of it waits here than the network holds; and for the
last of it after the connection was closed."""
MOST_HEAD_BYTES = 65_536
"""Of the request line with all headers, after the piece they began in."""
MOST_WAITING_CALLS = 64
"""Calls that a client may send on one connection before it has the answer of the first."""


def limited_connection(most: int) -> type[HttpToolsProtocol]:
    """The class of the connections of a server that takes at most `most` at once."""
    return type("LimitedConnection", (_LimitedConnection,), {"most": most})


class _LimitedConnection(HttpToolsProtocol):
    most: ClassVar[int]

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._in_head, self._head_bytes = False, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _send_at_once(transport)
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
        self._head_bytes += len(data) if self._in_head else 0
        super().data_received(data)
        if self._in_head and self._head_bytes > MOST_HEAD_BYTES:
            self.transport.write(_LONG_HEAD)
            self._close()
        self._watch()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        """Raises ValueError if too many calls wait on this connection: it is answered with 400 and closed."""
        self._in_head = False
        if len(self.pipeline) >= MOST_WAITING_CALLS:
            raise ValueError("too many calls at once on one connection")
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:  # Uvicorn would read the next calls before those that wait are answered
            self.flow.pause_reading()
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


def _send_at_once(transport: asyncio.Transport) -> None:
    """Let no answer wait for the client to confirm its head, which takes 40 ms. Asyncio sees to that itself only if the
    socket that listens was made with the number of its protocol."""
    connection: socket.socket = transport.get_extra_info("socket")
    with suppress(OSError):  # a client that is gone already
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _refusal(status: str, error: PenstockError) -> bytes:
    """A whole answer, after which the connection is closed; `status` may be followed by a header."""
    body = json.dumps(error.as_json()).encode()
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body


_REFUSAL = _refusal(
    "503 Service Unavailable\r\nretry-after: 1",
    Unavailable(
        "the server has as many connections as it takes",
        hint="try again in a second; `max_connections` in [server] of penstock.toml is the limit",
    ),
)
_LONG_HEAD = _refusal(
    "431 Request Header Fields Too Large",
    TooLarge(
        f"the address and the headers of the call have more than {MOST_HEAD_BYTES:,} bytes",
        hint="send long SQL and parameters in the body of a POST",
    ),
)
