"""Columns are read once for all data sources that have them: each is still at its own place."""

from __future__ import annotations

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
