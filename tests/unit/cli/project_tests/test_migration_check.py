from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.commands.project_tests.answer_difference import EndpointAnswer
from penstock.cli.commands.project_tests.migration_check import check_counts, compare_rows, read_expected_tables
from penstock.model.project import Project
from penstock.parse.project_loader import load_files

FILES = {
    "events.datasource": "SCHEMA >\n    a Int64\nRENAMED_FROM visits\n",
    "daily.datasource": "SCHEMA >\n    a Int64\n",
    "new.datasource": "SCHEMA >\n    a Int64\n",
}


@pytest.fixture(scope="module")
def project() -> Project:
    read = load_files(FILES)
    assert read.errors == ()
    return read.project


def plan(**strategies: str) -> dict:
    return {"resources": [{"name": name, "strategy": strategy} for name, strategy in strategies.items()]}


@pytest.mark.parametrize(("after", "failing"), [(5, set()), (4, {"events"}), (6, {"events"})])
def test_no_row_is_lost_or_doubled_also_under_a_new_name(project: Project, after: int, failing: set[str]) -> None:
    made = plan(events="in_place", new="create")
    counts = {"events": after, "daily": 2, "new": 9}
    checks = check_counts(project, made, {"visits": 5, "daily": 2}, counts)
    assert {each.source for each in checks if not each.is_passed} == failing
    assert {each.source: each.before for each in checks} == {"events": 5, "daily": 2, "new": None}


def test_what_is_computed_anew_may_have_other_rows(project: Project) -> None:
    counts = {"events": 5, "daily": 3, "new": 0}
    for strategy, passes in (("recompute", True), ("forward", False), ("none", False)):
        checks = check_counts(project, plan(daily=strategy), {"visits": 5, "daily": 2}, counts)
        assert all(each.is_passed for each in checks) is passes


def test_expected_rows_are_those_of_the_columns_they_name_in_any_order(project: Project, tmp_path: Path) -> None:
    (tmp_path / "tests/migration").mkdir(parents=True)
    (tmp_path / "tests/migration/daily.ndjson").write_text('{"a":1}\n\n{"a":2}\n')
    problems: list = []
    [expected] = read_expected_tables(tmp_path, project, problems)
    assert (problems, expected.columns) == ([], ("a",))
    types = {"a": "Int64"}
    assert compare_rows(expected, EndpointAnswer(types, [{"a": 2}, {"a": 1}])) == []
    assert compare_rows(expected, EndpointAnswer(types, [{"a": 2}])) == [
        "tests/migration/daily.ndjson:",
        '- {"a":1}   (line 1)',
    ]


def test_wrong_rows_are_problems_with_their_lines(project: Project, tmp_path: Path) -> None:
    (tmp_path / "tests/migration").mkdir(parents=True)
    (tmp_path / "tests/migration/daily.ndjson").write_text('{"a":1}\n{"b":2}\nnone\n[]\n')
    (tmp_path / "tests/migration/dayly.ndjson").write_text("")
    problems: list = []
    read_expected_tables(tmp_path, project, problems)
    assert [str(each.location) for each in problems] == [
        "tests/migration/daily.ndjson:2:1",
        "tests/migration/daily.ndjson:3:1",
        "tests/migration/daily.ndjson:4:1",
        "tests/migration/dayly.ndjson:1:1",
    ]
