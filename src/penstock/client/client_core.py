"""What a client is, with and without asyncio: where it calls, how, and what it makes of its arguments.

In: the arguments of a client and of its calls. Out: insertions, requests and arguments of httpx. Invariant: nothing is
sent here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import httpx
from pydantic import BaseModel

from penstock.api.objects.row_insertion import InsertOptions, RowTarget
from penstock.client.client_error import ClientError
from penstock.client.connection import Connection, find_connection
from penstock.client.http_answers import ClientOptions, timeout_of
from penstock.client.insertion import Insertion, InsertTarget
from penstock.client.requests import Request
from penstock.client.retries import LEAST_SECONDS, Deadline


class _Sent(TypedDict):
    """The arguments of httpx for a request."""

    method: str
    url: str
    content: bytes
    params: dict[str, str]
    headers: dict[str, str]
    timeout: httpx.Timeout


@dataclass(frozen=True, slots=True)
class ClientCore:
    """A connection with the options of its client."""

    connection: Connection
    options: ClientOptions

    @classmethod
    def of(
        cls, url: str | None, token: str | None, project: str | Path | None, options: ClientOptions | None
    ) -> ClientCore:
        """The core of a client with these arguments. Raises ClientError."""
        folder = Path(project).resolve() if project is not None else None
        if folder is not None and not folder.is_dir():
            raise ClientError(f"there is no folder {project}", code="wrong-usage")
        return cls(find_connection(url, token, folder), options or ClientOptions())

    def insertion(
        self, target: str | RowTarget, options: InsertOptions | None, model: type[BaseModel] | None
    ) -> Insertion:
        """An insertion. Raises ClientError."""
        return Insertion(_insert_target(target, model), options or InsertOptions(), self.options.batch_limits)

    def sent(self, request: Request, deadline: Deadline) -> _Sent:
        """A request for httpx."""
        return {
            "method": "POST",
            "url": request.path,
            "content": request.content,
            "params": dict(request.parameters),
            "headers": dict(request.headers),
            "timeout": timeout_of(deadline.next_attempt(self._silence(request))),
        }

    def _silence(self, request: Request) -> float:
        """The seconds that an attempt may be silent: of what can be sent again at any time, not so many that there is
        no time for another attempt."""
        most = self.options.timeout
        if request.is_quick and self.options.retry_seconds:
            return min(most, max(LEAST_SECONDS, self.options.retry_seconds / 2))
        return most

    def deadline(self) -> Deadline:
        """That of a call which begins now."""
        return Deadline.after(self.options.retry_seconds)


def _insert_target(target: str | RowTarget, model: type[BaseModel] | None) -> InsertTarget:
    """The target of this name, or of this object, which is its own version; its model is used unless one is given."""
    if isinstance(target, str):
        return InsertTarget(target, model)
    name, own = getattr(target, "ref", None), getattr(target, "model", None)
    if not isinstance(name, str):
        message = f"rows are inserted into a name, a table or a stream, not into a {type(target).__name__}"
        raise ClientError(message, code="wrong-usage")
    return InsertTarget(name, model or (own if isinstance(own, type) and issubclass(own, BaseModel) else None))
