"""A project with all of its SQL compiled, or as much of it as compiles.

In: a project. Out: `CompiledProject`: materialized views, the reads of each pipe, DEFAULT expressions, and every
problem. Invariant: a resource that does not compile hides no problem of another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field

from penstock.errors import InvalidQuery, Location, Problem
from penstock.model.datasource import Column, DataSource
from penstock.model.graph import Graph
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import is_nullable
from penstock.plan.diff.project_queries import ProjectQueries, reads_of_view
from penstock.plan.diff.resource_kinds import pipe_kind
from penstock.plan.pipe_check import check_pipe
from penstock.plan.quarantine_sources import is_quarantine
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.compile import compile_default
from penstock.sql.query import CompiledView, SourceRead
from penstock.sql.stored_types import UnknownState, column_default, spark_type


@dataclass(frozen=True, slots=True)
class CompiledProject:
    """A project with the compiled SQL of its resources."""

    project: Project
    views: Mapping[str, CompiledView] = field(default_factory=dict)
    """The compiled materialized view by pipe."""
    reads: Mapping[str, tuple[SourceRead, ...]] = field(default_factory=dict)
    """The data sources of the project that each pipe which compiles reads."""
    quarantines: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The quarantines that each pipe which compiles reads."""
    defaults: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """DEFAULTs by data source and column, as Spark SQL over logical names, of the column's type."""
    failed: frozenset[str] = frozenset()
    """The pipes that do not compile."""
    problems: tuple[Problem, ...] = ()

    def feeders(self, target: str) -> tuple[CompiledView, ...]:
        """The views into a data source, by pipe."""
        pipes = (pipe.name for pipe, _ in self.project.feeders(target))
        return tuple(self.views[pipe] for pipe in pipes if pipe in self.views)

    def default(self, source: DataSource, column: Column) -> str | None:
        """The DEFAULT of a column; the type's default value where ingestion has nothing else to fill it with."""
        written = self.defaults.get((source.name, column.name))
        if written is None and source.path_of(column) is None and not is_nullable(column.type):
            return column_default(column.type)
        return written

    @property
    def graph(self) -> Graph:
        """The graph of dependencies: data sources read the pipes that feed them, pipes read data sources."""
        arrows: dict[str, set[str]] = {source.name: set() for source in self.project.datasources}
        for pipe, reads in self.reads.items():
            arrows[pipe] = {read.datasource for read in reads}
        for pipe, view in self.views.items():
            arrows.setdefault(view.target, set()).add(pipe)
        return Graph.of(arrows)


def unsupported_columns(sources: Iterable[DataSource]) -> tuple[Problem, ...]:
    """A problem for each column of a type that no table can hold."""
    problems = []
    for source in sources:
        for column in source.columns:
            try:
                spark_type(column.type)
            except UnknownState as error:
                message = f"column `{column.name}` of `{source.name}`: {error}"
                problems.append(Problem("unsupported-type", message, column.location, error.hint))
    return tuple(problems)


def compile_project(
    project: Project, only: Collection[str] | None = None, queries: ProjectQueries | None = None
) -> CompiledProject:
    """Compile the queries and DEFAULTs of the resources in `only` (None: of all); collect the problems
    of all. `queries` are those of the project, or of one that has all of its resources and more, as far as they were
    compiled before."""
    queries = queries or ProjectQueries(project)
    views: dict[str, CompiledView] = {}
    reads: dict[str, tuple[SourceRead, ...]] = {}
    quarantines: dict[str, frozenset[str]] = {}
    problems: list[Problem] = []
    failed: set[str] = set()
    for pipe in project.pipes:
        if only is not None and pipe.name not in only:
            continue
        try:
            view = queries.view(pipe)
            checked = check_pipe(queries.readable, pipe, queries.caller) if view is None else None
            found = reads_of_view(view) if view else checked.reads if checked else ()
            reads[pipe.name] = tuple(each for each in found if project.datasource(each.datasource) is not None)
            names = {each.datasource for each in found}
            quarantines[pipe.name] = frozenset(name for name in names if is_quarantine(project, name))
        except InvalidQuery as error:
            failed.add(pipe.name)
            problems += _problems_of(error, pipe.location)
        else:
            views |= {pipe.name: view} if view else {}
            problems += checked.problems if checked else ()
    sources = [source for source in project.datasources if only is None or source.name in only]
    defaults, wrong = _compile_defaults(sources)
    compiled = CompiledProject(project, views, reads, quarantines, defaults, frozenset(failed), (*problems, *wrong))
    return _refuse_cycle(compiled)


def _compile_defaults(sources: Iterable[DataSource]) -> tuple[dict[tuple[str, str], str], list[Problem]]:
    defaults: dict[tuple[str, str], str] = {}
    problems: list[Problem] = []
    for source in sources:
        for column in source.columns:
            if column.default is None:
                continue
            try:
                defaults[source.name, column.name] = compile_default_of(source, column)
            except InvalidQuery as error:
                problems += _problems_of(error, column.default.location)
        problems += _circular_defaults(source, defaults)
    return defaults, problems


def compile_default_of(source: DataSource, column: Column) -> str:
    """The DEFAULT of a column as Spark SQL over logical names; ClickHouse casts it to the column's type. Raises
    InvalidQuery."""
    assert column.default is not None, "asked for columns with a DEFAULT only"
    return compile_default(column.default, source.columns, column)


def _circular_defaults(source: DataSource, defaults: Mapping[tuple[str, str], str]) -> Iterator[Problem]:
    """A problem if DEFAULTs of a data source depend on each other in a circle."""
    reads = {
        name: expression_facts(default).column_names
        for (owner, name), default in defaults.items()
        if owner == source.name
    }
    cycle = Graph.of(reads).cycle() if reads else ()
    column = source.column(cycle[0]) if cycle else None
    if column is not None:
        message = f"{' → '.join(f'`{name}`' for name in cycle)}: a DEFAULT depends on itself"
        yield Problem("cycle", message, column.location, "compute one of them from columns of the ingested row")


def _problems_of(error: InvalidQuery, place: Location) -> tuple[Problem, ...]:
    return error.problems or (Problem(error.code, error.message, place, error.hint),)


def _refuse_cycle(compiled: CompiledProject) -> CompiledProject:
    """The project with one more problem if its views form a cycle; nothing can be planned then."""
    cycle = compiled.graph.cycle()
    if not cycle:
        return compiled
    views = (pipe for pipe in compiled.project.pipes if pipe.name in cycle and pipe_kind(pipe) == "materialized")
    place = next((pipe.location for pipe in views), None)
    problem = Problem("cycle", f"{' → '.join(cycle)}: a materialized view feeds what it reads", place)
    return CompiledProject(compiled.project, failed=frozenset(compiled.views), problems=(*compiled.problems, problem))
