"""docs/planning.md says what the planner does."""

from __future__ import annotations

from typing import get_args

import pytest
from scripts.planning_docs import MARK, PAGE, edits_table, page, title

from edit_cases import EditCase
from golden_cases import FOLDER, case_folders
from penstock.plan.plan import Strategy

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_table_is_what_the_planner_says() -> None:
    assert page(TEXT, case_folders()) == TEXT, "`make golden` writes it anew"


@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_each_strategy_is_explained(strategy: str) -> None:
    assert f"\n| `{strategy.replace('_', ' ')}` |" in TEXT.partition(MARK)[0]


def test_the_title_of_a_case_is_its_name_in_words() -> None:
    assert title(FOLDER / "03_computed_column") == "3 computed column"
    assert title(FOLDER / "computed_column") == "computed column"


def test_an_edited_table_is_written_anew() -> None:
    above = TEXT.partition(MARK)[0]
    written = page(f"{above}{MARK}\n| old |\n", [FOLDER / "01_unchanged"])
    assert "| none | nothing |  |\n\n## Edits" in written
    assert "| old |" not in written


def test_an_edit_that_moves_more_than_needed_says_which_rule_is_missing() -> None:
    edits = [EditCase("groups", "a cheap one"), EditCase("groups", "a dear one", missing="some rule")]
    assert "| groups | 2 | 1 | a dear one: some rule |" in edits_table(edits)
