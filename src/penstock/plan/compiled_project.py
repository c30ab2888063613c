"""A project with all of its SQL compiled, or as much of it as compiles.

In: a project. Out: `CompiledProject`: materialized views, the reads of each pipe, DEFAULT expressions, and every
problem. SQL whose template depends on the call is compiled once for each branch of its `if`s. Invariants: a
resource that does not compile hides no problem of another; where a placeholder stands for a parameter without a
value, an error that may be caused by the placeholder is only a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.errors import InvalidQuery, Location, Problem
from penstock.graph import Graph
from penstock.model.datasource import Column, DataSource
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.model.types import is_nullable
from penstock.plan.diff.project_diff import pipe_kind
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.compile import compile_copy, compile_default, compile_pipe, compile_view
from penstock.sql.query import CompiledView, Query, SourceRead
from penstock.sql.stored_types import UnknownState, column_default, spark_type
from penstock.template.branch_variants import branch_inputs
from penstock.template.declared_parameters import is_templated, parameters_of
from penstock.template.errors import PARAMETER_ERRORS
from penstock.template.parser import is_template, read_template
from penstock.template.render_frame import DEPLOY, RenderInput, RenderTrace


@dataclass(frozen=True, slots=True)
class CompiledProject:
    """A project with the compiled SQL of its resources."""

    project: Project
    views: Mapping[str, CompiledView] = field(default_factory=dict)
    """The compiled materialized view by pipe."""
    reads: Mapping[str, tuple[SourceRead, ...]] = field(default_factory=dict)
    """What each pipe that compiles reads."""
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


def compile_project(project: Project, only: Collection[str] | None = None) -> CompiledProject:
    """Compile the queries and DEFAULTs of the resources in `only` (None: of all); collect the problems
    of all."""
    views: dict[str, CompiledView] = {}
    reads: dict[str, tuple[SourceRead, ...]] = {}
    problems: list[Problem] = []
    failed: set[str] = set()
    for pipe in project.pipes:
        if only is not None and pipe.name not in only:
            continue
        try:
            view = _compile_materialized(project, pipe)
            checked = check_pipe(project, pipe) if view is None else None
            reads[pipe.name] = reads_of_view(view) if view else checked.reads if checked else ()
        except InvalidQuery as error:
            failed.add(pipe.name)
            problems += _problems_of(error, pipe.location)
        else:
            views |= {pipe.name: view} if view else {}
            problems += checked.problems if checked else ()
    sources = [source for source in project.datasources if only is None or source.name in only]
    defaults, wrong = _compile_defaults(sources)
    compiled = CompiledProject(project, views, reads, defaults, frozenset(failed), (*problems, *wrong))
    return _refuse_cycle(compiled)


def reads_of_view(view: CompiledView) -> tuple[SourceRead, ...]:
    """The sources that a view reads, the trigger first."""
    return (view.trigger, *(read for read in view.query.reads if read.placeholder != view.trigger.placeholder))


def _compile_materialized(project: Project, pipe: Pipe) -> CompiledView | None:
    node = pipe.materialized
    return compile_view(project, pipe, node) if node is not None else None


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


_CERTAIN_ERRORS = (
    "unknown-column",
    "unknown-table",
    "unknown-function",
    "invalid-sql",
    "invalid-default",
    "cyclic-pipes",
)
_CALLER_ERRORS = (*PARAMETER_ERRORS, "template-value", "template-type", "empty-query")
"""What a call is told, and no fault of the project where other calls do well."""


@dataclass(frozen=True, slots=True)
class PipeCheck:
    """What a pipe reads, and what may be wrong with it."""

    reads: tuple[SourceRead, ...]
    problems: tuple[Problem, ...]


def check_pipe(project: Project, pipe: Pipe) -> PipeCheck:
    """Check one pipe for all calls that it may get. Raises InvalidQuery with all its problems."""
    trace = RenderTrace()
    if not is_templated(pipe):
        return PipeCheck(_compile_query(project, pipe, RenderInput("check", trace=trace)).reads, ())
    checked = _TemplateCheck(project, pipe, trace).all()
    _check_scheduled_copy(project, pipe)
    return checked


def _compile_query(project: Project, pipe: Pipe, given: RenderInput) -> Query:
    """The query of the pipe's result; of a copy, the query of the rows it writes."""
    node = pipe.copied
    return compile_pipe(project, pipe, given) if node is None else compile_copy(project, pipe, node, given).query


def _check_scheduled_copy(project: Project, pipe: Pipe) -> None:
    """A copy with a schedule runs without a call: its parameters need defaults. Raises InvalidQuery."""
    node, copies = pipe.copied, pipe.copies
    if node is None or copies is None or copies.schedule is None:
        return
    try:
        compile_copy(project, pipe, node, DEPLOY)
    except InvalidQuery as error:
        problems = [problem for problem in error.problems if problem.code != "template-secret"]
        if problems:
            raise InvalidQuery(error.message, problems) from error


class _TemplateCheck:
    """Compiles one pipe for each branch of its templates, and collects the problems."""

    def __init__(self, project: Project, pipe: Pipe, trace: RenderTrace):
        self._project = project
        self._pipe = pipe
        self._trace = trace
        self._reads: list[SourceRead] = []
        self._found: dict[Problem, None] = {}
        self._passed = 0

    def all(self) -> PipeCheck:
        templates = [read_template(node.sql.text) for node in self._pipe.nodes if is_template(node.sql.text)]
        first = self._compile(RenderInput("check", trace=self._trace))
        parameters = parameters_of(self._project, self._pipe)
        for given in branch_inputs(templates, self._trace, parameters):
            self._note(each for each in self._compile(given) if each.code not in _CALLER_ERRORS)
        self._note(each for each in first if each.code != "empty-query" or not self._passed)
        certain = {(each.code, each.location) for each in self._found if each.level == "error"}
        problems = tuple(
            each for each in self._found if each.level == "error" or (each.code, each.location) not in certain
        )
        if any(problem.level == "error" for problem in problems):
            raise InvalidQuery(f"the pipe `{self._pipe.name}` cannot be compiled", problems)
        return PipeCheck(tuple(_merge_reads(self._reads)), problems)

    def _compile(self, given: RenderInput) -> tuple[Problem, ...]:
        self._trace.invented = bool(given.parameters)  # values that are made up as well
        try:
            self._reads += _compile_query(self._project, self._pipe, given).reads
        except InvalidQuery as error:
            found = error.problems or (Problem(error.code, error.message, self._pipe.location, error.hint),)
            return tuple(map(self._weighed, found))
        self._passed += 1
        return ()

    def _weighed(self, problem: Problem) -> Problem:
        """The problem; a warning if a placeholder may have caused it."""
        if not self._trace.invented or problem.code in _CERTAIN_ERRORS or problem.code.startswith("template-"):
            return problem
        hint = "it was checked with a placeholder; a default or an example for each parameter makes it certain"
        return replace(problem, level="warning", hint=problem.hint or hint)

    def _note(self, problems: Iterable[Problem]) -> None:
        self._found.update(dict.fromkeys(problems))


def _merge_reads(reads: Iterable[SourceRead]) -> Iterator[SourceRead]:
    """Each source once, with the columns that any branch reads."""
    found: dict[str, SourceRead] = {}
    for read in reads:
        before = found.setdefault(read.placeholder, read)
        more = tuple(column for column in read.columns if column not in before.columns)
        found[read.placeholder] = replace(before, columns=(*before.columns, *more))
    return iter(found.values())
