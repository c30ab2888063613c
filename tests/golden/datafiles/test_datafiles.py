"""Every refusal of a datafile with its place: a folder each, `expected/problems.txt` one a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.parse.project_loader import load_folder

HERE = Path(__file__).parent
CASES = sorted(folder.name for folder in HERE.iterdir() if (folder / "expected").is_dir())


@pytest.mark.parametrize("case", CASES)
def test_problems(case: str, update_golden: bool) -> None:
    expected = HERE / case / "expected" / "problems.txt"
    found = "".join(f"{problem}\n" for problem in load_folder(HERE / case).problems)
    if update_golden:
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")
