"""A project with all of its SQL compiled.

In: a project. Out: `Compiled`: views, what each pipe reads, DEFAULT expressions, and every problem.
Called by `plan` and `dropped`. Invariant: one resource that does not compile does not hide the
problems of another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from penstock.errors import InvalidQuery, Location, Problem
from penstock.graph import Graph
from penstock.model.datasource import Column, DataSource
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.model.types import nullable
from penstock.plan.diff import kind_of
from penstock.plan.templated import check_pipe
from penstock.sql.query import Read, View
from penstock.sql.spark_types import UnknownState, spark_type, zero
from penstock.sql.transpile import cast_sql, compile_expression, compile_view


@dataclass(frozen=True, slots=True)
class Compiled:
    """`views` by pipe; `reads` of every pipe that compiles; `defaults` (Spark SQL over logical
    names, of the column's type) by data source and column; `failed` the pipes that do not compile."""

    project: Project
    views: Mapping[str, View] = field(default_factory=dict)
    reads: Mapping[str, tuple[Read, ...]] = field(default_factory=dict)
    defaults: Mapping[tuple[str, str], str] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()

    def feeders(self, target: str) -> tuple[View, ...]:
        """The views into a data source, by pipe."""
        pipes = (pipe.name for pipe, _ in self.project.feeders(target))
        return tuple(self.views[pipe] for pipe in pipes if pipe in self.views)

    def default(self, source: DataSource, column: Column) -> str | None:
        """The DEFAULT of a column; the zero value where nothing else can fill it at ingestion."""
        written = self.defaults.get((source.name, column.name))
        if written is None and source.path_of(column) is None and not nullable(column.type):
            return zero(column.type)
        return written

    @property
    def graph(self) -> Graph:
        """Data sources read the pipes that feed them; pipes read data sources."""
        arrows: dict[str, set[str]] = {source.name: set() for source in self.project.datasources}
        for pipe, reads in self.reads.items():
            arrows[pipe] = {read.datasource for read in reads}
        for pipe, view in self.views.items():
            arrows.setdefault(view.target, set()).add(pipe)
        return Graph.of(arrows)


def unstored(sources: Iterable[DataSource]) -> tuple[Problem, ...]:
    """The columns of types that no table can hold."""
    problems = []
    for source in sources:
        for column in source.columns:
            try:
                spark_type(column.type)
            except UnknownState as error:
                message = f"column `{column.name}` of `{source.name}`: {error}"
                problems.append(Problem("unsupported-type", message, column.location, error.hint))
    return tuple(problems)


def compile_project(project: Project, only: Collection[str] | None = None) -> Compiled:
    """Compile the queries and DEFAULTs of the resources in `only` (None: of all); collect the problems
    of all."""
    views: dict[str, View] = {}
    reads: dict[str, tuple[Read, ...]] = {}
    problems: list[Problem] = []
    failed: set[str] = set()
    for pipe in project.pipes:
        if only is not None and pipe.name not in only:
            continue
        try:
            view = _view(project, pipe)
            checked = check_pipe(project, pipe) if view is None else None
            reads[pipe.name] = reads_of(view) if view else checked.reads if checked else ()
        except InvalidQuery as error:
            failed.add(pipe.name)
            problems += _problems(error, pipe.location)
        else:
            views |= {pipe.name: view} if view else {}
            problems += checked.problems if checked else ()
    sources = [source for source in project.datasources if only is None or source.name in only]
    defaults, wrong = _defaults(sources)
    compiled = Compiled(project, views, reads, defaults, frozenset(failed), (*problems, *wrong))
    return _without_cycle(compiled)


def reads_of(view: View) -> tuple[Read, ...]:
    """What a view reads, the trigger first."""
    return (view.trigger, *(read for read in view.query.reads if read.placeholder != view.trigger.placeholder))


def _view(project: Project, pipe: Pipe) -> View | None:
    node = pipe.materialized
    return compile_view(project, pipe, node) if node is not None else None


def _defaults(sources: Iterable[DataSource]) -> tuple[dict[tuple[str, str], str], list[Problem]]:
    defaults: dict[tuple[str, str], str] = {}
    problems: list[Problem] = []
    for source in sources:
        for column in source.columns:
            if column.default is None:
                continue
            try:
                defaults[source.name, column.name] = _default(source, column)
            except InvalidQuery as error:
                problems += _problems(error, column.default.location)
    return defaults, problems


def _default(source: DataSource, column: Column) -> str:
    """ClickHouse casts a DEFAULT to the column's type."""
    assert column.default is not None, "asked for columns with a DEFAULT only"
    compiled = compile_expression(column.default, source.columns)
    exact = cast_sql(compiled.sql, compiled.type, column.type)
    return exact if exact is not None else f"CAST({compiled.sql} AS {spark_type(column.type)})"


def _problems(error: InvalidQuery, place: Location) -> tuple[Problem, ...]:
    return error.problems or (Problem(error.code, error.message, place, error.hint),)


def _without_cycle(compiled: Compiled) -> Compiled:
    """A cycle of views as one more problem; nothing can be planned around it."""
    cycle = compiled.graph.cycle()
    if not cycle:
        return compiled
    views = (pipe for pipe in compiled.project.pipes if pipe.name in cycle and kind_of(pipe) == "materialized")
    place = next((pipe.location for pipe in views), None)
    problem = Problem("cycle", f"{' → '.join(cycle)}: a materialized view feeds what it reads", place)
    return Compiled(compiled.project, failed=frozenset(compiled.views), problems=(*compiled.problems, problem))
