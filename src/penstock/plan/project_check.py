"""Whether a server that has nothing yet would deploy a project, and what of it without its broken files.

In: a loaded project. Out: every problem of its files, its SQL and its graph; for each resource whether it deploys, is
broken or falls with what it reads. Invariants: one file's problem hides no other's; a problem that only follows from
another file's is not reported; what is said to deploy would deploy as it is, without the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from posixpath import basename, splitext
from typing import Literal, TypeAlias, Union

from penstock.errors import Location, Problem
from penstock.model.datasource import DataSource
from penstock.model.graph import walk
from penstock.model.pipe import Copied, Materialized, Pipe
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.parse.cross_checks import check_project
from penstock.parse.project_loader import LoadedProject
from penstock.plan.compiled_project import CompiledProject, compile_project, unsupported_columns
from penstock.plan.diff.resource_kinds import ResourceKind, pipe_kind
from penstock.plan.diff.sql_words import names_in_sql
from penstock.plan.first_problems import find_first_problems
from penstock.sql.syntax.problems import Refused
from penstock.sql.syntax.tree import parse_select_list

Resource: TypeAlias = Union[DataSource, Pipe]
Outcome: TypeAlias = Literal["deploys", "broken", "falls"]
"""`broken`: its own file has an error. `falls`: it reads or writes something that does not deploy."""

_CONSEQUENCES = ("unknown-table", "unknown-column", "missing-column", "column-not-filled", "wrong-column-count")
"""What a query is told that reads a resource of which only a part could be read."""


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """What would become of one resource in a deployment without the broken files."""

    name: str
    kind: ResourceKind
    file: str
    outcome: Outcome
    because: tuple[str, ...] = ()
    """The resources that it names and that do not deploy."""
    unfed_by: tuple[str, ...] = ()
    """The views that would write into this data source and do not deploy."""


@dataclass(frozen=True, slots=True)
class ProjectCheck:
    """The problems of a project, and the outcome of each of its resources."""

    problems: tuple[Problem, ...]
    """In the order of their places."""
    resources: tuple[ResourceCheck, ...]
    """Data sources first, each kind by name."""
    compiled: CompiledProject = field(repr=False)
    """The project with its SQL compiled, as far as it compiles."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems for which the project would be refused."""
        return tuple(problem for problem in self.problems if problem.level == "error")


def check_loaded(loaded: LoadedProject) -> ProjectCheck:
    """Check a project as its first deployment would."""
    compiled = compile_project(loaded.project)
    found = tuple(dict.fromkeys([*loaded.problems, *_find_planned_problems(loaded, compiled)]))
    problems = tuple(sorted(_without_consequences(loaded.project, found), key=_place))
    broken = _files_with_errors(problems)
    refused = any(problem.level == "error" for problem in problems)
    resources = _check_resources(loaded, broken) if refused else _all_deploy(loaded.project)
    return ProjectCheck(problems, resources, compiled)


def _find_planned_problems(loaded: LoadedProject, compiled: CompiledProject) -> Iterator[Problem]:
    """The problems that show when SQL is compiled and tables are planned."""
    yield from _unreadable_forward_queries(loaded.project)
    if not loaded.errors:
        yield from find_first_problems(compiled, loaded.settings.deploy.strategy)
        return
    found = [*unsupported_columns(loaded.project.datasources), *compiled.problems]
    yield from found
    # What only the tables of a plan can be wrong about is asked of the part that does not depend on broken files.
    broken = _resource_names(_files_with_errors([*loaded.problems, *found]))
    readers = _find_readers(loaded.project, broken)
    rest = _without(loaded.project, _dependents(readers, broken))
    yield from find_first_problems(compile_project(rest), ())


def _unreadable_forward_queries(project: Project) -> Iterator[Problem]:
    """Warnings: the first deployment needs no forward query, and a later one refuses it if it is used."""
    for source in project.datasources:
        if source.forward_query is None:
            continue
        try:
            parse_select_list(source.forward_query)
        except Refused as refused:
            hint = refused.problem.hint or "a deployment that uses this FORWARD_QUERY is refused"
            yield replace(refused.problem, level="warning", hint=hint)


def _without_consequences(project: Project, problems: Collection[Problem]) -> Iterator[Problem]:
    """The problems, without what a query is told because a resource that it reads or writes has problems of its own."""
    broken = _resource_names(_files_with_errors(problems))
    readers = _find_readers(project, broken) if broken else {}
    after = {name: _dependents(readers, {name}) - {name} for name in broken}
    for problem in problems:
        name = _resource_name(problem.location.file) if problem.location is not None else ""
        causes = [cause for cause in broken if name in after[cause] and cause not in after.get(name, ())]
        if problem.code not in _CONSEQUENCES or not causes:
            yield problem


def _find_readers(project: Project, more: Collection[str]) -> Mapping[str, list[str]]:
    """The pipes that read or write each resource, also those that are named and not there."""
    known = frozenset(project.names).union(more)
    readers: dict[str, list[str]] = {}
    for pipe in project.pipes:
        for name in _named(pipe, known):
            readers.setdefault(name, []).append(pipe.name)
    return readers


def _dependents(readers: Mapping[str, list[str]], names: Collection[str]) -> frozenset[str]:
    """The names, and every pipe that reads or writes one of them, directly or through other pipes."""
    return frozenset(walk(names, lambda name: readers.get(name, ())))


def _files_with_errors(problems: Collection[Problem]) -> frozenset[str]:
    errors = (problem for problem in problems if problem.level == "error")
    return frozenset(problem.location.file for problem in errors if problem.location is not None)


def _check_resources(loaded: LoadedProject, broken: Collection[str]) -> tuple[ResourceCheck, ...]:
    """The outcome of each resource, the broken files among them. Resources are left out until the rest deploys."""
    left = _without(loaded.project, {each.name for each in _resources(loaded.project) if each.location.file in broken})
    while True:
        refused = _refused_resources(left)
        if not refused:
            break
        left = _without(left, refused)
    deployed = frozenset(left.names)
    known = {each.name for each in _resources(loaded.project)}
    lost = (known | _resource_names(loaded.files)) - deployed
    found = {
        each.name: _check_resource(loaded.project, each, deployed, lost, broken) for each in _resources(loaded.project)
    }
    for path in sorted(loaded.files):
        name = _resource_name(path)
        if name and name not in found:
            found[name] = ResourceCheck(name, "datasource" if path.endswith(".datasource") else "pipe", path, "broken")
    return tuple(sorted(found.values(), key=lambda each: (each.kind != "datasource", each.name)))


def _refused_resources(project: Project) -> frozenset[str]:
    """The resources for which a project is refused; all of them where nobody can say which."""
    problems = [*check_project(_resources(project), [source.name for source in project.datasources])]
    problems = problems or [*find_first_problems(compile_project(project), ())]
    files = _files_with_errors(problems)
    found = frozenset(each.name for each in _resources(project) if each.location.file in files)
    refused = any(problem.level == "error" for problem in problems)
    return found if found or not refused else frozenset(project.names)


def _check_resource(
    project: Project, resource: Resource, deployed: Collection[str], lost: Collection[str], broken: Collection[str]
) -> ResourceCheck:
    kind: ResourceKind = pipe_kind(resource) if isinstance(resource, Pipe) else "datasource"
    file = resource.location.file
    if resource.name in deployed:
        views = sorted(pipe.name for pipe, _ in project.feeders(resource.name) if kind == "datasource")
        return ResourceCheck(
            resource.name, kind, file, "deploys", unfed_by=tuple(name for name in views if name not in deployed)
        )
    if file in broken:
        return ResourceCheck(resource.name, kind, file, "broken")
    named = sorted(_named(resource, lost) - {resource.name}) if isinstance(resource, Pipe) else []
    return ResourceCheck(resource.name, kind, file, "falls", tuple(named))


def _named(pipe: Pipe, names: Collection[str]) -> frozenset[str]:
    """Those of the names that a pipe reads or writes, as far as its text says."""
    kinds = [node.kind for node in pipe.nodes]
    targets = {kind.datasource for kind in kinds if isinstance(kind, (Copied, Materialized))}
    return names_in_sql(pipe, names) | targets.intersection(names)


def _all_deploy(project: Project) -> tuple[ResourceCheck, ...]:
    everything = _resources(project)
    return tuple(_check_resource(project, each, project.names, (), ()) for each in everything)


def _resources(project: Project) -> tuple[Resource, ...]:
    return (*project.datasources, *project.pipes)


def _without(project: Project, names: Collection[str]) -> Project:
    return Project(
        tuple(source for source in project.datasources if source.name not in names),
        tuple(pipe for pipe in project.pipes if pipe.name not in names),
    )


def _resource_name(file: str) -> str:
    """The name of the resource that a file describes; empty for any other file."""
    name, suffix = splitext(basename(file))
    return name if suffix in (".datasource", ".pipe") else ""


def _resource_names(files: Collection[str]) -> frozenset[str]:
    return frozenset(filter(None, map(_resource_name, files)))


def _place(problem: Problem) -> tuple[Location, str, str]:
    return problem.location or Location("", 0, 0), problem.code, problem.message
