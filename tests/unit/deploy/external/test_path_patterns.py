"""Patterns of paths mean what they mean to ClickHouse, which reads files of a folder by them here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chdb.session import Session

from clickhouse_session import open_session
from penstock.deploy.external.paths.path_patterns import (
    TooManyPaths,
    expand_choices,
    fixed_beginning,
    import_test,
    path_test,
)

NAMES = (
    "1.csv",
    "2.csv",
    "3.csv",
    "01.csv",
    "02.csv",
    "10.csv",
    "a.csv",
    "b.csv",
    "ab.csv",
    "x/1.csv",
    "x/y/2.csv",
    "a+b(c).csv",
)


@pytest.fixture(scope="module")
def clickhouse() -> Session:
    return open_session()


@pytest.mark.parametrize(
    "pattern",
    [
        "*.csv",
        "?.csv",
        "{1..3}.csv",
        "{01..10}.csv",
        "{1,a,x/1}.csv",
        "{a,b}*.csv",
        "x/*.csv",
        "*/*.csv",
        "**",
        "x/**",
        "a+b(c).csv",
        "a*(?).csv",
        "{a}.csv",
        "{3..1}.csv",
    ],
)
def test_a_pattern_stands_for_the_files_that_clickhouse_reads(
    clickhouse: Session, tmp_path: Path, pattern: str
) -> None:
    expected = _read_by_clickhouse(clickhouse, tmp_path, pattern)
    for matches in (path_test(pattern), import_test(pattern)):
        assert sorted(filter(matches, NAMES)) == expected
    assert all(name.startswith(fixed_beginning(pattern)) for name in filter(matches, NAMES))


@pytest.mark.parametrize("pattern", ["**/*.csv", "x/**/*.csv", "x/**/2.csv", "**/y/*.csv", "x/**/y/*.csv", "x/**"])
def test_an_import_takes_the_files_of_the_folder_itself_and_of_those_below(
    clickhouse: Session, tmp_path: Path, pattern: str
) -> None:
    found = sorted(filter(import_test(pattern), NAMES))
    assert found
    assert found == _read_by_clickhouse(clickhouse, tmp_path, pattern)


def test_folders_are_whole_steps_of_a_path() -> None:
    assert not import_test("x**/1.csv")("x1.csv")
    assert not import_test("a/**/1.csv")("a/b1.csv")
    assert import_test("/**/1.csv")("/1.csv")
    assert not path_test("x/**/1.csv")("x/1.csv"), "the table function s3 wants a folder between"


def _read_by_clickhouse(clickhouse: Session, folder: Path, pattern: str) -> list[str]:
    """Those of NAMES that ClickHouse reads by a pattern."""
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n")
    call = f"file('{folder}/{pattern}', LineAsString)"
    try:
        answer = str(clickhouse.query(f"SELECT line FROM {call} ORDER BY line", "JSONEachRow").data())
    except RuntimeError:
        answer = ""
    return [json.loads(line)["line"] for line in answer.splitlines()]


def test_braces_are_written_out() -> None:
    assert expand_choices("a{1..3}b{x,}") == ["a1bx", "a1b", "a2bx", "a2b", "a3bx", "a3b"]
    assert expand_choices("{08..11}") == ["08", "09", "10", "11"]
    assert expand_choices("no } braces { *") == ["no } braces { *"]


@pytest.mark.parametrize("pattern", ["{1..99999}", "{1..200}{1..200}", "{0..999999999}"])
def test_a_pattern_of_too_many_files_is_refused(pattern: str) -> None:
    with pytest.raises(TooManyPaths):
        expand_choices(pattern)
