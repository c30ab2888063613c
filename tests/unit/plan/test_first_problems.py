"""What `penstock check` finds without planning is what the plan of a first deployment finds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from golden_cases import case_folders, read_case
from penstock.errors import Problem
from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.plan.compiled_project import compile_project
from penstock.plan.first_problems import find_first_problems
from penstock.plan.plan import PlanOptions
from penstock.plan.planner import make_plan

EVENTS = "SCHEMA >\n    id UInt64 `json:$.id`,\n    at DateTime `json:$.at`,\n    tags Array(String) `json:$.tags[:]`\n"
COUNTS = "SCHEMA >\n    id UInt64,\n    n UInt64\n\n"
VIEW = "NODE n\nSQL >\n    SELECT id, count() AS n FROM events GROUP BY id\nTYPE materialized\nDATASOURCE counts\n"
KEYED = f"{EVENTS}\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"
ODD = {
    "a key that no layout uses": {"events.datasource": KEYED.replace("KEY id", "KEY cityHash64(id)")},
    "a TTL that is no time": {"events.datasource": f"{KEYED}ENGINE_TTL id + 1\n"},
    "a TTL with an unknown function": {
        "events.datasource": f"{KEYED}ENGINE_TTL at + INTERVAL 1 DAY DELETE WHERE lenght(tags) > 1\n"
    },
    "a state that no table holds": {
        "counts.datasource": "SCHEMA >\n    id UInt64,\n    n AggregateFunction(kurtPopIfNo, UInt64)\n\n"
    },
    "a view that feeds what it reads": {"view.pipe": VIEW.replace("counts", "events")},
    "a DEFAULT in a circle": {
        "events.datasource": "SCHEMA >\n    a UInt64 `json:$.a` DEFAULT b,\n    b UInt64 `json:$.b` DEFAULT a\n"
    },
    "a view that does not compile": {"view.pipe": VIEW.replace("count()", "coun()")},
}


def both(project: Project, strategies: dict[str, str]) -> tuple[list[str], list[str]]:
    """The problems that the plan finds, and those that are found without it."""
    planned = make_plan(None, project, PlanOptions("d1", strategies=strategies)).problems
    return _texts(planned), _texts(find_first_problems(compile_project(project), strategies))


def _texts(problems: Iterable[Problem]) -> list[str]:
    return sorted({repr(each) for each in problems})


@pytest.mark.parametrize("folder", case_folders()[::5], ids=lambda folder: folder.name)
def test_a_plan_of_a_sound_project_finds_no_more(folder: Path) -> None:
    loaded = load_files(read_case(folder).after)
    planned, found = both(loaded.project, {"nobody": "recompute"})
    assert planned == found
    assert any("unknown-datasource" in each for each in found)


@pytest.mark.parametrize("changed", ODD.values(), ids=ODD)
def test_a_plan_of_a_project_with_a_problem_finds_no_more(changed: dict[str, str]) -> None:
    files = {"events.datasource": EVENTS, "counts.datasource": COUNTS, "view.pipe": VIEW} | changed
    planned, found = both(load_files(files).project, {})
    assert planned == found != []
