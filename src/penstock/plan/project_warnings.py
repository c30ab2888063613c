"""What a project may do and is hardly meant: dead ends, and views that give something else than their target's model.

In: a sound project and the names of resources to look at. Out: warnings, at the places of the resources. Invariant:
what is named here deploys all the same; SQL that does not compile has problems of its own and no warning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from sqlglot import exp

from penstock.api.project.source_project import SourceProject
from penstock.errors import InvalidQuery, Location, Problem
from penstock.model.datasource import DataSource
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.model.types import (
    Bool,
    Date,
    DateTime,
    DateTime64,
    Decimal,
    Enum,
    FixedString,
    Float,
    Int,
    String,
    Type,
    unwrap_type,
)
from penstock.parse.project_loader import LoadedProject
from penstock.plan.compiled_project import CompiledProject
from penstock.plan.diff.resource_kinds import pipe_kind
from penstock.plan.project_graph import ProjectGraph, draw_project
from penstock.plan.quarantine_sources import with_quarantines
from penstock.plan.table_versions import find_versions, table_of_version
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.compile import compile_pipe
from penstock.sql.query import Query
from penstock.template.declared_parameters import parameters_of
from penstock.template.general_parameters import GENERAL_PARAMETERS

_FAMILIES = ((Int, Bool), (Float, Decimal), (String, FixedString, Enum), (Date, DateTime, DateTime64))
"""Types between which a value that is stored stays what it is, or nearly."""
_CUT_WORDS = re.compile("LIMIT|OFFSET", re.IGNORECASE)


def source_warnings(read: SourceProject, compiled: CompiledProject | None = None) -> tuple[Problem, ...]:
    """The warnings of what is written in Python, at their places there; none if the project has errors. Datafiles may
    be written for tools that ask for such things. `compiled` is the project where it was compiled before."""
    project = read.loaded.project
    made = [each.name for each in project.datasources if each.location.file in read.places.by_file]
    made += [each.name for each in project.pipes if each.location.file in read.places.by_file]
    if not made or read.loaded.errors:
        return ()
    found = [*read.loaded.problems, *project_warnings(read.loaded, made, compiled)]
    return read.places.problems(dict.fromkeys(found))


def project_warnings(
    loaded: LoadedProject, names: Collection[str], compiled: CompiledProject | None = None
) -> tuple[Problem, ...]:
    """The warnings of these resources; none if the project has errors."""
    if loaded.errors:
        return ()
    found = list(_dead_ends(loaded.project, draw_project(loaded, compiled), names))
    project = with_quarantines(loaded.project)
    for pipe in loaded.project.pipes:
        if pipe.materialized is not None and pipe.name in names:
            found += _view_warnings(project, pipe)
        if pipe.endpoint is not None and pipe.name in names:
            found += _lost_parameters(project, pipe)
    return tuple(found)


def _lost_parameters(project: Project, pipe: Pipe) -> Iterator[Problem]:
    """Parameters of a template that every call has for itself, so that no value gets to the endpoint."""
    for each in parameters_of(project, pipe):
        if each.name in GENERAL_PARAMETERS:
            message = f"every call has a parameter `{each.name}` of its own, which `{pipe.name}` does not get"
            yield _warning_problem("invalid-parameter", message, pipe.location, "give it another name")


def _dead_ends(project: Project, graph: ProjectGraph, names: Collection[str]) -> Iterator[Problem]:
    for pipe in project.pipes:
        if pipe.name in names and pipe_kind(pipe) == "pipe" and not graph.after(pipe.name):
            message = f"nothing reads `{pipe.name}`"
            yield _warning_problem("dead-end", message, pipe.location, "remove it, unless queries by hand read it")
    for source in project.datasources:
        if source.name in names and source.engine.name == "Null" and not graph.after(source.name):
            message = f"`{source.name}` keeps no rows, and nothing reads those that arrive"
            yield _warning_problem(
                "dead-end", message, source.location, "give it a table, or a materialized view that reads it"
            )
    yield from (
        _unused_table(each) for each in project.datasources if each.name in names and _is_unused(each, project, graph)
    )
    for table in sorted(
        {table_of_version(source.name) for source in project.datasources if source.name in names} - {""}
    ):
        *older, newest = find_versions(project, graph, table)
        has_other_use = any(each.fed_by or each.read_by for each in older)
        for each in (*older, newest) if has_other_use else older:  # the newest may be used by calls only
            if not each.fed_by and not each.read_by:
                message = f"nothing of the project feeds or reads the version {each.version} of `{table}`"
                hint = f"remove it, then `penstock table retire {table} {each.version}`, once nobody posts or queries"
                yield _warning_problem("dead-end", message, each.source.location, hint)


def _is_unused(source: DataSource, project: Project, graph: ProjectGraph) -> bool:
    """Whether a project that has pipes neither feeds nor reads a table, and grants nobody to: a table alone is where
    one begins, and a version of a table has a warning of its own."""
    is_table = source.engine.name != "Null" and not table_of_version(source.name)
    is_fed = source.kafka is not None or source.files is not None or bool(graph.before(source.name))
    return bool(project.pipes) and is_table and not is_fed and not source.tokens and not graph.after(source.name)


def _unused_table(source: DataSource) -> Problem:
    message = f"nothing of the project feeds or reads `{source.name}`"
    return _warning_problem("dead-end", message, source.location, "remove it, unless posts and queries by hand use it")


def _view_warnings(project: Project, pipe: Pipe) -> Iterator[Problem]:
    node = pipe.materialized
    target = project.datasource(node.kind.datasource) if node is not None else None  # type: ignore[union-attr]
    if node is None or target is None:
        return
    try:
        query = compile_pipe(project, pipe)
    except InvalidQuery:
        return
    place = node.sql.location
    yield from _differing_columns(query, target, place)
    if not expression_facts(query.sql).is_repeatable:
        message = f"`{pipe.name}` depends on the clock or on chance: computed anew, it gives other rows"
        yield _warning_problem(
            "unrepeatable-view", message, place, "use what the row itself says, such as the time that it has"
        )
    # The tree takes a while to make, and text without the words has no such clauses.
    tree = query.facts.tree if _CUT_WORDS.search(query.sql) else None
    if tree is not None and tree.find(exp.Limit, exp.Offset) is not None:
        message = f"`{pipe.name}` has a LIMIT, which cuts the rows of each step, however many have arrived for it"
        yield _warning_problem(
            "unrepeatable-view", message, place, "choose rows by WHERE; an endpoint may have the LIMIT"
        )


def _differing_columns(query: Query, target: DataSource, place: Location) -> Iterator[Problem]:
    given = dict(query.columns)
    for column in target.columns:
        found = given.get(column.name)
        if found is None and column.default is None:
            message = (
                f"the SELECT does not give `{column.name}` of `{target.name}`, which is empty or 0 in each of its rows"
            )
            yield _warning_problem("differs-from-model", message, place, "give it, or give the column a default")
        elif found is not None and not _is_alike(unwrap_type(found), unwrap_type(column.type)):
            message = f"the SELECT gives `{column.name}` as {found}, which is stored as {column.type}"
            yield _warning_problem("differs-from-model", message, place, "convert it in the SELECT, so that it is seen")


def _is_alike(found: Type, wanted: Type) -> bool:
    return type(found) is type(wanted) or any(
        isinstance(found, family) and isinstance(wanted, family) for family in _FAMILIES
    )


def _warning_problem(code: str, message: str, place: Location, hint: str) -> Problem:
    return Problem(code, message, place, hint, "warning")
