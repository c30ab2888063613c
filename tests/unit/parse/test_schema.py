"""Columns are read once for all data sources that have them: each is still at its own place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Location, Problem
from penstock.model.datasource import Column, Text
from penstock.parse.schema import parse_schema

NAMES = ("a", "`b`", "codec", '"d"')
TYPES = ("Int8", "Array(String)", "Enum8('a, b' = 1, 'c')", "Tuple(x Int8,\n y String)", "DateTime /* , */", "Int7")
REST = (
    "",
    " `json:$.a`",
    " DEFAULT 1",
    " DEFAULT if(\n  a,\n 1, 'x,y')",
    " CODEC(ZSTD(1), LZ4)",
    " RENAMED_FROM old -- , so",
    " NULL",
    " #",
)
BEGINNINGS = ("", "\n", "\n  ")
COLUMNS = st.builds("{}{} {}{}".format, *map(st.sampled_from, (BEGINNINGS, NAMES, TYPES, REST)))


def read(text: str, where: Location, indent: int = 4) -> tuple[tuple[Column, ...], list[Problem]]:
    problems: list[Problem] = []
    return parse_schema(Text(text, where, indent), problems), problems


def places(columns: tuple[Column, ...]) -> list[tuple[str, Location, Text | None, Location | None]]:
    """Places are no part of a column's equality."""
    return [
        (each.name, each.location, each.default, each.default.location if each.default else None) for each in columns
    ]


@given(st.lists(COLUMNS, min_size=1, max_size=4))
def test_a_wrong_column_changes_no_other(written: list[str]) -> None:
    """With a wrong column none is taken as known: all are read with their places."""
    text, where = ",".join(written), Location("x.datasource", 7, 5)
    columns, problems = read(text + "\n", where)
    again, others = read(text + "\n, ?", where)
    assert columns == again
    assert places(columns) == places(again)
    assert problems == [each for each in others if "found `?`" not in each.message]


@given(st.lists(COLUMNS, min_size=1, max_size=4), st.integers(1, 9), st.integers(1, 9))
def test_one_text_in_two_files_has_two_places(written: list[str], line: int, column: int) -> None:
    text = ",".join(written)
    first, _ = read(text, Location("a.datasource", 1, 1), indent=0)
    second, _ = read(text, Location("b.datasource", line, column), indent=0)
    assert first == second
    for one, other in zip(first, second, strict=True):
        at = one.location
        moved = column - 1 if at.line == 1 else 0
        assert other.location == Location("b.datasource", at.line + line - 1, at.column + moved)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a String NULL", ("Nullable(String)", None)),
        ("a String NOT NULL", ("String", None)),
        ("a Int8 null DEFAULT 3", ("Nullable(Int8)", "3")),
        ("a Int8 DEFAULT 3 NOT NULL", ("Int8", "3")),
        ("a Int8 DEFAULT (3) NULL CODEC(ZSTD)", ("Nullable(Int8)", "(3)")),
        ("a Nullable(Int8) DEFAULT NULL", ("Nullable(Int8)", "NULL")),
        ("a UInt8 DEFAULT b IS NOT NULL", ("UInt8", "b IS NOT NULL")),
        ("a UInt8 DEFAULT b IS NULL NOT NULL", ("UInt8", "b IS NULL")),
        ("a INT UNSIGNED NULL `json:$.a`", ("Nullable(UInt32)", None)),
        ("a INT(11) UNSIGNED DEFAULT 3", ("UInt32", "3")),
    ],
)
def test_null_and_not_null(written: str, expected: tuple[str, str | None]) -> None:
    (column,), problems = read(written, Location("x.datasource"))
    assert not problems
    assert (str(column.type), column.default.text.strip() if column.default else None) == expected


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("a Nullable(Int8) NULL", "NULL and NOT NULL cannot follow a Nullable type (remove it)"),
        ("a Nullable(Int8) NOT NULL", "NULL and NOT NULL cannot follow a Nullable type (remove it)"),
        ("a LowCardinality(String) NULL", "`LowCardinality` cannot be inside Nullable"),
        ("a Int8 NULL NOT NULL", "a second NULL in one column (keep one of them)"),
        ("a Int8 NOT 3", "expected `NULL`, found `3`"),
    ],
)
def test_null_where_it_cannot_be(written: str, message: str) -> None:
    _, problems = read(written, Location("x.datasource"))
    assert next(str(each) for each in problems).partition(": ")[2].startswith(message)


@pytest.mark.parametrize("path", ["$", "$.a", "$.a[:].b", "$['a.b']", '$.a["b c"][:]', "$.['a b'].c", "$.a-b"])
def test_a_json_path(path: str) -> None:
    (column,), problems = read(f"a Int8 `json:{path}`", Location("x.datasource"))
    assert (column.json_path, problems) == (path, [])


@pytest.mark.parametrize("path", ["", "a", "$[:]", "$a", "$.a b", "$.a[0]", "$['a", "$[]", "$.a DEFAULT 1"])
def test_no_json_path(path: str) -> None:
    _, problems = read(f"a Int8 `json:{path}`", Location("x.datasource"))
    assert [f"`{path}` is not a JSON path" in problem.message for problem in problems] == [True]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("a DEFAULT 5", "1:3: the column `a` has no type (write one before DEFAULT: it is not inferred)"),
        ("`a` codec(ZSTD)", "1:5: the column `a` has no type (write one before codec: it is not inferred)"),
        (
            "`user name` String",
            "1:1: 'user name' cannot be the name of a column (a name has no spaces, quotes or backslashes, and no "
            "dot at its ends or beside another; for a key that has them, write user_name with the path "
            "`json:$['user name']`)",
        ),
        (
            "`it's` String",
            '1:1: "it\'s" cannot be the name of a column (a name has no spaces, quotes or backslashes, and no '
            "dot at its ends or beside another)",
        ),
        (
            "`a.` String",
            "1:1: 'a.' cannot be the name of a column (a name has no spaces, quotes or backslashes, and no dot at its "
            "ends or beside another; for a key that has them, write a_ with the path `json:$['a.']`)",
        ),
        (
            "a String, `a.b` Int8",
            "1:11: `a.b` cannot stand beside the column `a` (write a_b, or give `a` another name)",
        ),
        ("a Fsdkjhf", "1:3: unknown type `Fsdkjhf` (docs/datafiles.md lists the types)"),
    ],
)
def test_columns_that_clickhouse_takes_and_no_table_holds(written: str, said: str) -> None:
    _, problems = read(written, Location("x"))
    assert [str(each) for each in problems] == [f"x:{said}"]


def test_a_name_with_dots() -> None:
    columns, problems = read("`Events.Name` Array(String), `Events.Time` Array(DateTime), `o.p.q` Int8", Location("x"))
    assert [column.name for column in columns] == ["Events.Name", "Events.Time", "o.p.q"]
    assert problems == []
