"""Whole rows: paths, absent values, several versions of one table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.deploy.ingest.row_files.row_placement import unreadable_row
from penstock.flow.landing.row_parser import ParsedRow, RowParser
from penstock.model.json_path import parse_json_path, path_of_key
from penstock.model.manifest import Landing, LandingColumn
from penstock.parse.column_types import parse_type


def landing(version: str, *columns: tuple[str, str, str | None, str | None]) -> Landing:
    """Columns as (name, type, path, default)."""
    made = tuple(LandingColumn(name, name, parse_type(of), path, default) for name, of, path, default in columns)
    return Landing("events", "events__d1", version, made)


V1 = landing("v1", ("id", "UInt32", "$.id", None), ("name", "Nullable(String)", "$.user.name", None))
V2 = landing("v2", ("id", "UInt32", "$.id", None), ("n", "UInt8", "$.n", "0"))


def test_values_by_path() -> None:
    assert RowParser([V1]).parse(b'{"id": 1, "user": {"name": "x"}}') == ParsedRow({"id": 1, "name": "x"})


def test_a_key_that_stands_twice_rejects_a_document_and_nothing_else() -> None:
    parser = RowParser([landing("v", ("id", "UInt8", "$.id", None), ("data", "JSON", "$.data", None))])
    assert parser.parse(b'{"id": 1, "id": 2, "data": {"b": 1, "a": 2}}').values == {"id": 2, "data": '{"a":2,"b":1}'}
    assert parser.parse(b'{"id": 1, "data": {"a": 1, "a": 2}}').rejects == (
        ("v", ("data: a key stands twice in an object",)),
    )


@given(st.text(st.characters(exclude_characters="'"), min_size=1))
def test_every_key_without_a_quote_has_a_path(key: str) -> None:
    assert parse_json_path(path_of_key(key)) == (key,)


def test_absent_and_null_are_null_where_the_type_allows() -> None:
    for line in (
        b'{"id": 1}',
        b'{"id": 1, "user": null}',
        b'{"id": 1, "user": {"name": null}}',
        b'{"id": 1, "user": 7}',
    ):
        assert RowParser([V1]).parse(line) == ParsedRow({"id": 1, "name": None})


def test_a_missing_required_value_rejects_with_every_reason() -> None:
    typed = RowParser([landing("v", ("id", "UInt8", "$.id", None), ("n", "UInt8", "$.n", None))]).parse(b'{"n": 300}')
    assert typed.values is None
    assert typed.rejects == (("v", ("id: is absent and has no default", "n: 300 is outside UInt8 (0 to 255)")),)


def test_a_record_of_csv_that_cannot_be_read_is_told_from_other_json() -> None:
    """It comes as the text that it is; the quarantine said of it that it is no JSON object, which no CSV is."""
    line = unreadable_row("1,caf\\xe9")
    assert "too many or too few values, or is not UTF-8" in RowParser([V1]).parse(line).rejects[0][1][0]
    assert RowParser([V1]).parse(b"7").rejects == (("v1", ("not a JSON object",)),)


@pytest.mark.parametrize(
    "line", [b"nonsense", b"[1]", b"7", b"\xff{}", b'{"a": NaN}', b"[" * 100_000, b'{"a": ' + b"1" * 5000 + b"}"]
)
def test_what_is_no_object_is_rejected_by_every_version(line: bytes) -> None:
    typed = RowParser([V1, V2]).parse(line)
    assert typed.values is None
    assert [version for version, _ in typed.rejects] == ["v1", "v2"]


def test_a_row_that_one_version_rejects_is_stored_for_the_other() -> None:
    typed = RowParser([V1, V2]).parse(b'{"id": 1, "n": "many", "user": {"name": "x"}}')
    assert typed.values == {"id": 1, "name": "x"}
    assert typed.rejects == (("v2", ('n: "many" is not a UInt8',)),)


def test_a_nullable_column_with_a_default_tells_absent_from_null() -> None:
    typer = RowParser([landing("v", ("x", "Nullable(UInt8)", "$.x", "7"))])
    assert typer.parse(b"{}").values == {"x": None, "_absent_x": True}
    assert typer.parse(b'{"x": null}').values == {"x": None}


def test_arrays_by_path() -> None:
    typer = RowParser([landing("v", ("a", "Array(UInt8)", "$.l[:].n", "[]"), ("whole", "String", "$", None))])
    values = typer.parse(b'{"l": [{"n": 1}, {"n": 2}]}').values
    assert values == {"a": [1, 2], "whole": '{"l":[{"n":1},{"n":2}]}'}


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("$", ()),
        ("$.a", ("a",)),
        ("$.a.b", ("a", "b")),
        ("$.a[:]", ("a", None)),
        ("$.a[:].b", ("a", None, "b")),
        ("$['a b']", ("a b",)),
        ("$.['a.b'].c", ("a.b", "c")),
        ("$[\"it's\"]['[:]'][:]", ("it's", "[:]", None)),
    ],
)
def test_json_path(path: str, parts: tuple[str | None, ...]) -> None:
    assert parse_json_path(path) == parts


@pytest.mark.parametrize("path", ["a", "$a", "$..a", "$.a[", "$.a[0]", "$.a b", "$['']", "$['a\"]"])
def test_a_bad_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="JSON path"):
        parse_json_path(path)
