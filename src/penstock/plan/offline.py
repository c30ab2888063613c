"""The plan from one project folder to another, without a server, data or JVM.

In: two loaded projects, and the sizes of the tables if they are known. Out: `Plan`. Called by cli and
by the golden tests. Invariant: the first project is taken to run as its first deployment would make
it; what is not known of its data is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.model.manifest import Manifest
from penstock.model.project import Project
from penstock.parse.load import Loaded, load_folder
from penstock.plan.plan import make_plan
from penstock.plan.values import Live, Plan, PlanOptions, Size

FIRST, NEXT = PlanOptions("d1"), PlanOptions("d2")


def plan_folders(before: Path, after: Path, options: PlanOptions = NEXT) -> tuple[Plan, Loaded, Loaded]:
    """The plan, and both folders as read. Raises NotFound where a folder does not exist."""
    old, new = load_folder(before), load_folder(after)
    return plan_projects(old.project, new.project, {}, options), old, new


def plan_projects(before: Project, after: Project, sizes: Mapping[str, Size], options: PlanOptions = NEXT) -> Plan:
    """The plan between two projects. `sizes` are by data source. Where the first project does not
    plan by itself, the answer is its problems."""
    first = make_plan(None, before, FIRST)
    if first.errors:
        return Plan(problems=first.problems)
    return make_plan(as_live(before, first.manifest, sizes), after, options)


def as_live(project: Project, manifest: Manifest, sizes: Mapping[str, Size]) -> Live:
    """A project that runs by a manifest; `sizes` are by data source."""
    by_table = {bound.table: sizes[bound.name] for bound in manifest.bindings if bound.name in sizes}
    return Live(project, manifest, by_table)
