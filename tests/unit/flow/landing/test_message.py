"""Messages of topics as raw rows: their fields, what they carry, and what no version may read."""

from __future__ import annotations

import json

import pytest

from penstock.flow.landing.message import MARK, Message, read_message, write_message
from penstock.flow.landing.row_parser import RowParser
from penstock.model.manifest import Landing, LandingColumn
from penstock.parse.column_types import parse_type

CARRIED: dict[str, object] = {
    "__topic": "t",
    "__partition": 2,
    "__offset": 7,
    "__timestamp": "2026-01-02T03:04:05.678Z",
    "__key": "k",
    "__headers": {"a": "b"},
}


def landing(version: str, **columns: str) -> Landing:
    """Columns by name, each with its type, filled by its name; one that begins with __ has a default."""
    made = tuple(
        LandingColumn(name, name, parse_type(of), f"$.{name}", "''" if name.startswith("__") else None)
        for name, of in columns.items()
    )
    return Landing("events", "events__d1", version, made)


FIELDS = landing("fields", id="UInt32", __offset="Int64", __key="String")
RAW = landing("raw", __value="String", __offset="Int64")
PLACE = landing("place", __offset="Int64")


def test_a_message_fills_fields_and_what_it_carries() -> None:
    parser = RowParser([landing("v", id="UInt32", __timestamp="DateTime64(3)", __headers="Map(String, String)")])
    values = parser.parse(write_message(CARRIED, b'{"id": 1, "__headers": {"a": "not this"}}')).values
    assert values == {"id": 1, "__timestamp": 1767323045678000, "__headers": [("a", "b")]}


def test_a_value_keeps_its_own_fields_apart_from_the_messages() -> None:
    whole = Landing("s", "t", "v", (LandingColumn("doc", "doc", parse_type("JSON"), "$", None),))
    assert RowParser([whole]).parse(write_message(CARRIED, b'{"b": 1}')).values == {"doc": '{"b":1}'}


@pytest.mark.parametrize(
    ("value", "rejecting"),
    [
        (b'{"id": 1}', []),
        (b"plain text", ["fields"]),
        (b'{"id": 1', ["fields"]),
        (b'{"a": "line\nbreak"}', ["fields"]),
        (b"[1]", ["fields"]),
        (b'{"id": -1}', ["fields"]),
        (None, ["fields"]),
        (b"\xff\xfe", ["fields", "raw"]),
    ],
)
def test_a_version_rejects_what_it_needs_and_cannot_read(value: bytes | None, rejecting: list[str]) -> None:
    parsed = RowParser([FIELDS, RAW, PLACE]).parse(write_message(CARRIED, value))
    assert [version for version, _ in parsed.rejects] == rejecting
    assert parsed.values is not None
    assert parsed.values["__offset"] == 7


def test_a_problem_of_the_message_is_the_reason() -> None:
    parsed = RowParser([FIELDS, PLACE]).parse(write_message(CARRIED, b'{"id": 1}', "not Avro"))
    assert parsed.rejects == (("fields", ("not Avro",)),)


def test_a_line_holds_any_message() -> None:
    for value in (b"a\nb\r\n", b'"', "\u2028é\0".encode(), b"", None):
        line = write_message(CARRIED, value)
        assert b"\n" not in line
        read = read_message(line)
        assert read == Message({**CARRIED, **({"__value": value.decode()} if value is not None else {})}, value, None)
    assert read_message(b'{"id": 1}') is None


@pytest.mark.parametrize("line", [MARK, MARK + b"1}", MARK + b'{}, "id": 1}', MARK + b"{} ", MARK + b"[]}"])
def test_a_line_that_only_begins_as_a_message_is_rejected(line: bytes) -> None:
    assert RowParser([PLACE]).parse(line).values is None


def test_posted_rows_fill_what_they_name() -> None:
    parsed = RowParser([FIELDS]).parse(json.dumps({"id": 3, "__key": "mine", "__offset": 9}).encode())
    assert parsed.values == {"id": 3, "__key": "mine", "__offset": 9}
