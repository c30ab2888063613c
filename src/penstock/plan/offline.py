"""The plan from one project folder to another, without a server, data or JVM.

In: two loaded projects and, where known, the sizes of their tables. Out: `Plan`. Invariants: the first project is
taken to run as its first deployment would make it; an unknown size stays None and is never guessed; only what the
changes reach, and what that derives from, is compiled, so planning time grows with the change and not with the
project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from penstock.model.manifest import Manifest
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.model.stored_values import StoredValues
from penstock.parse.project_loader import LoadedProject, load_folder
from penstock.plan.diff.change_impact import ChangeImpact, find_impact, with_upstream
from penstock.plan.diff.change_places import change_places
from penstock.plan.diff.project_diff import diff_projects, diff_versions
from penstock.plan.diff.project_queries import ProjectQueries
from penstock.plan.diff.resource_kinds import ResourceKind, pipe_kind
from penstock.plan.plan import MOVING, Live, Plan, PlanOptions, ResourcePlan, Size
from penstock.plan.planner import plan_changes
from penstock.plan.strategies.removal import unknown_renames
from penstock.plan.strategies.unchanged_datasources import reuse_reason
from penstock.plan.tables.other_table import find_possible_others

FIRST_OPTIONS, NEXT_OPTIONS = PlanOptions("d1"), PlanOptions("d2")


def plan_folders(
    before: Path, after: Path, options: PlanOptions = NEXT_OPTIONS
) -> tuple[Plan, LoadedProject, LoadedProject]:
    """The plan, and both folders as read. Raises NotFound if a folder does not exist."""
    old = load_folder(before)
    new = load_folder(after, old)
    return plan_loaded(old, new, options), old, new


def plan_loaded(old: LoadedProject, new: LoadedProject, options: PlanOptions = NEXT_OPTIONS) -> Plan:
    """The plan between two projects as read, with the strategies that the new one's settings ask for."""
    wishes = new.settings.deploy
    wanted = replace(options, strategies=wishes.strategy, materialize_bytes=wishes.materialize_bytes)
    return plan_projects(old.project, new.project, {}, wanted)


def plan_projects(
    before: Project,
    after: Project,
    sizes: Mapping[str, Size],
    options: PlanOptions = NEXT_OPTIONS,
    stored: Mapping[str, StoredValues] = MappingProxyType({}),
) -> Plan:
    """The plan between two projects. `sizes` and `stored` values are by data source. If the needed part of the first
    project has errors of its own, the plan consists of these problems."""
    read = ProjectQueries(before)
    wanted = ProjectQueries(after, read)
    changes = diff_versions(read, wanted)
    reach = find_impact(before, after, changes, options.strategies)
    others = find_possible_others(before, after, {change.resource for change in changes})
    names = _find_needed_names(before, after, reach, others)
    old = ProjectQueries(_select_resources(before, names), read)
    new = ProjectQueries(_select_resources(after, names), wanted, old)
    first = plan_changes(None, old, FIRST_OPTIONS, diff_projects(Project(), old.project))
    if first.errors:
        return Plan(changes, problems=first.problems)
    live = live_from_manifest(old.project, first.manifest, sizes)
    by_table = {bound.table: stored[bound.name] for bound in first.manifest.bindings if bound.name in stored}
    plan = plan_changes(replace(live, stored_values=by_table.get), new, options, changes)
    places = change_places(changes, before, after)
    problems = tuple(dict.fromkeys([*plan.problems, *unknown_renames(before, after)]))
    resources = _fill_in_unplanned(after, plan, reach)
    return replace(plan, changes=changes, places=places, problems=problems, resources=resources)


def live_from_manifest(project: Project, manifest: Manifest, sizes: Mapping[str, Size]) -> Live:
    """A project that runs with a manifest, as input of the planner; `sizes` are by data source."""
    by_table = {bound.table: sizes[bound.name] for bound in manifest.bindings if bound.name in sizes}
    return Live(project, manifest, by_table)


def _find_needed_names(before: Project, after: Project, reach: ChangeImpact, others: frozenset[str]) -> frozenset[str]:
    """The names of resources that are reached or removed, or whose tables may have the rows of one that is reached
    (`others`), and of all that they derive from in either version."""
    names = (
        reach.reached | (frozenset(before.names) - frozenset(after.names)) | _find_passed_over(after, reach) | others
    )
    while True:
        more = names | with_upstream(after, names) | with_upstream(before, names)
        if more == names:
            return names
        names = more


def _find_passed_over(project: Project, reach: ChangeImpact) -> frozenset[str]:
    """The views that may read the target of a copy in mode replace: its plan names those that it does not trigger."""
    copies = (pipe.copies for pipe in project.pipes if reach.has(pipe.name))
    targets = {each.datasource for each in copies if each is not None and each.mode == "replace"}
    readers = (project.pipe(reader) for target in targets for reader in reach.graph.readers(target))
    return frozenset(pipe.name for pipe in readers if pipe is not None and pipe.materialized is not None)


def _select_resources(project: Project, names: frozenset[str]) -> Project:
    return Project(
        tuple(source for source in project.datasources if source.name in names),
        tuple(pipe for pipe in project.pipes if pipe.name in names),
    )


def _fill_in_unplanned(project: Project, plan: Plan, reach: ChangeImpact) -> tuple[ResourcePlan, ...]:
    """The resources of the plan together with those that it did not look at."""
    known: dict[tuple[str, ResourceKind], ResourcePlan] = {(each.name, each.kind): each for each in plan.resources}
    spared = _UnplannedDataSources(
        project, reach, {each.name: each for each in plan.resources if each.kind == "datasource"}
    )
    found = []
    for source in project.datasources:
        planned = known.pop((source.name, "datasource")) if (source.name, "datasource") in known else None
        found.append(planned or spared.of(source.name))
    for pipe in project.pipes:
        unchanged = ResourcePlan(pipe.name, pipe_kind(pipe), "none", "unchanged")
        found.append(known.pop((pipe.name, pipe_kind(pipe)), unchanged))
    return (*found, *known.values()) if plan.resources or not plan.errors else ()


@dataclass(frozen=True, slots=True)
class _UnplannedDataSources:
    """Plans of the data sources that no change reaches: those downstream of a changed one are reused."""

    project: Project
    reach: ChangeImpact
    known: dict[str, ResourcePlan]

    def of(self, name: str) -> ResourcePlan:
        waiting = [name]
        while waiting:
            above = self._above(waiting[-1])
            missing = [each for each in above if each not in self.known and each not in waiting]
            if missing:
                waiting += missing
                continue
            moved = [each for each in above if each in self.known and self.known[each].strategy in MOVING]
            done = waiting.pop()
            reason = reuse_reason(moved) if moved else "unchanged"
            self.known[done] = ResourcePlan(done, "datasource", "reuse" if moved else "none", reason)
        return self.known[name]

    def _above(self, name: str) -> list[str]:
        pipes = [pipe.name for pipe, _ in self.project.feeders(name)]
        named = {read for pipe in pipes for read in self.reach.graph.reads[pipe]} - {name}
        return sorted(each for each in named if self.project.datasource(each) is not None)
