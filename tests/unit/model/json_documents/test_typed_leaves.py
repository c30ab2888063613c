"""Values at paths with a type, and the paths that are left out: what `JSON(a T, SKIP b)` of ClickHouse stores."""

from __future__ import annotations

import pytest

from penstock.model import types as t
from penstock.model.json_documents.documents import shown_json, store_text
from penstock.model.json_documents.dynamic_values import leaf_kinds, object_at, objects_at, typed_text
from penstock.model.json_documents.json_syntax import InvalidDocument
from penstock.model.json_documents.path_rules import NO_RULES, PathRules, rules_of
from penstock.parse.column_types import parse_type


def rules(of: str) -> PathRules:
    found = parse_type(f"JSON({of})")
    assert isinstance(found, t.Json)
    return rules_of(found.rules())


@pytest.mark.parametrize(
    ("of", "value", "shown"),
    [
        ("UInt32", "null", "0"),
        ("UInt32", '"1.5"', "1"),
        ("Int8", "-128", "-128"),
        ("UInt8", "true", "1"),
        ("Bool", '"2"', "true"),
        ("Float32", "5.123456789", "5.123457"),
        ("Float64", "18446744073709551616", "18446744073709552000"),
        ("String", '[1.0,"x",{"q":1e5}]', '"[1,\\"x\\",{\\"q\\":100000}]"'),
        ("Nullable(String)", "null", "null"),
        ("Date", '"2020-1-2"', '"2020-01-02"'),
        ("DateTime", "1600000000.5", '"2020-09-13 12:26:40"'),
        ("DateTime64(3)", "-1.5", '"1969-12-31 23:59:58.500"'),
        ("DateTime64(3)", '"2020-01-02T03:04:05.123456Z"', '"2020-01-02 03:04:05.123"'),
        ("UUID", '"61F0C4045CB311E7907BA6006AD3DBA0"', '"61f0c404-5cb3-11e7-907b-a6006ad3dba0"'),
        ("Array(Nullable(UInt8))", "[1,null]", "[1,null]"),
        ("Array(String)", "null", "[]"),
        ("LowCardinality(String)", "1.50", '"1.5"'),
    ],
)
def test_values_are_converted(of: str, value: str, shown: str) -> None:
    stored = store_text(f'{{"a":{value}}}', rules(f"a {of}"))
    assert shown_json(stored) == f'{{"a":{shown}}}'
    assert store_text(stored, rules(f"a {of}")) == stored


@pytest.mark.parametrize(
    ("of", "value"),
    [("UInt32", "-1"), ("UInt8", "300"), ("Int8", '"x"'), ("UInt8", "[1]"), ("Date", "18000"), ("Array(UInt8)", "5")],
)
def test_values_that_do_not_fit_are_refused_with_their_path(of: str, value: str) -> None:
    with pytest.raises(InvalidDocument, match=r'"a\.b": '):
        store_text(f'{{"a":{{"b":{value}}}}}', rules(f"a.b {of}"))


def test_a_path_with_a_type_is_in_every_document() -> None:
    assert store_text("{}", rules("a.b UInt32, z Nullable(String)")) == '{"a":{"b":0},"z":null}'
    with pytest.raises(InvalidDocument, match="both a value and an object"):
        store_text('{"a":1}', rules("a.b UInt32"))


def test_paths_are_left_out() -> None:
    text = '{"a":{"b":1,"x":2},"cd":{"d":1},"xcd":3,"k":{"q":1,"q":2}}'
    assert store_text(text, rules("SKIP a.b, SKIP REGEXP '^c', SKIP k")) == '{"a":{"x":2},"xcd":3}'


def test_what_is_read_of_typed_documents() -> None:
    found = rules("a.b Float64, l Array(Float64)")
    stored = store_text('{"a":{"b":2,"c":"2020-01-01"},"l":[1.5]}', found)
    assert [typed_text(stored, path) for path in ("a.b", "l", "zz")] == ["2.0", "[1.5]", None]
    assert leaf_kinds(stored, found) == {"a.b": "Float64", "a.c": "Date", "l": "Array(Float64)"}
    assert object_at(stored, "a", rules("b Float64")) == '{"b":2.0,"c":"2020-01-01"}'
    assert object_at("{}", "a", rules("b String")) == '{"b":""}'


def test_arrays_of_objects() -> None:
    stored = store_text('{"a":[{"b":1.0},{"b":null}],"m":[{"b":1},null],"n":[1]}')
    assert objects_at(stored, "a") == ['{"b":1.0}', "{}"]
    assert [objects_at(stored, path) for path in ("m", "n", "zz")] == [[], [], []]


def test_rules_as_text() -> None:
    of = parse_type("JSON(b UInt8, `a b`.c String, SKIP z, SKIP REGEXP 'it\\\\.s$', max_dynamic_paths = 5)")
    assert str(of) == "JSON(`a b.c` String, b UInt8, SKIP z, SKIP REGEXP 'it\\\\.s$')"
    assert parse_type(str(of)) == of
    assert rules_of("") is NO_RULES
