"""Bodies of requests, read and decompressed within a limit.

In: a request. Out: bytes. Invariant: never more bytes than the limit are in memory, compressed or not, whatever the
headers claim."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO, cast

import zstandard
from starlette.requests import Request

from penstock.errors import InvalidRequest, Problem, TooLarge, did_you_mean

MOST_BYTES = 32 * 2**20


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """Read the body as it was sent. Raises TooLarge."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
    return b"".join(parts)


def decompress(body: bytes, encoding: str, most: int = MOST_BYTES) -> bytes:
    """Decompress a body by its Content-Encoding. Raises InvalidRequest, TooLarge."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    opener = OPENERS.get(name)
    if opener is None:
        message = f"the Content-Encoding `{encoding}` is not known"
        raise InvalidRequest(message, [Problem("unknown-encoding", message, hint=did_you_mean(name, OPENERS))])
    try:
        unpacked = opener(body).read(most + 1)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise InvalidRequest(f"the body is not {name}: {error}") from error
    if len(unpacked) > most:
        raise _too_large(most)
    return unpacked


def _gzip(body: bytes) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=io.BytesIO(body)))


def _zstd(body: bytes) -> BinaryIO:
    # A frame that asks for a window larger than the limit is refused by the library.
    unpacker = zstandard.ZstdDecompressor(max_window_size=MOST_BYTES)
    return cast(BinaryIO, unpacker.stream_reader(io.BytesIO(body), read_across_frames=True))


OPENERS: Mapping[str, Callable[[bytes], BinaryIO]] = {"gzip": _gzip, "zstd": _zstd}


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the body is larger than {most // 2**20} MiB", hint="send the rows in several calls")
