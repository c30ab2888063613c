"""A response whose body is rendered while it is sent.

In: the pieces of a body, each made when it is asked for. Out: an HTTP response. Invariants: pieces are made in
threads, never on the event loop; a reader that takes no piece for SEND_SECONDS loses its connection; what large answers
hold in memory while they are sent is within the `AnswerBudget`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import anyio
from anyio import CapacityLimiter
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from penstock.errors import Overloaded

SMALL = 2**16
"""A body of at most this many bytes is sent whole, with its length."""
SEND_SECONDS = 60.0
log = logging.getLogger("penstock.serve")


class AnswerBudget:
    """The bytes of rows that wait to be sent. A reader may take its time, but many slow readers must not fill the
    memory."""

    def __init__(self, most_bytes: int):
        self._most = most_bytes
        self._guard = threading.Lock()  # held for one addition only
        self._held = 0

    @property
    def held(self) -> int:
        """The bytes that wait now."""
        return self._held

    def take(self, size: int) -> None:
        """Count these bytes. Raises Overloaded if there would be too many."""
        with self._guard:
            if self._held + size > self._most:
                message = f"the answers that are being sent have more than {self._most // 2**20} MiB together"
                raise Overloaded(message, hint="try again in a second, ask for fewer rows, or read answers faster")
            self._held += size

    def give_back(self, size: int) -> None:
        with self._guard:
            self._held -= size


@dataclass(frozen=True, slots=True)
class AnswerBody:
    """The body of an answer: its pieces, and the bytes of the rows that they are made of."""

    pieces: Iterator[bytes]
    media_type: str
    size: int


class RenderedResponse(StreamingResponse):
    """Sends the pieces of a body, whose bytes the budget has counted. Each is made in one of the threads of `limit`."""

    def __init__(self, body: AnswerBody, limit: CapacityLimiter, budget: AnswerBudget):
        super().__init__(_pieces_made_in_threads(body.pieces, limit), media_type=body.media_type)
        self._size = body.size
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._budget.give_back(self._size)

    async def stream_response(self, send: Send) -> None:
        """Send the body; leave it unfinished, which closes the connection, if its reader has stalled."""

        async def send_in_time(message: Message) -> None:
            await asyncio.wait_for(send(message), SEND_SECONDS)

        try:
            await super().stream_response(send_in_time)
        except asyncio.TimeoutError:
            log.warning("an answer was not finished: its reader took nothing for %g seconds", SEND_SECONDS)


def rendered_response(body: AnswerBody, limit: CapacityLimiter, budget: AnswerBudget) -> Response:
    """The response with this body. Raises what making the first pieces raises, and Overloaded; after them the status is
    sent."""
    first: list[bytes] = []
    while sum(map(len, first)) <= SMALL:
        piece = next(body.pieces, None)
        if piece is None:
            return Response(b"".join(first), media_type=body.media_type)
        first.append(piece)
    budget.take(body.size)
    return RenderedResponse(replace(body, pieces=chain(first, body.pieces)), limit, budget)


async def _pieces_made_in_threads(pieces: Iterator[bytes], limit: CapacityLimiter) -> AsyncIterator[bytes]:
    while piece := await anyio.to_thread.run_sync(lambda: next(pieces, b""), limiter=limit):
        yield piece
