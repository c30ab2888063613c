"""The golden cases of the planner: two versions of a project, each case a small overlay on a shared base.

In: the folder of a case in `tests/golden/projects`. Out: the files of both versions, and the plan between them.
A case's `case.json` names its base (a folder of `bases/`), the files that the second version removes and the
options of the deployment. The first version is the base with the files of `before/` put over it; the second is
the first with the files of `after/` put over it. `sizes.json` says how much the first version's tables hold, and
`stored.json` what Iceberg's statistics say of the values in them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.model.stored_values import StoredColumn, StoredValues
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import Live, Plan, PlanOptions, Size
from penstock.plan.planner import make_plan

FOLDER = Path(__file__).resolve().parent / "golden/projects"
BASES = FOLDER / "bases"
SIZES, STORED = "sizes.json", "stored.json"


@dataclass(frozen=True)
class GoldenCase:
    """A case as read: the files of both versions by relative path, without `sizes.json` and `stored.json`."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    sizes: Mapping[str, Size] = field(default_factory=dict)
    stored: Mapping[str, StoredValues] = field(default_factory=dict)
    """What Iceberg's statistics say of the first version's tables, by data source."""
    allow_destructive: bool = False


def case_folders() -> list[Path]:
    """The folders of all cases, by name."""
    return sorted(path.parent for path in FOLDER.glob("*/case.json"))


def read_case(folder: Path) -> GoldenCase:
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    before = _read_files(BASES / case["base"]) if "base" in case else {}
    before |= _read_files(folder / "before")
    sizes = json.loads(before.pop(SIZES, "{}"))
    stored = {name: _read_stored(each) for name, each in json.loads(before.pop(STORED, "{}")).items()}
    after = {path: text for path, text in before.items() if path not in case.get("removed", ())}
    after |= _read_files(folder / "after")
    options = case.get("options", {})
    return GoldenCase(before, after, {name: Size(**size) for name, size in sizes.items()}, stored, **options)


def plan_case(folder: Path) -> Plan:
    """What the planner says of a case. Raises AssertionError if a file of the case has a problem by itself."""
    case = read_case(folder)
    before, after = _load(case.before), _load(case.after)
    wishes = after.settings.deploy
    options = PlanOptions(
        "d2", case.allow_destructive, strategies=wishes.strategy, materialize_bytes=wishes.materialize_bytes
    )
    return plan_projects(before.project, after.project, case.sizes, options, case.stored)


def plan_files(before: Mapping[str, str], after: Mapping[str, str]) -> Plan:
    """What the planner says of two versions of a project. Raises AssertionError if one has a problem, or the plan an
    error."""
    old, new = _load(before).project, _load(after).project
    first = make_plan(None, old, PlanOptions("d1"))
    assert not first.errors, [str(each) for each in first.errors]
    plan = make_plan(Live(old, first.manifest, {}), new, PlanOptions("d2", True))
    assert not plan.errors, [str(each) for each in plan.errors]
    return plan


def _load(files: Mapping[str, str]) -> LoadedProject:
    loaded = load_files(files)
    assert loaded.problems == (), [str(problem) for problem in loaded.problems]
    return loaded


def _read_stored(said: dict[str, Any]) -> StoredValues:
    columns = {name: StoredColumn(**column) for name, column in said.pop("columns").items()}
    return StoredValues(columns=columns, **said)


def _read_files(folder: Path) -> dict[str, str]:
    """The files below a folder by relative path; none where there is no such folder."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}
