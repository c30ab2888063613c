"""Posts are sent again under the same key; errors come in the server's own words."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import orjson
import pytest

from penstock.demo.client import DemoClient, RequestRefused
from penstock.demo.nyc_flights import posts
from penstock.demo.replay import Replay

Answer = Callable[[httpx.Request], httpx.Response]


def client(answer: Answer) -> DemoClient:
    return DemoClient("http://server", "secret", httpx.MockTransport(answer))


class Flaky:
    """Loses the answer to every third post after it kept the rows, as a restarted server does."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.keys: set[str] = set()
        self.calls = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        assert request.headers["authorization"] == "Bearer secret"
        rows = [orjson.loads(line)["n"] for line in request.content.splitlines()]
        key = request.headers["idempotency-key"]
        if key not in self.keys:
            self.rows += rows
            self.keys.add(key)
        if self.calls % 3 == 1:
            raise httpx.ReadError("connection reset", request=request)
        if self.calls % 3 == 2:
            return httpx.Response(503, json={"error": "starting", "code": "unavailable", "problems": []})
        return httpx.Response(202, json={"successful_rows": len(rows), "quarantined_rows": 0})


def test_a_replay_over_a_flaky_line_posts_each_row_once_and_in_order() -> None:
    server = Flaky()
    flights = tuple({"n": number} for number in range(1200))
    replay = Replay(client(server), posts(flights, ()), seconds=0)
    replay.run()
    assert replay.failure is None
    assert server.rows == list(range(1200))
    assert (replay.rows, replay.share(), replay.quarantined) == (1200, 1.0, 0)


def test_a_refused_post_ends_the_replay_with_the_servers_words() -> None:
    problem = {"message": "unknown data source", "file": None}
    body = {"error": "there is no data source `flights`", "code": "not-found", "problems": [problem]}
    replay = Replay(client(lambda _: httpx.Response(404, json=body)), posts(({"n": 1},), ()), seconds=0)
    replay.run()
    assert isinstance(replay.failure, RequestRefused)
    assert "there is no data source `flights`\n  unknown data source" in str(replay.failure)


def test_events_are_read_as_they_come() -> None:
    stream = 'event: state\ndata: {"state": "backfilling"}\n\nevent: progress\ndata: {"rows": 1, "of": 2}\n\n'
    found = list(client(lambda _: httpx.Response(200, text=stream)).events("2"))
    assert found == [("state", {"state": "backfilling"}), ("progress", {"rows": 1, "of": 2})]


def test_an_answer_that_is_no_json_is_told() -> None:
    with pytest.raises(RequestRefused, match="/v0/sql: 502 bad gateway"):
        client(lambda _: httpx.Response(502, text="bad gateway")).sql("SELECT 1")
