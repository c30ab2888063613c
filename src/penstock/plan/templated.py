"""The check of a pipe whose SQL depends on the call: each way of its templates is compiled.

In: a project and a pipe. Out: what it reads in any way, and warnings. Called by compiled. Invariant: what is
compiled is what some call would get; where a placeholder stands for a value nobody gave, only what does not
depend on that value is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from penstock.errors import InvalidQuery, Problem
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.sql.query import Query, Read
from penstock.sql.transpile import compile_copy, compile_pipe
from penstock.template.faults import OF_PARAMETERS
from penstock.template.frame import DEPLOY, Given, Trace
from penstock.template.pipes import is_templated, parameters_of
from penstock.template.tree import is_template, read_template
from penstock.template.variants import variants

_CERTAIN = ("unknown-column", "unknown-table", "unknown-function", "invalid-sql", "invalid-default", "cyclic-pipes")
_OF_VALUES = (*OF_PARAMETERS, "template-value", "template-type", "empty-query")
"""What a call is told, and no fault of the project where other calls do well."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a pipe reads, and what may be wrong with it."""

    reads: tuple[Read, ...]
    problems: tuple[Problem, ...]


def check_pipe(project: Project, pipe: Pipe) -> Checked:
    """Raises InvalidQuery with all that is wrong."""
    trace = Trace()
    if not is_templated(pipe):
        return Checked(_query(project, pipe, Given("check", trace=trace)).reads, ())
    checked = _Checking(project, pipe, trace).all()
    _check_unasked(project, pipe)
    return checked


def _query(project: Project, pipe: Pipe, given: Given) -> Query:
    """What the pipe gives; of a copy, the rows it writes."""
    node = pipe.copied
    return compile_pipe(project, pipe, given) if node is None else compile_copy(project, pipe, node, given).query


def _check_unasked(project: Project, pipe: Pipe) -> None:
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


class _Checking:
    """One pipe, way by way."""

    def __init__(self, project: Project, pipe: Pipe, trace: Trace):
        self._project = project
        self._pipe = pipe
        self._trace = trace
        self._reads: list[Read] = []
        self._found: dict[Problem, None] = {}
        self._passed = 0

    def all(self) -> Checked:
        templates = [read_template(node.sql.text) for node in self._pipe.nodes if is_template(node.sql.text)]
        first = self._compile(Given("check", trace=self._trace))
        parameters = parameters_of(self._project, self._pipe)
        for given in variants(templates, self._trace, parameters):
            self._note(each for each in self._compile(given) if each.code not in _OF_VALUES)
        self._note(each for each in first if each.code != "empty-query" or not self._passed)
        certain = {(each.code, each.location) for each in self._found if each.level == "error"}
        problems = tuple(
            each for each in self._found if each.level == "error" or (each.code, each.location) not in certain
        )
        if any(problem.level == "error" for problem in problems):
            raise InvalidQuery(f"the pipe `{self._pipe.name}` cannot be compiled", problems)
        return Checked(tuple(_merged(self._reads)), problems)

    def _compile(self, given: Given) -> tuple[Problem, ...]:
        self._trace.invented = bool(given.parameters)  # values that are made up as well
        try:
            self._reads += _query(self._project, self._pipe, given).reads
        except InvalidQuery as error:
            found = error.problems or (Problem(error.code, error.message, self._pipe.location, error.hint),)
            return tuple(map(self._weighed, found))
        self._passed += 1
        return ()

    def _weighed(self, problem: Problem) -> Problem:
        """A warning where it may be the fault of a placeholder."""
        if not self._trace.invented or problem.code in _CERTAIN or problem.code.startswith("template-"):
            return problem
        hint = "it was checked with a placeholder; a default or an example for each parameter makes it certain"
        return replace(problem, level="warning", hint=problem.hint or hint)

    def _note(self, problems: Iterable[Problem]) -> None:
        self._found.update(dict.fromkeys(problems))


def _merged(reads: Iterable[Read]) -> Iterator[Read]:
    """Each placeholder once, with the columns of all ways."""
    found: dict[str, Read] = {}
    for read in reads:
        before = found.setdefault(read.placeholder, read)
        more = tuple(column for column in read.columns if column not in before.columns)
        found[read.placeholder] = replace(before, columns=(*before.columns, *more))
    return iter(found.values())
