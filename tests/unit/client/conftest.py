"""A real HTTP server over the pipeline in memory, and one that answers what a test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from penstock.client import Client
from penstock.redaction import forget_secrets
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline
from unit.serve.web_server import web_server


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No environment and no project says where a server is."""
    for name in ("PENSTOCK_URL", "PENSTOCK_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    forget_secrets()


class Served:
    """The pipeline in memory behind HTTP."""

    def __init__(self, url: str, token: str, pipeline: MemoryPipeline, host: PipelineHost):
        self.url, self.token, self.pipeline, self.host = url, token, pipeline, host

    def rows(self) -> list[bytes]:
        return self.pipeline.rows["flights"]


@pytest.fixture(scope="session")
def _served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('state') / 'state.db'}")
    tokens, host = ApiTokens(database), PipelineHost()
    pipeline = MemoryPipeline(tokens)
    host.opened(pipeline)  # type: ignore[arg-type]
    with web_server(host) as (address, port):
        yield Served(f"http://{address}:{port}", tokens.create("admin", ("admin",)), pipeline, host)
    database.close()


@pytest.fixture
def served(_served: Served) -> Served:
    _served.pipeline.rows["flights"] = []
    _served.pipeline.keys.clear()
    return _served


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with Client(served.url, served.token) as made:
        yield made


class ScriptedServer:
    """Answers calls one after the other by `script`: (status, headers, body), None to break the connection, or an event
    for which it is silent before it does; then with `then`. `calls` has the path, the headers and the body of each,
    `ports` those that they came from."""

    def __init__(self) -> None:
        self.script: list[tuple[int, dict[str, str], bytes] | threading.Event | None] = []
        self.then = (202, dict[str, str](), b'{"successful_rows": 1, "quarantined_rows": 0}')
        self.calls: list[tuple[str, dict[str, str], bytes]] = []
        self.ports: list[int] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.ports.append(self.client_address[1])
                outer.calls.append((self.path, dict(self.headers.items()), body))
                given = outer.script.pop(0) if outer.script else outer.then
                if given is None or isinstance(given, threading.Event):
                    if given is not None:
                        given.wait(30)
                    self.close_connection = True
                    return
                status, headers, content = given
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(content))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
                self.close_connection = "Content-Length" in headers

            def log_message(self, format: str, *arguments: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def keys(self) -> list[str]:
        return [headers["Idempotency-Key"] for _, headers, _ in self.calls]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    made = ScriptedServer()
    yield made
    made.close()
