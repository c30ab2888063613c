"""Texts that are no UTF-8, or that no output can encode, in every place that takes text: no call is a status 500, and
every answer is UTF-8 of the documented form."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from penstock.serve.app import CALLS
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.test_overload import CompilingPipeline
from unit.serve.web_server import web_server

PATIENCE = 60.0
ODD = {
    "a lone surrogate": b"\xed\xa0\x80",
    "both halves of a pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "an overlong slash": b"\xc0\xaf",
    "a character that is cut off": b"\xe2\x82",
    "another encoding": "é".encode("latin-1"),
    "two bytes a character": "select".encode("utf-16"),
    "beyond Unicode": b"\xf4\x90\x80\x80",
    "no character": "\ufffe\uffff".encode(),
    "a NUL": b"\x00",
    "colours": b"\x1b[31m",
    "from right to left": "\u202e".encode(),
    "a byte order mark": "\ufeff".encode(),
    "line ends": b"\r\n\x85\xe2\x80\xa8",
}
ESCAPES = [r"\ud800", r"\udfff", r"\ude00\ud83d", r"\u0000", r"\uffff", r"\u2028"]
JSON_CALLS = ("/v0/sql", "/v0/pipes/top.json", "/v0/tokens", "/v0/backups", "/v0/pipes/take/copy")
HEADERS = ("X-Request-Id", "Idempotency-Key", "Content-Type", "Content-Encoding", "X-Forwarded-For", "Accept", "Cookie")
FORM, JSON = b"application/x-www-form-urlencoded", b"application/json"


class Server:
    """A server, and a token for everything."""

    def __init__(self, address: tuple[str, int], secret: str):
        self._address = address
        self.secret = secret

    def ask(self, method: str, target: bytes, body: bytes = b"", **headers: bytes) -> tuple[int, bytes]:
        """Send bytes as they are; gives the status and the body of the answer."""
        given = {b"Authorization": b"Bearer " + self.secret.encode(), b"Connection": b"close"}
        given |= {name.replace("_", "-").encode(): value for name, value in headers.items()}
        lines = [method.encode() + b" " + target + b" HTTP/1.1", b"Host: x", b"Content-Length: %d" % len(body)]
        head = b"\r\n".join([*lines, *(name + b": " + value for name, value in given.items())])
        with socket.create_connection(self._address, PATIENCE) as connection:
            connection.sendall(head + b"\r\n\r\n" + body)
            read = b"".join(iter(lambda: connection.recv(2**20), b""))
        first, _, rest = read.partition(b"\r\n\r\n")
        return int(first.split()[1]), rest


def check(answer: tuple[int, bytes], *about: object) -> None:
    status, body = answer
    text = body.decode("utf-8", "strict")
    assert status < 500, (status, text, about)
    if status >= 400 and text != "Invalid HTTP request received.":
        assert json.loads(text)["code"], about


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('state') / 'state.db'}")
    tokens = ApiTokens(database)
    host = PipelineHost()
    host.opened(CompilingPipeline(tokens))  # type: ignore[arg-type]
    with web_server(host) as address:
        yield Server(address, tokens.create("all", ("admin",)))
    database.close()


@pytest.mark.parametrize("name", ODD)
def test_in_addresses(server: Server, name: str) -> None:
    odd = quote(ODD[name]).encode()
    for call in CALLS:
        path = call.path.encode()
        for part in (b"{name}", b"{file}", b"{ref}", b"{id}"):
            path = path.replace(part, odd + b".json" if part == b"{file}" else odd)
        query = b"name=%b&q=%b&deployment=%b&token=%b&wait=%b&%b=%b" % ((odd,) * 7)
        check(server.ask(call.methods[0], path + b"?" + query), call.path, name)
    check(server.ask("GET", b"/v0/sql?q=SELECT+1&" + odd), name)
    check(server.ask("GET", b"/" + odd), name)


@pytest.mark.parametrize("name", ODD)
def test_as_they_are_in_the_request_line(server: Server, name: str) -> None:
    for target in (b"/v0/sql?q=" + ODD[name], b"/" + ODD[name], b"/v0/datasources/" + ODD[name]):
        status, body = server.ask("GET", target)
        assert status < 500, body
        body.decode("utf-8", "strict")


@pytest.mark.parametrize("name", ODD)
def test_in_headers(server: Server, name: str) -> None:
    odd = ODD[name].replace(b"\r\n", b"\n ").replace(b"\x00", b"\x01")
    for header in HEADERS:
        check(server.ask("POST", b"/v0/sql", b"SELECT 1", **{header.replace("-", "_"): odd}), header)
        check(server.ask("POST", b"/v0/events?name=flights", b'{"a": 1}', **{header.replace("-", "_"): odd}), header)
    check(server.ask("GET", b"/v0/status", Authorization=b"Bearer " + odd))
    check(server.ask("POST", b"/v0/sql", b"q=SELECT+1", Content_Type=FORM + b"; charset=" + odd))


@pytest.mark.parametrize("name", ODD)
def test_in_bodies(server: Server, name: str) -> None:
    odd = ODD[name]
    for path in JSON_CALLS:
        target = path.encode()
        for field in (b"q", b"name", odd):
            check(server.ask("POST", target, b'{"%b": "%b"}' % (field, odd), Content_Type=JSON), path)
            check(server.ask("POST", target, b"%b=%b" % (field, quote(odd).encode()), Content_Type=FORM), path)
        check(server.ask("POST", target, odd), path)
        check(server.ask("POST", target, b"SELECT '" + odd + b"' AS a", Content_Type=b"text/plain"), path)
    check(server.ask("POST", b"/v0/events?name=flights", b'{"a": "%b"}\n%b\n' % (odd, odd)))


@pytest.mark.parametrize("escape", ESCAPES)
def test_as_escapes_of_json(server: Server, escape: str) -> None:
    for path in JSON_CALLS:
        for field in ("q", "name", escape):
            for value in (
                f'"{escape}"',
                f'["{escape}", "{escape}"]',
                f'{{"{escape}": "{escape}"}}',
                f"\"SELECT '{escape}'\"",
            ):
                body = f'{{"{field}": {value}}}'.encode()
                check(server.ask("POST", path.encode(), body, Content_Type=JSON), path, body)
    check(server.ask("POST", b"/v0/events?name=flights", f'{{"{escape}": "{escape}"}}\n'.encode()))


@pytest.mark.parametrize("name", ODD)
def test_in_uploads(server: Server, name: str) -> None:
    odd = ODD[name]
    schema = b"SCHEMA >\n    a UInt8 `json:$.a`\n"
    for file, content in (
        (b"flights.datasource", schema + b"DESCRIPTION >\n    " + odd + b"\n"),
        (b"flights.datasource", odd + schema),
        (b"top.pipe", b"NODE n\nSQL >\n    SELECT '" + odd + b"' AS a\nTYPE endpoint\n"),
        (b"top.pipe", b"NODE n\nSQL >\n    %SELECT {{ String(" + odd + b", '" + odd + b"') }} AS a\nTYPE endpoint\n"),
        (b"penstock.toml", b'[server]\nhost = "' + odd + b'"\n'),
        (odd.replace(b"\r\n", b"") + b".datasource", schema),
    ):
        part = b'--b\r\nContent-Disposition: form-data; name="files"; filename="%b"\r\n\r\n%b\r\n--b--\r\n'
        kind = b"multipart/form-data; boundary=b"
        check(server.ask("POST", b"/v1/deploy?check=true", part % (file, content), Content_Type=kind), file, content)
