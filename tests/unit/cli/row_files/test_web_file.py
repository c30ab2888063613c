"""Files of rows at addresses: what is fetched, what is said where it cannot be, and what is never shown."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import httpx
import pytest
import zstandard

from penstock.cli.row_files import web_file
from penstock.cli.row_files.row_file import open_rows
from penstock.cli.row_files.web_file import fetched_file, is_address, shown_address
from penstock.errors import InvalidRequest
from web_server import WebServer

ROWS = b'{"a": 1}\n{"a": 2}\n'


@pytest.fixture
def web() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.close()


@pytest.mark.parametrize(
    ("path", "content", "kind", "found"),
    [
        ("/rows.ndjson", ROWS, "text/plain", "ndjson"),
        ("/rows.csv?signature=x", b"a\n1\n", "text/plain", "csv"),
        ("/export", b"a\n1\n", "text/csv; charset=utf-8", "csv"),
        ("/rows%20of%20May.csv.gz", gzip.compress(b"a\n1\n"), "application/gzip", "csv"),
        ("/", b'{"a":\n 1}', "application/json", "json"),
        ("/a/..%2F..%2Fb.json", b'[{"a": 1}]', "text/plain", "json"),
    ],
)
def test_a_file_is_what_its_name_and_its_server_say(
    web: WebServer, path: str, content: bytes, kind: str, found: str
) -> None:
    web.page(path, content, Content_Type=kind)
    with open_rows(web.url(path)) as opened:
        assert opened.format == found
        body = b"".join(opened.bodies())
    assert body in (content, b"a\n1\n")


def test_what_is_packed_for_the_way_is_unpacked(web: WebServer) -> None:
    web.page("/rows.ndjson", gzip.compress(ROWS), Content_Encoding="gzip")
    with open_rows(web.url("/rows.ndjson")) as opened:
        assert list(opened.bodies()) == [ROWS]


def test_an_address_that_moved_is_followed(web: WebServer) -> None:
    def move(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "/now.ndjson")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    web.pages["/before"] = move
    web.page("/now.ndjson", ROWS)
    with open_rows(web.url("/before")) as opened:
        assert list(opened.bodies()) == [ROWS]


@pytest.mark.parametrize("to", ["http://host/rows.ndjson", "//host:8/x", "/rows.ndjson"])
def test_a_redirection_from_https_stays_on_https(to: str) -> None:
    answer = httpx.Response(302, headers={"Location": to}, request=httpx.Request("GET", "https://host/rows"))
    if to.startswith("http:"):
        with pytest.raises(httpx.UnsupportedProtocol, match="https to http"):
            web_file.check_redirection(answer)
    else:
        web_file.check_redirection(answer)


def test_a_transfer_that_breaks_off_gives_no_row(web: WebServer) -> None:
    def answer_a_part(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(ROWS)
        handler.close_connection = True

    web.pages["/rows.ndjson"] = answer_a_part
    with pytest.raises(InvalidRequest, match="cannot be fetched"), open_rows(web.url("/rows.ndjson")):
        pass


@pytest.mark.parametrize(
    ("headers", "content"),
    [
        ({}, ROWS[:9]),
        ({"Content-Encoding": "gzip"}, gzip.compress(ROWS)),
        ({"Content-Encoding": "gzip", "Content-Length": "20"}, gzip.compress(ROWS)[:20]),
        ({"Content-Encoding": "deflate", "Content-Length": "12"}, zlib.compress(ROWS)[:12]),
        ({"Content-Encoding": "zstd", "Content-Length": "14"}, zstandard.compress(ROWS)[:14]),
        ({"Content-Encoding": "br", "Content-Length": "18"}, ROWS),
    ],
)
def test_an_answer_that_may_lack_its_end_gives_no_row(web: WebServer, headers: dict[str, str], content: bytes) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)
        handler.close_connection = True

    web.pages["/rows.ndjson"] = answer
    with pytest.raises(InvalidRequest, match="rows"), open_rows(web.url("/rows.ndjson")) as opened:
        assert list(opened.bodies()) == []


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/rows", "http://[::1/rows", "https://no-host.invalid/rows"])
def test_where_nothing_answers_that_is_said(address: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot be fetched"), fetched_file(address):
        pass


def test_messages_show_no_login_and_no_signature(web: WebServer) -> None:
    address = web.url("/gone.csv?signature=secret").replace("http://", "http://user:secret@")
    with pytest.raises(InvalidRequest) as refused, open_rows(address):
        pass
    assert refused.value.message == f"{web.url('/gone.csv')} cannot be fetched: its server answers 404 Not Found"
    web.page("/zip.csv?signature=secret", b"PK\x03\x04" + b"x" * 50)
    with pytest.raises(InvalidRequest) as archive, open_rows(web.url("/zip.csv?signature=secret")):
        pass
    assert archive.value.message == f"{web.url('/zip.csv')} is a zip archive"
    assert shown_address("https://user:secret@host/a@b?c#d") == "https://host/a@b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("HTTPS://host/x", True), ("http.csv", False), ("s3://bucket/x", False), ("/http://x", False)],
)
def test_an_address_is_told_from_a_path(text: str, expected: bool) -> None:
    assert is_address(text) is expected
