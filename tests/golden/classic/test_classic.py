"""Folders in the classic format, and what `penstock migrate` makes of them: `expected/diff.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.commands.project.migrate import find_changes, read_texts
from penstock.parse.classic.conversion import convert_files
from penstock.parse.project_loader import load_files
from penstock.plan.classic_targets import write_missing_targets
from penstock.plan.project_check import check_loaded

HERE = Path(__file__).parent
CASES = sorted(folder.name for folder in HERE.iterdir() if (folder / "expected").is_dir())


@pytest.mark.parametrize("case", CASES)
def test_the_difference(case: str, update_golden: bool) -> None:
    texts = read_texts(HERE / case, [])
    conversion = write_missing_targets(convert_files(texts), {})
    problems = "".join(f"{problem}\n" for problem in conversion.problems)
    found = "".join(change.diff for change in find_changes(texts, conversion)) + problems
    expected = HERE / case / "expected" / "diff.txt"
    if update_golden:
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_what_is_converted_deploys_and_stays_as_it_is(case: str) -> None:
    converted = write_missing_targets(convert_files(read_texts(HERE / case, [])), {})
    assert [str(problem) for problem in check_loaded(load_files(converted.files)).errors] == []
    again = write_missing_targets(convert_files(converted.files), {})
    assert (again.files, again.problems) == (converted.files, ())
