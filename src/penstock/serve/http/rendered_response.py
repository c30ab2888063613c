"""A response whose body is rendered while it is sent; for HTTP/1.0, before.

In: the pieces of a body, each made when it is asked for. Out: an HTTP response. Invariants: pieces are made in
threads, never on the event loop; a reader that takes no piece for SEND_SECONDS loses its connection; what large answers
hold in memory while they are sent is within the `AnswerBudget`; a reader can tell whether it has the whole body.

HTTP/1.1 has chunks for that. HTTP/1.0 has none (RFC 9112, 7.1): the end of the connection would look like the end of
the rows, whatever ended it. So its answers are rendered into a file first, and sent with their length.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from tempfile import TemporaryFile
from typing import IO

import anyio
from anyio import CapacityLimiter
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from penstock.errors import StorageFull
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
    """Sends the pieces of a body. Each is made in one of the threads of `limit`; `ended` is called after the last one
    was sent, or none more will be."""

    def __init__(self, body: AnswerBody, limit: CapacityLimiter, ended: Callable[[], None]):
        super().__init__(_pieces_made_in_threads(body.pieces, limit), media_type=body.media_type)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()

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
    whole = replace(body, pieces=chain(first, body.pieces))
    return RenderedResponse(whole, limit, lambda: budget.give_back(body.size))


def response_with_length(body: AnswerBody, limit: CapacityLimiter, budget: AnswerBudget) -> Response:
    """The response with this body and its length, as HTTP/1.0 needs it: the body is rendered now, into a file without a
    name. Raises what making the pieces raises, Overloaded, and StorageFull."""
    budget.take(body.size)
    try:
        file, length = _write_file(body.pieces)
    finally:
        budget.give_back(body.size)
    pieces = iter(lambda: file.read(SMALL), b"")
    close = threading.Thread(
        target=file.close, name="closes an answer", daemon=True
    )  # to free a disk's blocks takes time
    response = RenderedResponse(replace(body, pieces=pieces, size=0), limit, close.start)
    response.headers["Content-Length"] = str(length)
    return response


def _write_file(pieces: Iterator[bytes]) -> tuple[IO[bytes], int]:
    """A file with the pieces, at its start, and its length. Raises StorageFull."""
    file = TemporaryFile()  # noqa: SIM115 - the response closes it
    try:
        for piece in pieces:
            file.write(piece)
        length = file.tell()
        file.seek(0)
    except OSError as error:
        file.close()
        message = f"the answer could not be written to a temporary file: {error.strerror}"
        raise StorageFull(message, hint="ask by HTTP/1.1, which needs no file") from error
    except BaseException:
        file.close()
        raise
    return file, length


async def _pieces_made_in_threads(pieces: Iterator[bytes], limit: CapacityLimiter) -> AsyncIterator[bytes]:
    while piece := await anyio.to_thread.run_sync(lambda: next(pieces, b""), limiter=limit):
        yield piece
