"""The HTTP client of the commands.

In: the server's address and a token. Out: JSON documents. Invariant: every failure is a `PenstockError`: `NoServer`
where nothing answers, `Timeout` after 180 seconds, `ServerRefusal` with the server's own error document otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from penstock.cli.errors import ServerRefusal, WrongUsage, parse_error_document
from penstock.cli.json_documents import Json, Parameters
from penstock.client.project_identity import require_same_project
from penstock.client.project_server import read_server_record
from penstock.errors import NoServer, Timeout

SECONDS = 180.0
SQL_HEADERS = {"Content-Type": "text/plain; charset=utf-8"}
CALLS_HEADERS = {"Content-Type": "application/x-ndjson"}
PLANNING_SECONDS = 900.0
"""Planning counts the existing rows that do not convert, up to 20 million of each table."""
SILENT_SECONDS = 40.0
"""The server says something every 10 seconds."""


def connect(url: str, token: str | None, folder: Path | None) -> ServerClient:
    """A client of the server at an address that was found by a project's folder, or was given (no folder). Raises
    OtherProject if another project's server answers there."""
    if folder is not None:
        require_same_project(url, folder, read_server_record(folder))
    return ServerClient(url, token)


class ServerClient:
    """Calls to the server at one address."""

    def __init__(self, url: str, token: str | None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = url
        with self._translate_errors():
            self._http = httpx.Client(
                base_url=url, headers=headers, timeout=httpx.Timeout(SECONDS, connect=5), trust_env=False
            )

    def get(self, path: str, parameters: Parameters | None = None) -> Json:
        return self._call("GET", path, params=parameters)

    def text(self, path: str, parameters: Mapping[str, Sequence[str]]) -> str:
        """The answer as it was sent; a parameter may have several values."""
        with self._translate_errors():
            answer = self._http.get(path, params={name: list(values) for name, values in parameters.items()})
        if not answer.is_success:
            raise _server_refusal(answer)
        return answer.text

    def post(self, path: str, parameters: Parameters | None = None) -> Json:
        return self._call("POST", path, params=parameters)

    def delete(self, path: str) -> Json:
        return self._call("DELETE", path)

    def query(self, text: str, parameters: Parameters) -> Json:
        """Run SQL."""
        return self._call("POST", "/v0/sql", params=parameters, content=text.encode(), headers=SQL_HEADERS)

    def query_text(self, text: str, parameters: Parameters) -> Iterator[str]:
        """Run SQL that names a format; its answer in pieces."""
        call = self._http.stream("POST", "/v0/sql", params=parameters, content=text.encode(), headers=SQL_HEADERS)
        with self._translate_errors(), call as answer:
            if not answer.is_success:
                answer.read()
                raise _server_refusal(answer)
            yield from answer.iter_text()

    def append(self, parameters: Parameters, body: bytes, key: str) -> Json:
        """Send rows; the key makes it safe to send them again."""
        path = "/v0/datasources" if parameters.get("format") in ("csv", "parquet") else "/v0/events"
        return self._call("POST", path, params=parameters, content=body, headers={"Idempotency-Key": key})

    def replace_rows(self, parameters: Parameters, body: bytes, key: str) -> Json:
        """Put rows in the place of all others; the key makes it safe to send them again."""
        headers = {"Idempotency-Key": key}
        return self._call(
            "POST", "/v0/datasources", params={**parameters, "mode": "replace"}, content=body, headers=headers
        )

    def back_up(self, destination: str) -> Json:
        """Make a backup on the server's machine, however long it takes."""
        return self._call("POST", "/v0/backups", params={"destination": destination}, timeout=None)

    def compare(self, parameters: Parameters, calls: bytes) -> Json:
        """Compare two versions, however long it takes; `calls` are lines of JSON."""
        return self._call("POST", "/v0/diff", params=parameters, content=calls, headers=CALLS_HEADERS, timeout=None)

    def compare_tables(self, left: str, right: str) -> Json:
        """Compare two data sources of live, however long it takes."""
        parameters = {"left": left, "right": right}
        return self._call("GET", "/v0/diff/tables", params=parameters, timeout=None)

    def promote_if_same(self, deployment: str, parameters: Parameters, calls: bytes) -> Json:
        """Make a deployment live if it is the same as the one that is, however long comparing them takes."""
        path = f"/v1/deployments/{deployment}/set-live"
        return self._call("POST", path, params=parameters, content=calls, headers=CALLS_HEADERS, timeout=None)

    def deploy(self, files: Mapping[str, str], parameters: Parameters) -> Json:
        """Send a project."""
        parts = [("files", (path, text.encode("utf-8", "surrogatepass"))) for path, text in files.items()]
        return self._call("POST", "/v1/deploy", params=parameters, files=parts, timeout=PLANNING_SECONDS)

    def events(self, deployment: int) -> Iterator[tuple[str, Json]]:
        """The events of a deployment as (kind, data), until it is at rest; `alive` now and then while nothing happens.
        Raises Timeout if the connection is silent for longer, as it is after the machine has slept."""
        with (
            self._translate_errors(),
            self._http.stream("GET", f"/v1/deployments/{deployment}/events", timeout=SILENT_SECONDS) as answer,
        ):
            if not answer.is_success:
                answer.read()
                raise _server_refusal(answer)
            yield from _parse_events(answer.iter_lines())

    def _call(self, method: str, path: str, **rest: Any) -> Json:
        with self._translate_errors():
            answer = self._http.request(method, path, **rest)
        if not answer.is_success:
            raise _server_refusal(answer)
        try:
            found: Json = answer.json()
        except ValueError:
            raise NoServer(
                f"the server at {self._url} is not a Penstock server", hint="check --url and PENSTOCK_URL"
            ) from None
        return found

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise Timeout(f"{self._url} took longer than {SECONDS:.0f} s") from error
        except httpx.TransportError as error:
            raise NoServer(f"no server answers at {self._url}", hint="`penstock up` starts one") from error
        except (httpx.InvalidURL, ValueError) as error:
            raise WrongUsage(f"`{self._url}` is not an address of a server: {error}") from error


def _parse_events(lines: Iterator[str]) -> Iterator[tuple[str, Json]]:
    kind = "message"
    for line in lines:
        field, _, value = line.partition(": ")
        if line.startswith(":"):  # a comment of the protocol
            yield "alive", {}
        elif field == "event":
            kind = value
        elif field == "data":
            yield kind, json.loads(value)


def _server_refusal(answer: httpx.Response) -> ServerRefusal:
    return ServerRefusal(answer.status_code, parse_error_document(answer.text[:100_000]))
