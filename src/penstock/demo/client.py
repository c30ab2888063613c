"""The demo's HTTP client, which sends what any user would send.

In: an address and a token. Out: JSON documents. Invariant: a post is repeated under its own idempotency key until the
server acknowledges it, for at most `PATIENCE` seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import httpx
import orjson

from penstock.demo.nyc_flights import Row

Answer: TypeAlias = "list[dict[str, Any]]"
Json: TypeAlias = "dict[str, Any]"

PATIENCE = 60.0
AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Statuses after which the same post is sent again: the key makes that safe."""


class RequestRefused(Exception):
    """The server answered with an error; the text is its message."""


class DemoClient:
    """Thread-safe."""

    def __init__(self, url: str, token: str, transport: httpx.BaseTransport | None = None):
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=120, transport=transport)

    def close(self) -> None:
        self._http.close()

    def append(self, name: str, rows: Sequence[Row], key: str) -> int:
        """Post rows; return how many were quarantined."""
        body = b"\n".join(orjson.dumps(row) for row in rows)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                headers = {"Idempotency-Key": key}
                answer = self._http.post("/v0/events", params={"name": name}, content=body, headers=headers)
                if answer.status_code not in AGAIN or time.monotonic() > deadline:
                    return int(_json(answer)["quarantined_rows"])
            except httpx.TransportError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)

    def sql(self, query: str, deployment: str = "live") -> Answer:
        rows: Answer = _json(self._http.post("/v0/sql", params={"deployment": deployment}, content=query))["data"]
        return rows

    def endpoint(self, name: str, deployment: str = "live") -> Answer:
        rows: Answer = _json(self._http.get(f"/v0/pipes/{name}.json", params={"deployment": deployment}))["data"]
        return rows

    def late_flows(self) -> list[Json]:
        """The flows of live that have not processed every row that was accepted."""
        found = _json(self._http.get("/v0/status"))
        return [late for each in found["deployments"] if each["state"] == "live" for late in each["behind"]]

    def deploy(self, files: Mapping[str, str]) -> Json:
        """Start a deployment that waits to be promoted; its record holds the plan."""
        parts = [("files", (path, text.encode())) for path, text in files.items()]
        return _json(self._http.post("/v1/deploy", params={"auto_promote": "false"}, files=parts))

    def deployment(self, ref: str) -> Json:
        return _json(self._http.get(f"/v1/deployments/{ref}"))

    def promote(self, ref: str) -> Json:
        return _json(self._http.post(f"/v1/deployments/{ref}/set-live"))

    def rollback(self) -> Json:
        return _json(self._http.post("/v1/deployments/rollback"))

    def events(self, ref: str) -> Iterator[tuple[str, Json]]:
        """The server-sent events of a deployment until it is at rest: (kind, data)."""
        with self._http.stream("GET", f"/v1/deployments/{ref}/events", timeout=None) as answer:
            kind = "message"
            for line in answer.iter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    kind = value
                elif field == "data":
                    yield kind, json.loads(value)


def _json(answer: httpx.Response) -> Json:
    """The body of an answer. Raises Refused with the server's own words."""
    if answer.is_success:
        found: Json = answer.json()
        return found
    try:
        problem: Json = answer.json()
    except ValueError:
        raise RequestRefused(f"{answer.request.url.path}: {answer.status_code} {answer.text[:200]}") from None
    details = [_problem_line(each) for each in problem.get("problems", ())]
    raise RequestRefused(
        "\n".join([f"{answer.request.url.path}: {problem.get('error', answer.status_code)}", *details])
    )


def _problem_line(problem: Json) -> str:
    place = f"{problem['file']}:{problem['line']}:{problem['column']}: " if problem.get("file") else ""
    return f"  {place}{problem.get('message')}"
