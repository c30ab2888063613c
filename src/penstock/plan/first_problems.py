"""What is wrong with a project that a server which has nothing yet would find when it plans it.

In: a compiled project. Out: the problems of `make_plan(None, project, …)`, without its flows, which take long to plan.
Invariant: they are the same problems, whatever the project: what a new table can be wrong about is its
columns, its keys, its TTL and what FINAL merges, and no flow has a part in that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import DataSource
from penstock.model.manifest import BoundColumn
from penstock.model.project import Project
from penstock.plan.compiled_project import CompiledProject, unsupported_columns
from penstock.plan.diff.ttl_and_final import build_final_rule, build_ttl_filter
from penstock.plan.tables.table_layout import build_layout


def find_first_problems(compiled: CompiledProject, strategies: Collection[str]) -> tuple[Problem, ...]:
    """The problems of the first deployment of a project; `strategies` are the data sources that its settings name."""
    project = compiled.project
    found = unsupported_columns(project.datasources)
    if found:
        return found
    of_tables = (problem for source in project.datasources for problem in _table_problems(source))
    return (*compiled.problems, *unknown_strategies(project, strategies), *of_tables)


def _table_problems(source: DataSource) -> Iterator[Problem]:
    columns = [BoundColumn(column.name, column.type, column.name) for column in source.columns]
    yield from build_layout(source, columns).problems
    yield from build_ttl_filter(source).problems
    yield from build_final_rule(source).problems


def unknown_strategies(project: Project, names: Collection[str]) -> Iterator[Problem]:
    """A problem for each strategy that is requested for a name that is no data source."""
    known = [source.name for source in project.datasources]
    for name in sorted(set(names) - set(known)):
        message = f"`[deploy.strategy]` names `{name}`, which is not a data source"
        yield Problem("unknown-datasource", message, Location("penstock.toml"), did_you_mean(name, known))
