"""What httpx tells, as answers and errors of the client: the part of sending that both clients share.

In: responses and exceptions of httpx. Out: ClientErrors. Invariant: an error says whether the same call may succeed
later, and nothing of the token.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from penstock.client.client_error import ClientError, connection_error, server_error
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


def refuse_failure(answer: httpx.Response, request: Request, body: bytes) -> None:
    """Raises ClientError unless the answer is one of success."""
    if answer.is_success:
        return
    error = server_error(answer.status_code, body, answer.headers.get("Retry-After"))
    error.may_pass = answer.status_code in request.retried
    raise error


@contextmanager
def connection_errors(url: str) -> Iterator[None]:
    """Exceptions of httpx as ClientErrors."""
    try:
        yield
    except httpx.ConnectError as error:
        raise connection_error(f"no server answers at {url}: {error}", hint="`penstock up` starts one") from None
    except httpx.TimeoutException:
        hint = "`ClientOptions(timeout=…)` says how long a call may be silent"
        raise connection_error(f"{url} does not answer in time", hint=hint, code="timeout") from None
    except httpx.TransportError as error:
        raise connection_error(f"the connection to {url} broke: {error}", hint="call again") from None
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ClientError(f"`{url}` is not an address of a server: {error}", code="wrong-usage") from None


def timeout_of(seconds: float) -> httpx.Timeout:
    """The timeouts of one attempt."""
    return httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
