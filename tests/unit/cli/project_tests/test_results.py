"""Results are written into the files of tests that they came from, and into no other text."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.commands.project_tests.case_run import CaseResult
from penstock.cli.commands.project_tests.case_update import NewResult
from penstock.cli.commands.project_tests.endpoint_cases import read_case_files
from penstock.cli.commands.project_tests.test import write_results
from penstock.errors import Conflict

TEXT = "- name: right\n- name: wrong   # why\r\n- name: away\n"


@pytest.fixture
def results(tmp_path: Path) -> tuple[CaseResult, ...]:
    """One that passed, one that did not, and one whose endpoint could not be asked."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/top.yaml").write_bytes(TEXT.encode())
    [file] = read_case_files(tmp_path, [])
    right, wrong, away = file.cases
    row = NewResult(('{"a":1}',), 200)
    return CaseResult(right, (), row), CaseResult(wrong, ("+",), row), CaseResult(away, ("no server",), None)


def test_only_what_was_answered_otherwise_is_written(tmp_path: Path, results: tuple[CaseResult, ...]) -> None:
    updated = write_results(tmp_path, read_case_files(tmp_path, []), results)
    assert [each.case.name for each in updated] == ["wrong"]
    written = (tmp_path / "tests/top.yaml").read_bytes().decode()
    assert written == TEXT.replace("# why", '# why\n  expected_result: |\n    {"a":1}')


def test_a_file_that_was_changed_meanwhile_is_left_as_it_is(tmp_path: Path, results: tuple[CaseResult, ...]) -> None:
    files = read_case_files(tmp_path, [])
    (tmp_path / "tests/top.yaml").write_text("- name: mine\n")
    with pytest.raises(Conflict, match="was changed while its tests ran"):
        write_results(tmp_path, files, results)
    assert (tmp_path / "tests/top.yaml").read_text() == "- name: mine\n"
