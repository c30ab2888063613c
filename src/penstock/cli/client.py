"""The server, as the commands call it.

In: an address and a token. Out: JSON values. Called by the commands. Invariant: whatever goes wrong
on the way is a `PenstockError`: `NoServer` where nobody answers, `Refused` with the server's words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import httpx

from penstock.cli.errors import Refused, WrongUsage, decoded
from penstock.errors import NoServer, Timeout

Json: TypeAlias = "dict[str, Any]"
Parameters: TypeAlias = Mapping[str, str]
SECONDS = 180.0


class Client:
    """One address."""

    def __init__(self, url: str, token: str | None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = url
        with self._told():
            self._http = httpx.Client(
                base_url=url, headers=headers, timeout=httpx.Timeout(SECONDS, connect=5), trust_env=False
            )

    def get(self, path: str, parameters: Parameters | None = None) -> Json:
        return self._call("GET", path, params=parameters)

    def post(self, path: str, parameters: Parameters | None = None) -> Json:
        return self._call("POST", path, params=parameters)

    def delete(self, path: str) -> Json:
        return self._call("DELETE", path)

    def query(self, text: str, deployment: str) -> Json:
        """Run SQL."""
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        parameters = {"deployment": deployment}
        return self._call("POST", "/v0/sql", params=parameters, content=text.encode(), headers=headers)

    def append(self, parameters: Parameters, body: bytes, key: str) -> Json:
        """Send rows; the key makes it safe to send them again."""
        return self._call("POST", "/v0/events", params=parameters, content=body, headers={"Idempotency-Key": key})

    def deploy(self, files: Mapping[str, str], parameters: Parameters) -> Json:
        """Send a project."""
        parts = [("files", (path, text.encode("utf-8", "surrogatepass"))) for path, text in files.items()]
        return self._call("POST", "/v1/deploy", params=parameters, files=parts)

    def events(self, deployment: int) -> Iterator[tuple[str, Json]]:
        """What a deployment does, until it comes to rest: kind and data."""
        with self._told(), self._http.stream("GET", f"/v1/deployments/{deployment}/events", timeout=None) as answer:
            if not answer.is_success:
                answer.read()
                raise _refused(answer)
            yield from _events(answer.iter_lines())

    def _call(self, method: str, path: str, **rest: Any) -> Json:
        with self._told():
            answer = self._http.request(method, path, **rest)
        if not answer.is_success:
            raise _refused(answer)
        try:
            found: Json = answer.json()
        except ValueError:
            raise NoServer(f"what answers at {self._url} is no Penstock server") from None
        return found

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise Timeout(f"{self._url} took longer than {SECONDS:.0f} s") from error
        except httpx.TransportError as error:
            raise NoServer(f"no server answers at {self._url}", hint="`penstock up` starts one") from error
        except (httpx.InvalidURL, ValueError) as error:
            raise WrongUsage(f"`{self._url}` is no address of a server: {error}") from error


def _events(lines: Iterator[str]) -> Iterator[tuple[str, Json]]:
    kind = "message"
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "event":
            kind = value
        elif field == "data":
            yield kind, json.loads(value)


def _refused(answer: httpx.Response) -> Refused:
    return Refused(answer.status_code, decoded(answer.text[:100_000]))


def flags(**given: object) -> dict[str, str]:
    """Parameters of a call: what is None is left out, yes and no are spelt as HTTP has them."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if value is not None
    }


