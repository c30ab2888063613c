"""Migration cases: a folder each, `before/`, `after/` and the plan that is `expected/`.

`before/sizes.json` says how much live's tables hold, `after/options.json` what was asked for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.parse.project_loader import Loaded, load_folder
from penstock.plan.explain import explain, plan_to_json
from penstock.plan.offline import plan_projects
from penstock.plan.plan import Plan, PlanOptions, Size

HERE = Path(__file__).parent
CASES = sorted(folder.name for folder in HERE.iterdir() if (folder / "before").is_dir())


@pytest.mark.parametrize("case", CASES)
def test_plan(case: str, update_golden: bool) -> None:
    plan = _plan(HERE / case)
    found = {
        "plan.txt": explain(plan),
        "plan.json": json.dumps(plan_to_json(plan), indent=2, ensure_ascii=False) + "\n",
        "problems.txt": "".join(f"{problem}\n" for problem in plan.problems),
    }
    expected = HERE / case / "expected"
    for name, text in found.items():
        if update_golden:
            expected.mkdir(exist_ok=True)
            (expected / name).write_text(text, encoding="utf-8")
        assert text == (expected / name).read_text(encoding="utf-8")


def _plan(case: Path) -> Plan:
    before, after = _load(case / "before"), _load(case / "after")
    sizes = {name: Size(**size) for name, size in _json(case / "before/sizes.json").items()}
    wanted = {"strategies": after.settings.deploy.strategy, **_json(case / "after/options.json")}
    return plan_projects(before.project, after.project, sizes, PlanOptions("d2", **wanted))


def _load(folder: Path) -> Loaded:
    loaded = load_folder(folder)
    assert loaded.problems == ()
    return loaded


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}
