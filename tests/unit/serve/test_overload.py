"""Slow, many, large and nasty requests over real connections: meanwhile the server answers /health."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress

import httpx
import pytest

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.model.types import String
from penstock.parse.project_loader import load_files
from penstock.serve.http import rendered_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.rendered_response import AnswerBudget
from penstock.serve.http.request_body import BodyBudget
from penstock.serve.server import connection_limits
from penstock.serve.server.process import WebServer
from penstock.sql.compile import compile_pipe, compile_sql
from penstock.state.tokens import ApiTokens
from penstock.template.render_frame import Parameter, RenderInput
from unit.serve.memory import MemoryPipeline, Result
from unit.serve.web_server import serving, web_server
from waiting import wait_until

PATIENCE = 30.0
"""How long /health may take on a busy machine; what is tested here would take it minutes, or for ever."""
PROJECT = load_files(
    {
        "flights.datasource": "SCHEMA >\n    carrier String `json:$.carrier`\n",
        "top.pipe": "NODE n\nSQL >\n    %SELECT {{ String(s, '') }} AS s, {{ Int32(i, 1) }} AS i,"
        " {{ Float64(f, 1) }} AS f, {{ DateTime(d, '2026-01-01 00:00:00') }} AS d FROM flights\nTYPE endpoint\n",
    }
).project


class CompilingPipeline(MemoryPipeline):
    """Compiles SQL and renders templates as the server does."""

    def sql(self, text: str, *given: object) -> Result:  # type: ignore[override]
        compile_sql(PROJECT, Text(text, Location("query")), "clickhouse")
        return Result((), [])

    def endpoint(self, name: str, parameters: Mapping[str, Parameter], ref: str, *rights: object) -> Result:  # type: ignore[override]
        pipe = PROJECT.pipe("top")
        assert pipe is not None
        compile_pipe(PROJECT, pipe, RenderInput("call", parameters, {}))
        return Result((), [])


def made_host(tokens: ApiTokens, bodies: BodyBudget) -> PipelineHost:
    host = PipelineHost(bodies=bodies)
    host.opened(CompilingPipeline(tokens))  # type: ignore[arg-type]
    return host


def sent(address: tuple[str, int], data: bytes) -> socket.socket:
    connection = socket.create_connection(address, PATIENCE)
    connection.sendall(data)
    return connection


def send_without_end(connection: socket.socket, data: bytes) -> None:
    while True:
        connection.sendall(data)


def is_healthy(address: tuple[str, int]) -> bool:
    return httpx.get(f"http://{address[0]}:{address[1]}/health", timeout=PATIENCE).status_code == 200


def post_of(secrets: Mapping[str, str], length: int) -> bytes:
    target = f"/v0/events?name=flights&token={secrets['append']}"
    return f"POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize("head", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nX: "])
def test_a_head_that_does_not_end_closes_its_connection(
    tokens: ApiTokens, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(connection_limits, "IDLE_SECONDS", 0.2)
    with web_server(made_host(tokens, BodyBudget())) as address, sent(address, head) as connection:
        assert connection.recv(100) == b""


def test_a_client_that_takes_no_answers_loses_its_connection(
    tokens: ApiTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_limits, "STALLED_SECONDS", 0.2)
    monkeypatch.setattr(connection_limits, "MOST_WAITING_CALLS", 100_000)
    with web_server(made_host(tokens, BodyBudget())) as address, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(address)
        connection.settimeout(PATIENCE)
        with pytest.raises(ConnectionError):  # it is cut, also if its own calls are not taken any more
            send_without_end(connection, b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
        assert is_healthy(address)


def test_no_answer_waits_until_the_client_confirms_its_head(tokens: ApiTokens) -> None:
    """Without this option an answer on a connection that is kept takes 40 ms, however little there is to do."""
    server = WebServer(made_host(tokens, BodyBudget()))
    with serving(server) as address, socket.create_connection(address, PATIENCE):
        wait_until(lambda: server.server_state.connections)
        [connection] = server.server_state.connections
        sent_by = connection.transport.get_extra_info("socket")
        assert sent_by.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_calls_without_end_on_one_connection_close_it(tokens: ApiTokens) -> None:
    with (
        web_server(made_host(tokens, BodyBudget())) as address,
        socket.create_connection(address, PATIENCE) as connection,
    ):
        with pytest.raises(ConnectionError):
            send_without_end(connection, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 1_000)
        assert is_healthy(address)


def test_a_head_without_end_closes_its_connection(tokens: ApiTokens) -> None:
    """The answer says why; a client that is still sending may see a reset instead."""
    with (
        web_server(made_host(tokens, BodyBudget())) as address,
        sent(address, b"GET /health HTTP/1.1\r\n") as connection,
    ):
        answer = b""
        connection.settimeout(0.01)
        with suppress(ConnectionError):
            while not answer:
                connection.sendall(b"X: " + b" " * 8_000 + b"\r\n")
                with suppress(TimeoutError):
                    answer = connection.recv(4096)
        assert not answer or b" 431 " in answer
        assert is_healthy(address)


def test_a_body_that_does_not_end_is_refused(tokens: ApiTokens, secrets: dict[str, str]) -> None:
    host = made_host(tokens, BodyBudget(seconds=0.2))
    with web_server(host) as address, sent(address, post_of(secrets, 1000) + b"{") as connection:
        assert b" 408 " in connection.recv(4096)
        assert host.bodies.held == 0


def test_bodies_share_one_budget(tokens: ApiTokens, secrets: dict[str, str]) -> None:
    host = made_host(tokens, BodyBudget(most_bytes=2**20))
    packed = gzip.compress(b"\n" * 2**24)
    with web_server(host) as address:
        url = f"http://{address[0]}:{address[1]}/v0/events?name=flights&token={secrets['append']}"
        for body, headers in ((b" " * (2**20 + 1), {}), (packed, {"Content-Encoding": "gzip"})):
            answer = httpx.post(url, content=body, headers=headers, timeout=PATIENCE)
            assert (answer.status_code, answer.json()["code"]) == (429, "overloaded")
            assert answer.headers["Retry-After"] == "1"
        with sent(address, post_of(secrets, 2**20) + b"{" * (2**20 - 1)):
            wait_until(lambda: host.bodies.held == 2**20 - 1)
            assert httpx.post(url, content=b"{}", timeout=PATIENCE).status_code == 429
        wait_until(lambda: host.bodies.held == 0)
        assert httpx.post(url, content=b"{}", timeout=PATIENCE).status_code == 202


class LargePipeline(MemoryPipeline):
    """Answers every query with some 20 MB, more than a connection holds."""

    def sql(self, text: str, *given: object) -> Result:  # type: ignore[override]
        return Result((("a", String()),), [("x" * 1_000,)] * 20_000, size=20_000_000)


def test_answers_that_are_not_read_share_one_budget(tokens: ApiTokens, secrets: dict[str, str]) -> None:
    host = PipelineHost(answers=AnswerBudget(30_000_000))
    host.opened(LargePipeline(tokens))  # type: ignore[arg-type]
    target = f"/v0/sql?q=SELECT+1&token={secrets['read']}"
    with web_server(host) as address:
        url = f"http://{address[0]}:{address[1]}{target}"
        with sent(address, f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()):
            wait_until(lambda: host.answers.held == 20_000_000)
            refused = httpx.get(url, timeout=PATIENCE)
            assert (refused.status_code, refused.json()["code"]) == (429, "overloaded")
        wait_until(lambda: host.answers.held == 0)
        assert len(httpx.get(url, timeout=PATIENCE).json()["data"]) == 20_000
        wait_until(lambda: host.answers.held == 0)


def ask_by_http_1_0(address: tuple[str, int], target: str) -> tuple[dict[str, str], bytes]:
    """The headers and the body of an answer, by what a client without chunks sees until the connection is closed."""
    with sent(address, f"GET {target} HTTP/1.0\r\nHost: x\r\n\r\n".encode()) as connection:
        read = b"".join(iter(lambda: connection.recv(2**20), b""))
    head, _, body = read.partition(b"\r\n\r\n")
    lines = (line.partition(":") for line in head.decode().lower().split("\r\n")[1:])
    return {name: value.strip() for name, _, value in lines}, body


@pytest.mark.parametrize("form", ["JSON", "JSONEachRow", "CSVWithNames"])
def test_a_large_answer_to_http_1_0_has_its_length(tokens: ApiTokens, secrets: dict[str, str], form: str) -> None:
    """Without it, a client could not tell rows that were cut off from all rows."""
    host = PipelineHost(answers=AnswerBudget(30_000_000))
    host.opened(LargePipeline(tokens))  # type: ignore[arg-type]
    target = f"/v0/sql?q=SELECT+1+FORMAT+{form}&token={secrets['read']}"
    with web_server(host) as address:
        headers, body = ask_by_http_1_0(address, target)
        assert body == httpx.get(f"http://{address[0]}:{address[1]}{target}", timeout=PATIENCE).content
        assert "transfer-encoding" not in headers
        assert int(headers["content-length"]) == len(body)
        wait_until(lambda: host.answers.held == 0)
        host.answers.take(20_000_000)
        headers, body = ask_by_http_1_0(address, target)
        assert b"overloaded" in body, "rendering counts too"


def test_an_answer_to_http_1_0_that_finds_no_disk_is_refused(
    tokens: ApiTokens, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - the code under test closes it
    monkeypatch.setattr(rendered_response, "TemporaryFile", lambda: full)
    host = PipelineHost()
    host.opened(LargePipeline(tokens))  # type: ignore[arg-type]
    with web_server(host) as address:
        headers, body = ask_by_http_1_0(address, f"/v0/sql?q=SELECT+1&token={secrets['read']}")
    assert b"storage-full" in body
    assert int(headers["content-length"]) == len(body)
    assert full.closed
    assert host.answers.held == 0


def test_idle_connections_make_room_and_busy_ones_do_not(tokens: ApiTokens, secrets: dict[str, str]) -> None:
    host = made_host(tokens, BodyBudget())
    with web_server(host, most_connections=3) as address, ExitStack() as open_:
        for _ in range(12):
            open_.enter_context(sent(address, b"GET /"))
        assert is_healthy(address)
        for count in range(1, 4):
            open_.enter_context(sent(address, post_of(secrets, 10) + b"{"))
            wait_until(lambda count=count: host.bodies.held == count)  # type: ignore[misc]
        with sent(address, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n") as refused:
            assert b" 503 " in refused.recv(4096)


def worst_texts(size: int) -> Iterator[str]:
    """Texts that parsers, patterns and messages are slow on."""
    units = ("a.", "a-", "password.", " ", "'\\'", "/*", "(", "[", "Array(", "f(", "{{", "9", "1e", "$a$", "é")
    for unit in units:
        yield (unit * (size // len(unit)))[:size]
    yield "SELECT 1" + " " * size + "x"
    yield "SELECT CAST(1 AS " + "Array(" * (size // 6)
    yield "SELECT " + ", ".join(f"q{at}" for at in range(size // 8)) + " FROM flights"
    names = ", ".join(f"c{at} AS (SELECT a.x AS x FROM c{at - 1} AS a, c{at - 1} AS b)" for at in range(1, 40))
    yield f"WITH c0 AS (SELECT 1 AS x), {names} SELECT * FROM c39"


def deploy(client: httpx.Client, text: str) -> httpx.Response:
    files = [
        ("files", ("a.pipe", f"NODE n\nSQL >\n    {text}\nTYPE endpoint\n".encode())),
        ("files", ("b.datasource", f"SCHEMA >\n    {text}\n".encode())),
        ("files", ("penstock.toml", text.encode())),
    ]
    return client.post("/v1/deploy?check=true", files=files)


PLACES: Mapping[str, Callable[[httpx.Client, str], httpx.Response]] = {
    "path": lambda client, text: client.get(f"/{text}"[:60_000]),
    "query string": lambda client, text: client.get("/v0/sql", params={"q": text[:20_000]}),
    "header": lambda client, text: client.get("/v0/sql", headers={"Authorization": f"Bearer {text}".encode()}),
    "key": lambda client, text: client.post("/v0/events?name=flights", headers={"Idempotency-Key": text.encode()}),
    "SQL": lambda client, text: client.post("/v0/sql", content=text.encode()),
    "parameter": lambda client, text: client.post("/v0/pipes/top.json", json=dict.fromkeys("sifd", text)),
    "form": lambda client, text: client.post("/v0/tokens", data={"name": text, "scopes": text}),
    "rows": lambda client, text: client.post("/v0/events?name=flights&format=json", content=text.encode()),
    "files": deploy,
}
HEADS = ("path", "query string", "header", "key")
"""Places whose texts may be refused by the HTTP library of either side."""


@pytest.mark.parametrize("place", PLACES)
def test_health_answers_under_the_worst_texts(tokens: ApiTokens, secrets: dict[str, str], place: str) -> None:
    host = made_host(tokens, BodyBudget())
    with web_server(host) as address, ThreadPoolExecutor(2) as threads:
        headers = {"Authorization": f"Bearer {secrets['admin']}"}
        with httpx.Client(base_url=f"http://{address[0]}:{address[1]}", headers=headers, timeout=120) as client:
            calls = [threads.submit(PLACES[place], client, text) for text in worst_texts(100_000)]
            while wait(calls, 0.2).not_done:
                assert client.get("/health", timeout=PATIENCE).status_code == 200
            codes = {call.result().status_code for call in calls if call.exception() is None}
    assert codes <= {200, 201, 202, 400, 401, 404, 413, 429, 431}
    lost = [error for call in calls if (error := call.exception()) is not None]
    assert not lost or place in HEADS
    assert all(isinstance(each, (httpx.TransportError, httpx.InvalidURL)) for each in lost)
