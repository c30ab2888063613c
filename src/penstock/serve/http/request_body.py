"""Bodies of requests, read and decompressed within limits of bytes and time.

In: a request. Out: bytes. Invariants: never more bytes of one body than the limit are in memory, compressed or not,
whatever the headers claim; never more of all bodies together than the `BodyBudget`; no body is waited for without end.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import BinaryIO, cast

import anyio
import zstandard
from starlette.requests import Request

from penstock.client.rows import packed_frames
from penstock.errors import InvalidRequest, Problem, Timeout, TooLarge, did_you_mean
from penstock.serve.http.byte_budget import ByteBudget

MOST_BYTES = 32 * 2**20
MOST_BYTES_TOGETHER = 256 * 2**20
MOST_SECONDS = 60.0
_PIECE = 2**20
"""Bodies are decompressed in pieces of this many bytes, each counted before the next one."""


class BodyBudget(ByteBudget):
    """The bytes of bodies that may be in memory at once, and the seconds that one may take to arrive."""

    def __init__(self, most_bytes: int = MOST_BYTES_TOGETHER, seconds: float = MOST_SECONDS):
        super().__init__(
            most_bytes,
            f"the bodies of all calls together have more than {most_bytes // 2**20} MiB",
            "try again in a second; `max_body_bytes` in [server] of penstock.toml is the limit",
        )
        self.seconds = seconds


class ReceivedBody:
    """The body of one call; its bytes are counted in the budget until `release`."""

    def __init__(self, budget: BodyBudget):
        self.content = b""
        self._budget = budget
        self._taken = 0

    def take(self, size: int) -> None:
        """Count more bytes for this body. Raises Overloaded."""
        self._budget.take(size)
        self._taken += size

    def release(self) -> None:
        """Forget the content."""
        self.content = b""
        self._budget.give_back(self._taken)
        self._taken = 0


def body_of(request: Request) -> ReceivedBody:
    """The body of a call, which was read before its handler began."""
    body: ReceivedBody = request.state.body
    return body


def rows_of(request: Request) -> ReceivedBody:
    """The body of a call that posts rows. Raises InvalidRequest for a form, whose lines would be read as rows."""
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        hint = "send the file itself as the body: curl --data-binary @FILE, not -F"
        raise InvalidRequest("the body is a form, in which a file is a part", hint=hint)
    return body_of(request)


@asynccontextmanager
async def receiving_body(request: Request, budget: BodyBudget, most: int) -> AsyncIterator[None]:
    """Read the body of a call for `body_of`, and count it until the block ends. Raises TooLarge, Timeout, Overloaded.

    A call that takes no body (`most` is 0) does not wait for one.
    """
    request.state.body = body = ReceivedBody(budget)
    try:
        if most:
            await _read(request, body, most, budget.seconds)
        yield
    finally:
        body.release()


async def _read(request: Request, body: ReceivedBody, most: int, seconds: float) -> None:
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _too_large(most)
                body.take(len(part))
                parts.append(part)
    except TimeoutError:
        hint = "send less in a call; `max_body_seconds` in [server] of penstock.toml is the limit"
        raise Timeout(f"the body did not arrive within {seconds:g} seconds", hint=hint) from None
    body.content = b"".join(parts)


def decompress(body: ReceivedBody, encoding: str, most: int = MOST_BYTES) -> bytes:
    """The content, decompressed by its Content-Encoding and counted. Raises InvalidRequest, TooLarge, Overloaded."""
    name = encoding.strip().lower() or _packing_of(body.content)
    if name == "identity":
        return body.content
    opener = OPENERS.get(name)
    if opener is None:
        message = f"the Content-Encoding `{encoding[:60]}` is not known"
        raise InvalidRequest(message, [Problem("unknown-encoding", message, hint=did_you_mean(name[:60], OPENERS))])
    try:
        return _unpack(body, opener(body.content), most)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        what = f"the body's {name} is damaged" if body.content.startswith(MAGIC[name]) else f"the body is not {name}"
        raise InvalidRequest(f"{what}: {error}") from error


def _packing_of(content: bytes) -> str:
    """The packing that a content begins as, for a call that names none: no JSON begins so."""
    return next((name for name, magic in MAGIC.items() if content.startswith(magic)), "identity")


def _unpack(body: ReceivedBody, packed: BinaryIO, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := packed.read(_PIECE):
        size += len(part)
        if size > most:
            raise _too_large(most)
        body.take(len(part))
        parts.append(part)
    return b"".join(parts)


def _gzip(body: bytes) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=io.BytesIO(body)))


def _zstd(body: bytes) -> BinaryIO:
    return packed_frames.open_zstd(io.BytesIO(body), MOST_BYTES)


OPENERS: Mapping[str, Callable[[bytes], BinaryIO]] = {"gzip": _gzip, "zstd": _zstd}
MAGIC: Mapping[str, bytes] = {"gzip": b"\x1f\x8b", "zstd": packed_frames.MAGIC}
"""What a packed content begins with. Source of that of gzip: RFC 1952."""


def _too_large(most: int) -> TooLarge:
    return TooLarge(
        f"the body is larger than {most // 2**20} MiB",
        hint="send the rows in several calls; `penstock datasource append` divides a file of any size by itself",
    )
