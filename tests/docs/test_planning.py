"""docs/planning.md says what the planner does."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from scripts.planning_docs import CASES, MARK, PAGE, folders, page, plan_case, title

from penstock.plan.plan import Strategy

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_table_is_what_the_planner_says() -> None:
    assert page(TEXT, folders()) == TEXT, "`make golden` writes it anew"


@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_each_strategy_is_explained(strategy: str) -> None:
    assert f"\n| `{strategy.replace('_', ' ')}` |" in TEXT.partition(MARK)[0]


@pytest.mark.parametrize("case", folders(), ids=lambda case: case.name)
def test_a_plan_is_that_of_the_golden_folder(case: Path) -> None:
    """The page and the golden files are made apart from each other."""
    expected = (case / "expected/problems.txt").read_text(encoding="utf-8")
    assert "".join(f"{problem}\n" for problem in plan_case(case).problems) == expected


def test_a_folder_may_have_a_title(tmp_path: Path) -> None:
    folder = tmp_path / "03_computed_column"
    folder.mkdir()
    assert title(folder) == "3 computed column"
    (folder / "case.md").write_text("# A column out of others\n\nMore.\n", encoding="utf-8")
    assert title(folder) == "A column out of others"


def test_an_edited_table_is_written_anew() -> None:
    above = TEXT.partition(MARK)[0]
    assert page(f"{above}{MARK}\n| old |\n", [CASES / "01_unchanged"]).endswith("| none | nothing |  |\n")
