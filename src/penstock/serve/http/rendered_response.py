"""A response whose body is rendered while it is sent.

In: the pieces of a body, each made when it is asked for. Out: an HTTP response. Invariants: pieces are made in
threads, never on the event loop; a reader that takes no piece for SEND_SECONDS loses its connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from itertools import chain

import anyio
from anyio import CapacityLimiter
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Send

SMALL = 2**16
"""A body of at most this many bytes is sent whole, with its length."""
SEND_SECONDS = 60.0
log = logging.getLogger("penstock.serve")


class RenderedResponse(StreamingResponse):
    """Sends the pieces of a body. Each is made in one of the threads of `limit`."""

    def __init__(self, pieces: Iterator[bytes], media_type: str, limit: CapacityLimiter):
        super().__init__(_pieces_made_in_threads(pieces, limit), media_type=media_type)

    async def stream_response(self, send: Send) -> None:
        """Send the body; leave it unfinished, which closes the connection, if its reader has stalled."""

        async def send_in_time(message: Message) -> None:
            await asyncio.wait_for(send(message), SEND_SECONDS)

        try:
            await super().stream_response(send_in_time)
        except asyncio.TimeoutError:
            log.warning("an answer was not finished: its reader took nothing for %g seconds", SEND_SECONDS)


def rendered_response(pieces: Iterator[bytes], media_type: str, limit: CapacityLimiter) -> Response:
    """The response with this body. Raises what making the first pieces raises; after them the status is sent."""
    first: list[bytes] = []
    while sum(map(len, first)) <= SMALL:
        piece = next(pieces, None)
        if piece is None:
            return Response(b"".join(first), media_type=media_type)
        first.append(piece)
    return RenderedResponse(chain(first, pieces), media_type, limit)


async def _pieces_made_in_threads(pieces: Iterator[bytes], limit: CapacityLimiter) -> AsyncIterator[bytes]:
    while piece := await anyio.to_thread.run_sync(lambda: next(pieces, b""), limiter=limit):
        yield piece
