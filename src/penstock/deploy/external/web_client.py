"""Requests of copies to servers of the web and of buckets.

In: an address and headers. Out: answers, read in parts. Invariants: each connection goes to an address that was checked
(`network_addresses`), also after a redirection, and no proxy or login of this machine's is used; what is read ends when
the copy must stop, after the time and the bytes that the settings allow; an answer that ends early is an error.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

import httpcore
import httpx

from penstock.deploy.external.network_addresses import ForbiddenAddress, allowed_addresses
from penstock.lake.spark.cancellation import raise_if_stopped
from penstock.model.settings import CopySettings

CONNECT_SECONDS = 10.0
SILENT_SECONDS = 60.0
"""For how long a server may send nothing."""
LOOK = 0.5
"""Seconds between two looks whether the copy must stop."""
MOST_REDIRECTIONS = 5
NO_HEADERS: Mapping[str, str] = {}
_OWN_HEADERS = {"user-agent": "penstock", "accept": "*/*", "accept-encoding": "identity"}


class UnreadableSource(Exception):
    """A file cannot be read; the message says why, and has no secret in it."""


class ReadLimit(UnreadableSource):
    """What is read is larger, or slower, than the settings allow."""


class WebClient:
    """The connections of one copy. Close it after use."""

    def __init__(self, settings: CopySettings, stops: Callable[[], bool]):
        self._settings, self._stops = settings, stops
        self._until = time.monotonic() + settings.max_read_seconds
        self._left = settings.max_read_bytes
        self._client = httpx.Client(
            transport=_CheckedTransport(settings, stops),
            timeout=httpx.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS),
            trust_env=False,
        )

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str] = NO_HEADERS) -> Iterator[httpx.Response]:
        """The answer to a GET, of any status. Raises UnreadableSource, also inside of the block."""
        with self.send("GET", url, headers) as answer:
            yield answer

    @contextmanager
    def send(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> Iterator[httpx.Response]:
        """The answer to a request, of any status. Raises UnreadableSource, also inside of the block."""
        try:
            request = self._client.build_request(method, url, headers={**_OWN_HEADERS, **headers}, content=content)
            answer = self._client.send(request, stream=True)
            try:
                yield answer
            finally:
                answer.close()
        except ForbiddenAddress as error:
            raise UnreadableSource(str(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL, *_NETWORK_ERRORS) as error:
            raise_if_stopped(self._stops)
            raise UnreadableSource(_reason(error)) from None

    @contextmanager
    def get_redirected(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """As `get`; redirections are followed. Another host does not get the headers. Raises UnreadableSource."""
        at = httpx.URL(url)
        for _ in range(MOST_REDIRECTIONS + 1):
            with self.get(str(at), headers) as answer:
                if not answer.has_redirect_location:
                    yield answer
                    return
                to = at.join(answer.headers["location"])
            if to.scheme not in ("http", "https") or (at.scheme == "https" and to.scheme == "http"):
                raise UnreadableSource(f"the server redirects from {at.scheme} to {to.scheme}, which is not followed")
            if (to.scheme, to.host, to.port) != (at.scheme, at.host, at.port):
                headers = NO_HEADERS
            at = to
        raise UnreadableSource(f"the server redirects more than {MOST_REDIRECTIONS} times")

    def parts(self, answer: httpx.Response) -> Iterator[bytes]:
        """The bytes of an answer, as they are sent. Raises UnreadableSource."""
        if "content-length" not in answer.headers and "chunked" not in answer.headers.get("transfer-encoding", ""):
            raise UnreadableSource("the server does not say how long the file is, so a part of it could be missing")
        for part in answer.iter_raw():
            raise_if_stopped(self._stops)
            self._left -= len(part)
            if self._left < 0:
                most = self._settings.max_read_bytes
                raise ReadLimit(f"there are more than {most} bytes (`max_read_bytes` in [copies])")
            if time.monotonic() > self._until:
                most = self._settings.max_read_seconds
                raise ReadLimit(f"reading took more than {most} seconds (`max_read_seconds` in [copies])")
            yield part


_NETWORK_ERRORS = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
)


def _reason(error: Exception) -> str:
    if isinstance(error, (httpcore.TimeoutException, httpx.TimeoutException)):
        return "the server does not answer in time"
    text = str(error).strip() or type(error).__name__
    return f"the connection fails: {text.splitlines()[0]}"


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """The authorities that are trusted. To read them takes longer than many a request: each object of a bucket, and
    each file of a copy, would wait for it."""
    return httpx.create_ssl_context(trust_env=False)


class _CheckedTransport(httpx.BaseTransport):
    """Sends the requests of httpx over connections to checked addresses."""

    def __init__(self, settings: CopySettings, stops: Callable[[], bool]):
        backend = _CheckedBackend(settings, stops)
        self._pool = httpcore.ConnectionPool(ssl_context=_certificates(), network_backend=backend)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        at = request.url
        url = httpcore.URL(scheme=at.raw_scheme, host=at.raw_host, port=at.port, target=at.raw_path)
        sent = httpcore.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        answer = self._pool.handle_request(sent)
        return httpx.Response(answer.status, headers=answer.headers, stream=_AnswerStream(answer))

    def close(self) -> None:
        self._pool.close()


class _AnswerStream(httpx.SyncByteStream):
    """The bytes of an answer."""

    def __init__(self, answer: httpcore.Response):
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


class _CheckedBackend(httpcore.NetworkBackend):
    """Connects to addresses that copies may read from, and to what a name means once, so that it cannot change between
    the check and the connection."""

    def __init__(self, settings: CopySettings, stops: Callable[[], bool]):
        self._private_hosts, self._stops = settings.private_hosts, stops
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = allowed_addresses(host, port, self._private_hosts)
        except OSError as error:
            raise httpcore.ConnectError(f"`{host}` is not found: {error.strerror or error}") from error
        refused: Exception = httpcore.ConnectError(f"`{host}` has no address")
        for address in addresses:
            raise_if_stopped(self._stops)
            try:
                opened = self._sockets.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                refused = error
                continue
            return _StoppableStream(opened, self._stops)
        raise refused


class _StoppableStream(httpcore.NetworkStream):
    """A connection whose reads end soon after the copy must stop."""

    def __init__(self, inner: httpcore.NetworkStream, stops: Callable[[], bool]):
        self._inner, self._stops = inner, stops

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        until = time.monotonic() + (timeout if timeout is not None else SILENT_SECONDS)
        while True:
            raise_if_stopped(self._stops)
            try:
                return self._inner.read(max_bytes, LOOK)
            except httpcore.ReadTimeout:
                if time.monotonic() >= until:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _StoppableStream(self._inner.start_tls(ssl_context, server_hostname, timeout), self._stops)

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)
