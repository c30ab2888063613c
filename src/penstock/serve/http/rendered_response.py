"""A response whose body is rendered while it is sent.

In: the pieces of a body, each made when it is asked for. Out: an HTTP response. Invariants: pieces are made in
threads, never on the event loop; a reader that takes no piece for SEND_SECONDS loses its connection; what large answers
hold in memory while they are sent is within the `AnswerBudget`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import anyio
from anyio import CapacityLimiter
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from penstock.serve.http.byte_budget import ByteBudget

SMALL = 2**16
"""A body of at most this many bytes is sent whole, with its length."""
SEND_SECONDS = 60.0
log = logging.getLogger("penstock.serve")


class AnswerBudget(ByteBudget):
    """The bytes of rows that wait to be sent. A reader may take its time, but many slow readers must not fill the
    memory."""

    def __init__(self, most_bytes: int):
        super().__init__(
            most_bytes,
            f"the answers that are being sent have more than {most_bytes // 2**20} MiB together",
            "try again in a second, ask for fewer rows, or read answers faster",
        )


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
