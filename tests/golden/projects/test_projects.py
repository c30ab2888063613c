"""Migration cases: what the planner says of each, as text, and of some as JSON.

`golden_cases` says how a case is written down. A case whose subject is the JSON has an `expected/plan.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from golden_cases import case_folders, plan_case, read_case
from penstock.cli.plans.plan_text import PlanView, plan_lines
from penstock.plan.plan import Plan
from penstock.plan.plan_json import plan_to_json, step_text

CASES = case_folders()
KINDS = ("change", "kind", "level", "step", "strategy")
"""Fields of the JSON whose value is one of a few words."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_plan(case: Path, update_golden: bool) -> None:
    plan = plan_case(case)
    found = {
        "plan.txt": "\n".join([*plan_lines(plan_to_json(plan), PlanView()), "", *_step_lines(plan)]) + "\n",
        "problems.txt": "".join(f"{problem}\n" for problem in plan.problems),
    }
    expected = case / "expected"
    if (expected / "plan.json").exists():
        found["plan.json"] = json.dumps(plan_to_json(plan), indent=2, ensure_ascii=False) + "\n"
    for name, text in found.items():
        if update_golden:
            expected.mkdir(exist_ok=True)
            (expected / name).write_text(text, encoding="utf-8")
        assert text == (expected / name).read_text(encoding="utf-8")


def _step_lines(plan: Plan) -> Iterator[str]:
    """The steps, which people are shown if they ask for all."""
    yield "Steps"
    yield from (f"  {number}. {step_text(step)}" for number, step in enumerate(plan.steps, 1))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_first_rule_that_applies_decides(case: Path) -> None:
    """What `--why` tells is how the plan was made: unless the case asks for a strategy, or is refused."""
    asked = "strategy" in read_case(case).after.get("penstock.toml", "")
    for each in plan_case(case).resources:
        applying = [rule.strategy for rule in each.rules if rule.applies]
        if applying and not asked:
            assert (each.name, applying[0]) == (each.name, each.strategy)


def test_the_json_files_show_all_that_the_json_of_any_case_has() -> None:
    """Every field, empty or null as well as filled, and every word of the fields that hold one of a few."""
    shown = {fact for case in CASES if (case / "expected/plan.json").exists() for fact in _facts_of(case)}
    assert {fact for case in CASES for fact in _facts_of(case)} - shown == set()


def _facts_of(case: Path) -> set[tuple[str, str]]:
    return set(_facts(plan_to_json(plan_case(case)), ""))


def _facts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Each field by its path, with what it holds: "null", "empty", "filled", or its word."""
    if isinstance(value, Mapping):
        for name, field in value.items():
            filled = "null" if field is None else "empty" if field in ((), [], {}) else "filled"
            yield f"{path}.{name}", str(field) if name in KINDS else filled
            yield from _facts(field, f"{path}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from _facts(item, path)
