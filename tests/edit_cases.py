"""Small edits of one project, for which an expert moves few rows or none: `tests/golden/edits`.

In: `base.toml`, the files of the project and how many rows its tables have; `edits.toml`, the edits. Out: `EditCase`
values, and what the planner moves for each. An edit names files by their stem and replaces text in them, where it is
once; in the place of an empty text a new file is made. `before` makes the first version of the base, `change` (with
`rename` and `remove`, of files) the second of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tomllib

from penstock.parse.project_loader import LoadedProject, load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import Plan, PlanOptions, Size
from penstock.plan.steps import Activate

FOLDER = Path(__file__).resolve().parent / "golden/edits"
BASE = tomllib.loads((FOLDER / "base.toml").read_text("utf-8"))
ROW_BYTES = 40
Replacements = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class EditCase:
    """One edit as written down."""

    group: str
    edit: str
    change: Replacements = ()
    before: Replacements = ()
    rename: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()
    destructive: bool = False
    moves: tuple[str, ...] = ()
    """The tables for which rows are read."""
    most: int = 0
    """The rows that an expert reads."""
    clones: tuple[str, ...] = ()
    """Tables of which the rows must not land again."""
    missing: str = ""
    """The rule that is missing, where more moves than an expert would move."""


@dataclass(frozen=True)
class Outcome:
    """What the plan of an edit does."""

    errors: tuple[str, ...]
    moves: tuple[str, ...]
    rows: int
    clones: frozenset[str]

    def is_enough(self, edit: EditCase) -> bool:
        """Whether it moves no more than an expert would."""
        return self.rows <= edit.most and set(edit.clones) <= self.clones


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


EDITS = tuple(
    EditCase(**{name: _frozen(value) for name, value in each.items()})
    for each in tomllib.loads((FOLDER / "edits.toml").read_text("utf-8"))["edit"]
)


@cache
def outcome_of(edit: EditCase) -> Outcome:
    """What the planner does for an edit, over tables of the sizes in the base."""
    plan = plan_of(edit)
    costs = {each.name: each.moves for each in plan.resources}
    assert plan.errors or None not in costs.values(), "every table has a size"
    moved = {name: size.rows for name, size in costs.items() if size is not None and size.rows}
    steps = [step for step in plan.steps if isinstance(step, Activate)]
    clones = frozenset(clone.table.id.split("__")[0] for step in steps for clone in step.clones)
    return Outcome(tuple(map(str, plan.errors)), tuple(sorted(moved)), sum(moved.values()), clones)


def plan_of(edit: EditCase) -> Plan:
    first, second = versions_of(edit)
    sizes = {name: Size(rows, rows * ROW_BYTES) for name, rows in BASE["rows"].items()}
    options = PlanOptions("d2", allow_destructive=edit.destructive or bool(edit.remove or edit.rename))
    return plan_projects(_loaded(first).project, _loaded(second).project, sizes, options)


def versions_of(edit: EditCase) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The files of both versions by path."""
    before = _changed(BASE["files"], edit.before)
    names = dict(edit.rename)
    after = {names.get(name, name): text for name, text in _changed(before, edit.change).items()}
    return _paths(before), _paths({name: text for name, text in after.items() if name not in edit.remove})


def _changed(files: Mapping[str, str], changes: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    found = dict(files)
    for name, old, new in changes:
        assert not old or found.get(name, "").count(old) == 1, f"{old!r} is not once in {name}"
        assert old or name not in found, f"{name} is there already"
        found[name] = found[name].replace(old, new) if old else new
    return found


def _paths(files: Mapping[str, str]) -> Mapping[str, str]:
    return {f"{name}.{'pipe' if 'NODE' in text else 'datasource'}": text for name, text in files.items()}


def _loaded(files: Mapping[str, str]) -> LoadedProject:
    found = load_files(files)
    assert [str(problem) for problem in found.problems if problem.level == "error"] == []
    return found
