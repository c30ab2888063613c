"""The forms of public projects compile; tests/differential compares their answers with ClickHouse's."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from tests.differential.generator_forms import FORMS, of_project
from tests.differential.sample import project

from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import Text
from penstock.sql.compile import compile_sql

FILE = Path(__file__).parents[2] / "differential" / "queries" / "project_forms.sql"
HEADING = re.compile(r"-- (\d+) pipes?: (.+)")


def forms() -> list[tuple[str, str]]:
    """The heading of each query, and the query."""
    found, heading = [], ""
    for block in re.split(r"(?m)^(?=-- )", FILE.read_text(encoding="utf-8")):
        first, _, rest = block.partition("\n")
        if first.startswith("-- ") and rest.strip():
            heading = first
        found += [(heading, each.strip()) for each in re.split(r";\s*\n", rest) if each.strip()]
    return found


def problem_of(sql: str) -> str | None:
    """The first problem of a query; None if it compiles."""
    try:
        compile_sql(project(), Text(sql, Location("q.sql")), "clickhouse")
    except InvalidQuery as error:
        return error.problems[0].message
    return None


@pytest.mark.parametrize(("heading", "sql"), forms())
def test_every_form_compiles_and_says_how_many_pipes_have_it(heading: str, sql: str) -> None:
    assert HEADING.fullmatch(heading)
    assert problem_of(sql) is None


def test_the_list_is_read_whole() -> None:
    assert len(forms()) > 80
    assert len({heading for heading, _ in forms()}) > 30


def test_the_generator_makes_queries_that_compile() -> None:
    problems = [problem_of(of_project(Random(seed))) for seed in range(200)]
    assert sum(each is None for each in problems) > 190
    assert len(FORMS) >= 16
