"""What httpx tells, as answers and errors of the client: the part of sending that both clients share.

In: responses and exceptions of httpx. Out: ClientErrors. Invariant: an error says whether the same call may succeed
later, and nothing of the token.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from penstock.client.client_error import OTHER_SERVER_HINT, ClientError, connection_error, server_error
from penstock.client.requests import Request
from penstock.client.rows.row_batches import BatchLimits

CONNECT_SECONDS = 5.0
BATCH_LIMITS = BatchLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """How a client calls."""

    timeout: float = 90.0
    """The seconds that one attempt may be silent."""
    retry_seconds: float = 60.0
    """How long a call is tried again where the connection breaks, or the server starts or is busy; 0: not at all."""
    batch_limits: BatchLimits = BATCH_LIMITS
    """The most rows and bytes that are sent at once; this much is in memory."""
    sends_at_once: int = 8
    """Of an AsyncClient: the batches of all its insertions that are under way at once. Later ones wait."""

    def __post_init__(self) -> None:
        if not self.timeout > 0 or not self.retry_seconds >= 0:
            raise ValueError("timeout is more than 0 seconds, and retry_seconds 0 or more")
        if self.sends_at_once < 1:
            raise ValueError(f"sends_at_once is 1 or more, not {self.sends_at_once}")


def refuse_failure(answer: httpx.Response, request: Request, body: bytes) -> None:
    """Raises ClientError unless the answer is one of success."""
    if answer.is_success:
        return
    error = server_error(answer.status_code, body, answer.headers.get("Retry-After"))
    error.may_pass = answer.status_code in request.retried
    error.maybe_stored = error.may_pass or answer.is_server_error
    raise error


@contextmanager
def connection_errors(url: str) -> Iterator[None]:
    """Exceptions of httpx as ClientErrors."""
    try:
        yield
    except (httpx.HTTPError, RuntimeError) as error:
        made = _error_of(error, url)
        made.maybe_stored = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        raise made from None
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ClientError(f"`{url}` is not an address of a server: {error}", code="wrong-usage") from None


def _error_of(error: Exception, url: str) -> ClientError:
    match error:
        case httpx.ConnectError():
            return connection_error(f"no server answers at {url}: {error}", hint="`penstock up` starts one")
        case httpx.TimeoutException():
            hint = "`ClientOptions(timeout=…)` says how long a call may be silent"
            return connection_error(f"{url} does not answer in time", hint=hint, code="timeout")
        case httpx.TransportError():
            return connection_error(f"the connection to {url} broke: {error}", hint="call again")
        case httpx.HTTPError():
            return ClientError(f"the answer of {url} cannot be read: {error}", hint=OTHER_SERVER_HINT)
        case _:
            hint = "an AsyncClient is for one event loop: make one inside of each"
            return ClientError(f"the connections to {url} cannot be used: {error}", hint=hint, code="wrong-usage")


def require_open(connections: httpx.Client | httpx.AsyncClient) -> None:
    """Raises ClientError for connections that were closed."""
    if connections.is_closed:
        raise ClientError("the client is closed", hint="make another", code="wrong-usage")


def timeout_of(seconds: float) -> httpx.Timeout:
    """The timeouts of one attempt."""
    return httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
