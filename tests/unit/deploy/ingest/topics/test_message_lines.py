"""Messages become lines: keys, headers, times, and values of a schema registry's wire format."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from http.server import BaseHTTPRequestHandler

import fastavro
import pytest

from penstock.deploy.connections.registered_schemas import PREFIX, RegisteredSchemas, UnreadableMessage
from penstock.deploy.ingest.topics.message_lines import MessageReader, message_reader
from penstock.errors import InvalidRequest, Unavailable
from penstock.flow.landing.message import Message, read_message
from penstock.flow.landing.row_parser import RowParser
from penstock.model.datasource import MessageFormat
from penstock.model.manifest import Landing, LandingColumn
from penstock.parse.column_types import parse_type
from web_server import WebServer

SCHEMA = {
    "type": "record",
    "name": "Visit",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "page", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "ratio", "type": "double"},
        {"name": "raw", "type": "bytes"},
    ],
}
VISIT = {
    "id": 2**53 + 1,
    "page": None,
    "price": Decimal("12.30"),
    "at": datetime(2026, 1, 2, 3, 4, 5, 678000, timezone.utc),
    "day": date(2026, 1, 2),
    "tags": ["ä", ""],
    "ratio": 0.5,
    "raw": b"text",
}


UNREADABLE = (("\ufffd", None),)
"""Stands for a header whose name is not UTF-8, as clients in C and Go may send it: confluent-kafka 2.16 raises."""


@dataclass
class Sent:
    """A message as the client gives it."""

    content: bytes | None
    of_key: bytes | None = None
    of_headers: Sequence[tuple[str, bytes | None]] | None = None
    time: tuple[int, int] = (1, 1_767_323_045_678)

    def topic(self) -> str:
        return "visits"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 41

    def timestamp(self) -> tuple[int, int]:
        return self.time

    def key(self) -> bytes | None:
        return self.of_key

    def value(self) -> bytes | None:
        return self.content

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        if self.of_headers == UNREADABLE:
            raise SystemError("<method 'headers'> returned a result with an exception set")
        return self.of_headers


@pytest.fixture
def registry() -> Iterator[WebServer]:
    """Has the schema 7, and 8, which is no Avro."""
    server = WebServer()
    server.page("/schemas/ids/7", json.dumps({"schema": json.dumps(SCHEMA)}).encode())
    server.page("/schemas/ids/8", json.dumps({"schema": '{"type": "protobuf"}'}).encode())
    yield server
    server.close()


def avro(value: object, number: int = 7) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(SCHEMA), value)
    return PREFIX.pack(0, number) + body.getvalue()


def line(sent: Sent, value: MessageFormat = "json_without_schema", registry: WebServer | None = None) -> Message:
    reader: MessageReader = message_reader((value, value), RegisteredSchemas(registry.url("/")) if registry else None)
    found = read_message(reader.line(sent))
    assert found is not None
    return found


def test_what_a_message_carries() -> None:
    found = line(Sent(b'{"id": 1}', b"k", [("a", b"1"), ("b", None), ("a", b"\xff"), ("c", "ä".encode())]))
    assert found.columns == {
        "__value": '{"id": 1}',
        "__topic": "visits",
        "__partition": 3,
        "__offset": 41,
        "__timestamp": "2026-01-02T03:04:05.678Z",
        "__key": "k",
        "__headers": {"a": "base64:/w==", "b": "", "c": "ä"},
    }


def test_headers_that_cannot_be_read_are_a_reason_only_where_there_is_a_column_for_them() -> None:
    content = message_reader(("json_without_schema", "json_without_schema"), None).line(
        Sent(b'{"id": 1}', of_headers=UNREADABLE)
    )
    column = LandingColumn("__headers", "__headers", parse_type("Map(String, String)"), "$.__headers", "map()")
    with_headers = Landing("s", "t", "with", (column,))
    without = Landing("s", "t", "without", (LandingColumn("id", "id", parse_type("UInt8"), "$.id", None),))
    parsed = RowParser([with_headers, without]).parse(content)
    assert parsed.values == {"id": 1}
    [(version, [reason])] = parsed.rejects
    assert (version, "headers whose names are not UTF-8" in reason) == ("with", True)


@pytest.mark.parametrize(
    ("time", "text"),
    [((0, -1), None), ((1, -1), "1969-12-31T23:59:59.999Z"), ((2, 10**17), "100000000000000000")],
)
def test_times_of_messages(time: tuple[int, int], text: str | None) -> None:
    assert line(Sent(b"{}", time=time)).columns.get("__timestamp") == text


def test_avro_of_a_registered_schema_keeps_every_value(registry: WebServer) -> None:
    found = line(Sent(avro(VISIT), avro(VISIT)), "avro", registry)
    assert found.problem is None
    assert json.loads(found.value or b"", parse_float=Decimal) == {
        "id": 2**53 + 1,
        "page": None,
        "price": "12.30",
        "at": "2026-01-02T03:04:05.678000Z",
        "day": "2026-01-02",
        "tags": ["ä", ""],
        "ratio": Decimal("0.5"),
        "raw": "text",
    }
    assert json.loads(str(found.columns["__key"]))["id"] == 2**53 + 1
    assert len(registry.seen) == 1, "a schema is asked for once"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no prefix", "five bytes"),
        (b"", "five bytes"),
        (avro(VISIT) + b"x", "1 bytes follow"),
        (avro(VISIT)[:-1], "not Avro"),
        (avro(VISIT, 9), "no schema 9"),
        (avro(VISIT, 8), "is not Avro"),
        (avro({**VISIT, "ratio": float("nan")}), "the number nan"),
        (avro({**VISIT, "raw": b"\xff"}), "not UTF-8"),
    ],
)
def test_a_value_that_is_not_of_its_schema_has_a_reason(content: bytes, said: str, registry: WebServer) -> None:
    found = line(Sent(content), "avro", registry)
    assert said in str(found.problem)
    assert found.columns["__offset"] == 41


def test_a_value_that_is_nested_deeply_is_refused_alone(registry: WebServer) -> None:
    """The reader in C would end the whole server (a test process too), and again after each start."""
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "next", "type": ["null", "List"]}]}
    fields = [{"name": "v", "type": "int"}, {"name": "rest", "type": {"type": "array", "items": inner}}]
    schema = {"type": "record", "name": "List", "fields": fields}
    registry.page("/schemas/ids/10", json.dumps({"schema": json.dumps(schema)}).encode())
    for levels, problem in ((20, None), (300, "not Avro of schema 10"), (100_000, "not Avro of schema 10")):
        level = b"\x02\x02\x02"  # 1, an array of one record, which has a list
        content = PREFIX.pack(0, 10) + level * levels + b"\x02\x00" + b"\x00" * levels
        found = line(Sent(content), "avro", registry)
        assert (found.problem or "").startswith(
            f"the value of the message cannot be read: {problem}" if problem else ""
        )
        assert (found.problem is None) is (problem is None), (levels, found.problem)


def test_a_schema_that_is_not_there_is_not_asked_for_with_each_message(registry: WebServer) -> None:
    schemas = RegisteredSchemas(registry.url("/"))
    for _ in range(3):
        with pytest.raises(UnreadableMessage, match="no schema 9"):
            schemas.read_avro(avro(VISIT, 9))
    assert len(registry.seen) == 1


def test_a_registry_is_of_the_web() -> None:
    with pytest.raises(InvalidRequest):
        RegisteredSchemas("file:///etc")


def test_json_behind_the_five_bytes() -> None:
    assert line(Sent(PREFIX.pack(0, 7) + b'{"id": 1}'), "json_with_schema").value == b'{"id": 1}'
    assert "five bytes" in str(line(Sent(b'{"id": 1}'), "json_with_schema").problem)


def test_a_registry_that_is_away_is_waited_for(registry: WebServer) -> None:
    registry.pages["/schemas/ids/7"] = lambda handler: handler.send_error(503)
    with pytest.raises(Unavailable):
        line(Sent(avro(VISIT)), "avro", registry)
    with pytest.raises(Unavailable):
        RegisteredSchemas("http://127.0.0.1:9").read_avro(avro(VISIT))


@pytest.mark.parametrize("answer", [b"[" * 100_000, b"{", b"\xff", b"7" * 5000])
def test_an_answer_that_is_no_schema_is_waited_for_or_a_reason(answer: bytes, registry: WebServer) -> None:
    registry.page("/schemas/ids/7", answer)
    with pytest.raises((Unavailable, UnreadableMessage)):
        RegisteredSchemas(registry.url("/")).read_avro(avro(VISIT))


def test_a_registry_that_never_ends_its_answer_is_waited_for(
    registry: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hold up the end of the server, and every change of a topic."""
    monkeypatch.setattr("penstock.deploy.connections.registered_schemas.SECONDS", 0.5)
    is_over = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        with suppress(OSError):
            while not is_over.wait(0.05):
                handler.wfile.write(b" ")

    registry.pages["/schemas/ids/7"] = drip
    try:
        with pytest.raises(Unavailable, match="more than"):
            RegisteredSchemas(registry.url("/")).read_avro(avro(VISIT))
    finally:
        is_over.set()


def test_the_login_of_a_registry_is_in_its_header_and_in_no_error(registry: WebServer) -> None:
    address = registry.url("/").replace("http://", "http://u:p%40ss@")
    RegisteredSchemas(address).read_avro(avro(VISIT))
    assert registry.seen[-1][1]["Authorization"] == "Basic dTpwQHNz"
    with pytest.raises(Unavailable) as caught:
        RegisteredSchemas("http://u:p%40ss@127.0.0.1:9").read_avro(avro(VISIT))
    assert "p@ss" not in caught.value.message
    assert "p%40ss" not in caught.value.message


def test_avro_needs_a_registry() -> None:
    with pytest.raises(UnreadableMessage):
        message_reader(("json_without_schema", "avro"), None)
