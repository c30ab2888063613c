"""Fifty clients at once over real connections: every call is answered, and with its own rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
import pytest

from penstock.serve.http.pipeline_host import PipelineHost
from unit.serve.memory import MemoryPipeline
from unit.serve.web_server import web_server

CLIENTS, ROUNDS = 50, 4


@pytest.fixture
def address(host: PipelineHost, pipeline: MemoryPipeline) -> Iterator[str]:
    with web_server(host) as (name, port):
        yield f"http://{name}:{port}"


def given(answer: httpx.Response) -> list[dict]:
    """The parameters that the rows of an answer name."""
    match answer.headers["content-type"].partition(";")[0]:
        case "application/json":
            rows = answer.json()["data"]
        case "application/x-ndjson":
            rows = [json.loads(line) for line in answer.text.splitlines()]
        case "text/csv":
            rows = list(csv.DictReader(io.StringIO(answer.text)))
        case other:
            raise AssertionError(other)
    return [json.loads(row["parameters"]) for row in rows]


def test_no_answer_fails_or_is_of_another_call(address: str, secrets: dict[str, str]) -> None:
    ready = Barrier(CLIENTS)

    def ask(number: int) -> int:
        answered = 0
        headers = {"Authorization": f"Bearer {secrets['read']}"}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
            ready.wait(30)
            for at in range(ROUNDS):
                mine = {"client": str(number), "round": str(at), "text": f"é'\"\\{number}"}
                for form in ("json", "ndjson", "csv"):
                    answer = client.get(f"/v0/pipes/top.{form}", params=mine)
                    assert answer.status_code == 200, answer.text
                    assert given(answer) == [mine]
                    answered += 1
                query = client.post("/v0/sql", content=f"SELECT {number} AS client, {at} AS round")
                assert query.status_code == 200, query.text
                assert [tuple(row.values()) for row in query.json()["data"]] == [(number, at)]
                answered += 1
        return answered

    with ThreadPoolExecutor(CLIENTS) as threads:
        assert sum(threads.map(ask, range(CLIENTS))) == CLIENTS * ROUNDS * 4
