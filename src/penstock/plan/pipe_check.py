"""Checks a pipe for all calls that it may get.

In: a project and one of its pipes. Out: what the pipe reads, and its problems. SQL whose template depends on the call
is compiled once for each branch of its `if`s. Invariant: what only a call decides is never refused: a value is chosen
that is valid where it stands, and if there is none, the error is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from penstock.errors import InvalidQuery, Location, Problem, did_you_mean
from penstock.model.pipe import Exported, FileTarget, Pipe
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Date, DateTime, DateTime64, String, Type, unwrap_type
from penstock.parse.connectors.file_names import ColumnPart, parse_template
from penstock.sql.compile import compile_copy, compile_pipe
from penstock.sql.compiler.caller import ANYBODY, Caller
from penstock.sql.from_clause.table_functions import UNSUPPORTED_SOURCE
from penstock.sql.outputs.copy import COPIED_STATES
from penstock.sql.query import Query, SourceRead
from penstock.template.branch_variants import branch_inputs
from penstock.template.declared_parameters import is_templated, parameters_of, pipes_read
from penstock.template.errors import PARAMETER_ERRORS
from penstock.template.parser import is_template, read_template
from penstock.template.render_frame import JOB_TIMESTAMP, RenderInput, RenderTrace
from penstock.template.values import NO_VALUE, StandInKey, StandInKind, UnwritableValue, name_literal, text_literal

_CERTAIN_ERRORS = (
    "unknown-column",
    "unknown-table",
    "unknown-datasource",
    "unknown-function",
    "invalid-sql",
    "cyclic-pipes",
    "external-table",
    UNSUPPORTED_SOURCE,
    COPIED_STATES,
)
_CALLER_ERRORS = (*PARAMETER_ERRORS, "template-value", "template-type", "empty-query")
"""What a call is told, and no fault of the project where other calls do well."""
_NAME_ERRORS = ("unknown-column", "unknown-table")
"""What is wrong where one branch names what only another one defines."""
_VALUES = (text_literal(NO_VALUE), "1", "'2019-01-01 00:00:00'", "'2019-01-01'", f"[{text_literal(NO_VALUE)}]", "[1]")
"""What is tried for a parameter without a type."""
_ALIAS = re.compile(r"\bas\s+`?([A-Za-z_]\w*)", re.IGNORECASE)
_TIMES = (Date, DateTime, DateTime64, String)
"""The types of columns that may have a time; a text may be one."""
_MAX_NAMES = 100
"""The most names that are tried for one parameter."""
_MAX_TRIES = 200
"""The most compilations of one pipe that look for a valid value."""
_MAX_MERGED = 64
"""The most other branches of one pipe that are tried together with those that do not compile."""


@dataclass(frozen=True, slots=True)
class PipeCheck:
    """What a pipe reads, and what may be wrong with it."""

    reads: tuple[SourceRead, ...]
    problems: tuple[Problem, ...]


def check_pipe(project: Project, pipe: Pipe, caller: Caller = ANYBODY) -> PipeCheck:
    """Check one pipe for all calls that it may get. Raises InvalidQuery with all its problems; a copy that does what is
    not in this version has only warnings, since the rest of the project does without it. `caller` may have nodes that
    were compiled before."""
    try:
        return _check_calls(project, pipe, caller)
    except InvalidQuery as error:
        waiting = tuple(_what_copies_wait_for(error.problems))
        if not waiting:
            raise
        return PipeCheck((), waiting)


def _what_copies_wait_for(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Why a copy cannot run in this version, as warnings; none where something else is wrong with it. The columns of
    what it cannot read are not known, so all that is said of its SQL follows from that."""
    found = [each for each in problems if each.level == "error"]
    unread = [each for each in found if each.code == UNSUPPORTED_SOURCE][:1]
    states = found if all(each.code == COPIED_STATES for each in found) else []
    for each in unread or states:
        yield replace(each, hint=f"everything else of the project works; {each.hint}", level="warning")


def _check_calls(project: Project, pipe: Pipe, caller: Caller) -> PipeCheck:
    trace = RenderTrace()
    if not is_templated(pipe):
        query = _compile_query(project, pipe, RenderInput("check", trace=trace), caller)
        return PipeCheck(query.reads, tuple(_name_warnings(pipe, dict(query.columns))))
    checked = _TemplateCheck(project, pipe, trace, caller).all()
    _check_scheduled_copy(project, pipe)
    return replace(checked, problems=(*checked.problems, *_scheduled_sink_warnings(project, pipe, caller)))


def _compile_query(project: Project, pipe: Pipe, given: RenderInput, caller: Caller) -> Query:
    """The query of the pipe's result; of a copy, the query of the rows it writes."""
    node = pipe.copied
    if node is None:
        return compile_pipe(project, pipe, given, caller)
    return compile_copy(project, pipe, node, given, caller).query


def _check_scheduled_copy(project: Project, pipe: Pipe) -> None:
    """A copy with a schedule runs without a call: its parameters need defaults. Raises InvalidQuery."""
    node, copies = pipe.copied, pipe.copies
    if node is None or copies is None or copies.schedule is None:
        return
    try:
        compile_copy(project, pipe, node, RenderInput("deploy", {JOB_TIMESTAMP: "2024-01-01 00:00:00"}))
    except InvalidQuery as error:
        problems = [problem for problem in error.problems if problem.code != "template-secret"]
        if problems:
            raise InvalidQuery(error.message, problems) from error


def _scheduled_sink_warnings(project: Project, pipe: Pipe, caller: Caller) -> Iterator[Problem]:
    """Why a sink does not run by its schedule, without a call; a warning, since the rest of the project does without
    it."""
    kind = pipe.exported.kind if pipe.exported is not None else None
    if not isinstance(kind, Exported) or kind.schedule is None:
        return
    try:
        compile_pipe(project, pipe, RenderInput("deploy", {JOB_TIMESTAMP: "2024-01-01 00:00:00"}), caller)
    except InvalidQuery as error:
        for each in error.problems:
            if each.code in PARAMETER_ERRORS:
                hint = "what runs without a request needs a default for each parameter"
                message = f"this sink does not run by its schedule: {each.message}"
                yield replace(each, message=message, hint=hint, level="warning")


def _name_warnings(pipe: Pipe, columns: Mapping[str, Type]) -> Iterator[Problem]:
    """A warning for each column by which a sink names its files and which its rows do not have, or not as a time."""
    kind = pipe.exported.kind if pipe.exported is not None else None
    if not isinstance(kind, Exported) or not isinstance(kind.target, FileTarget):
        return
    for part in (each for each in parse_template(kind.target.template) if isinstance(each, ColumnPart)):
        of = columns.get(part.column)
        if of is None:
            message = f"this sink does not run: EXPORT_FILE_TEMPLATE names `{part.column}`, no column of its rows"
            yield Problem("unknown-column", message, kind.location, did_you_mean(part.column, columns), "warning")
        elif part.format is not None and not isinstance(unwrap_type(of), _TIMES):
            message = f"this sink does not run: EXPORT_FILE_TEMPLATE has a format for `{part.column}`, which is {of}"
            yield Problem("incompatible-type", message, kind.location, "a format is for a date or a time", "warning")


class _TemplateCheck:
    """Compiles one pipe for each branch of its templates, and collects the problems."""

    def __init__(self, project: Project, pipe: Pipe, trace: RenderTrace, caller: Caller):
        self._project = project
        self._pipe = pipe
        self._trace = trace
        self._reads: list[SourceRead] = []
        self._columns: dict[str, Type] = {}
        self._found: dict[Problem, None] = {}
        self._passed = 0
        self._templates = [read_template(node.sql.text) for node in pipe.nodes if is_template(node.sql.text)]
        self._parameters = parameters_of(project, pipe)
        self._search = _StandInSearch(project, pipe, caller)
        self._merges_left = _MAX_MERGED

    def all(self) -> PipeCheck:
        first = self._compile(RenderInput("check", trace=self._trace))
        for given in branch_inputs(self._templates, self._trace, self._parameters):
            self._note(each for each in self._compile(given) if each.code not in _CALLER_ERRORS)
        self._note(each for each in first if each.code != "empty-query" or not self._passed)
        if self._columns:
            self._note(_name_warnings(self._pipe, self._columns))
        problems = tuple(_once_per_place(self._found))
        if any(problem.level == "error" for problem in problems):
            raise InvalidQuery(f"the pipe `{self._pipe.name}` cannot be compiled", problems)
        return PipeCheck(tuple(_merge_reads(self._reads)), problems)

    def _compile(self, given: RenderInput) -> tuple[Problem, ...]:
        found = self._search.compile(given)
        self._reads += found.reads
        self._columns |= dict(found.columns)
        self._passed += not found.problems
        if found.problems and all(each.code in _NAME_ERRORS for each in found.problems if each.level == "error"):
            return self._weigh_names(given, found.problems)
        if self._pipe.copied is not None and given.parameters and _is_no_sql(found.problems):
            return tuple(_for_some_calls(found.problems))
        return found.problems

    def _weigh_names(self, given: RenderInput, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """Problems of a branch that names what it cannot see; warnings if another branch defines it, or if it is a
        table and calls without parameters do not take the branch: the format's own check lets them pass."""
        if not any(each.level == "error" for each in problems):
            return problems
        taken = self._arms_of(given)
        for other in islice(self._other_branches(), self._merges_left):
            self._merges_left -= 1
            merged = replace(given, parameters={**other.parameters, **given.parameters}, trace=RenderTrace())
            if merged.parameters == given.parameters or self._search.compile(merged).problems:
                continue
            arms = merged.trace.arms if merged.trace is not None else {}
            if all(taken[text] <= arms.get(text, set()) for text in taken):
                hint = "it exists only where another branch of the template is taken; calls without that branch fail"
                return tuple(replace(each, level="warning", hint=hint) for each in problems)
        if not given.parameters or any(each.code != "unknown-table" for each in problems):
            return problems
        return tuple(_for_some_calls(problems))

    def _arms_of(self, given: RenderInput) -> dict[str, set[int]]:
        """The branches that a call takes, by the text of the template."""
        trace = RenderTrace()
        self._search.compile(replace(given, trace=trace))
        return trace.arms

    def _other_branches(self) -> Iterator[RenderInput]:
        """An input for each branch of all templates of the pipe."""
        unseen = RenderTrace(arms={template.text: set() for template in self._templates})
        return branch_inputs(self._templates, unseen, self._parameters)

    def _note(self, problems: Iterable[Problem]) -> None:
        self._found.update(dict.fromkeys(problems))


def _is_no_sql(problems: Sequence[Problem]) -> bool:
    """Whether all that is wrong is SQL that does not parse."""
    return bool(problems) and all(each.code == "invalid-sql" for each in problems)


def _for_some_calls(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems of a branch that calls without parameters do not take, as warnings: of a copy the other runs do their
    work, and one that takes the branch fails before it reads anything."""
    more = "calls that take this branch of the template fail"
    for each in problems:
        yield replace(each, level="warning", hint=f"{each.hint}; {more}" if each.hint else more)


def _once_per_place(problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problems, of those with the same code at one place the first error or, without one, the first; branches may
    word them differently."""
    found = list(problems)
    certain = {(each.code, each.location) for each in found if each.level == "error"}
    seen: set[tuple[str, Location | None]] = set()
    for each in found:
        key = (each.code, each.location)
        if key not in seen and (each.level == "error" or key not in certain):
            seen.add(key)
            yield each


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The outcome of compiling a pipe for one call."""

    reads: tuple[SourceRead, ...]
    problems: tuple[Problem, ...]
    columns: tuple[tuple[str, Type], ...] = ()


class _StandInSearch:
    """Compiles a pipe for one call; where the template does not say what a parameter is, with one value after the other
    until the SQL is valid."""

    def __init__(self, project: Project, pipe: Pipe, caller: Caller):
        self._project = project
        self._pipe = pipe
        self._caller = caller
        self._chosen: dict[StandInKey, str] = {}
        self._left = _MAX_TRIES
        self._candidates: dict[StandInKind, tuple[str, ...]] = {}
        self._problems: tuple[Problem, ...] = ()

    def compile(self, given: RenderInput) -> _Compiled:
        """The outcome for a call; where no values make the SQL valid, with those that leave the fewest problems."""
        first, trace = self._try(given, self._chosen)
        certain = tuple(problem for problem in first.problems if problem.level == "error")
        if not first.problems or not trace.stand_ins:
            return first
        if certain:
            return replace(first, problems=certain)  # no value mends these; the others may only follow from the values
        chosen, best = dict(self._chosen), first
        for tried in self._choices(first, trace):
            self._left -= 1
            found, latest = self._try(given, tried)
            if len(found.problems) < len(best.problems):
                chosen, best = tried, found
            if not found.problems or self._left <= 0:
                break
            trace.stand_ins = latest.stand_ins
            self._problems = found.problems
        self._chosen = chosen
        return self._try(given, chosen)[0]

    def _choices(self, first: _Compiled, trace: RenderTrace) -> Iterator[dict[StandInKey, str]]:
        """One choice of values after the other: those change at whose places the problems of the last choice were."""
        places = {key: self._place(key) for key in trace.stand_ins}
        moved: list[StandInKey] = []
        self._problems = first.problems
        while True:
            names = [key for key in trace.stand_ins if key[0] != "value"]
            moved = _blamed(self._problems, trace, moved) or moved or names or list(trace.stand_ins)
            for key in moved:
                places[key] = places.get(key, 0) + 1
            if any(places[key] >= len(self._values(key[0])) for key in moved):
                return
            yield {key: self._values(key[0])[place] for key, place in places.items()}

    def _place(self, key: StandInKey) -> int:
        values, chosen = self._values(key[0]), self._chosen.get(key)
        return values.index(chosen) if chosen in values else 0

    def _try(self, given: RenderInput, chosen: Mapping[StandInKey, str]) -> tuple[_Compiled, RenderTrace]:
        trace = given.trace or RenderTrace()
        trace.invented, trace.stand_ins = bool(given.parameters), {}  # the values of branches are made up as well
        trace.made_up = set()
        try:
            chosen_values = replace(given, trace=trace, stand_ins=chosen)
            query = _compile_query(self._project, self._pipe, chosen_values, self._caller)
        except InvalidQuery as error:
            found = error.problems or (Problem(error.code, error.message, self._pipe.location, error.hint),)
            return _Compiled((), tuple(_weighed(each, trace) for each in found)), trace
        return _Compiled(query.reads, (), query.columns), trace

    def _values(self, kind: StandInKind) -> tuple[str, ...]:
        """What may stand for a parameter, the first being what stands for it anyway."""
        if kind not in self._candidates:
            names = dict.fromkeys(islice(_name_candidates(self._project, self._pipe, kind), _MAX_NAMES))
            self._candidates[kind] = _VALUES if kind == "value" else ("`placeholder`", *names)
        return self._candidates[kind]


def _blamed(problems: Iterable[Problem], trace: RenderTrace, before: list[StandInKey]) -> list[StandInKey]:
    """The parameters at whose places the problems are; else those in the same lines, of these the ones that were
    blamed before."""
    where = {problem.location for problem in problems if problem.location is not None}
    lines = {(place.file, place.line) for place in where}
    near = [key for key, places in trace.stand_ins.items() if lines & {(each.file, each.line) for each in places}]
    exact = [key for key in near if trace.stand_ins[key] & where]
    return exact or [key for key in before if key in near] or near


def _name_candidates(project: Project, pipe: Pipe, kind: StandInKind) -> Iterator[str]:
    """Names that may be valid where a call chooses one: aliases and columns, or tables, that the pipe can read."""
    read = pipes_read(project, pipe)
    text = "\n".join(node.sql.text for each in read for node in each.nodes)
    if kind != "table":
        yield from _quoted(_ALIAS.findall(text))
        words = set(re.findall(r"\w+", text))
        yield from _quoted(
            name for source in project.datasources if source.name in words for name in source.column_names
        )
        if kind == "column":
            return
    others = (name for name in project.names if name != pipe.name)
    yield from _quoted((*(node.name for node in pipe.nodes), *others))


def _quoted(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        try:
            yield name_literal(name)
        except UnwritableValue:
            continue


def _weighed(problem: Problem, trace: RenderTrace) -> Problem:
    """The problem; a warning if what stands for a parameter may have caused it."""
    named = any(kind != "value" for kind, _ in trace.stand_ins)
    at_stand_in = any(problem.location in places for places in (*trace.stand_ins.values(), trace.made_up))
    is_caused = named if problem.code in _NAME_ERRORS else at_stand_in  # a value makes no name unknown
    is_certain = problem.code in _CERTAIN_ERRORS and not is_caused
    if problem.code == "invalid-default":
        return replace(problem, level="warning", hint=f"{problem.hint}; calls without the parameter fail")
    if not trace.invented or is_certain or problem.code.startswith("template-"):
        return problem
    hint = "it was checked with a placeholder; a default or an example for each parameter makes it certain"
    return replace(problem, level="warning", hint=hint if named else problem.hint or hint)


def _merge_reads(reads: Iterable[SourceRead]) -> Iterator[SourceRead]:
    """Each source once, with the columns that any branch reads."""
    found: dict[str, SourceRead] = {}
    for read in reads:
        before = found.setdefault(read.placeholder, read)
        more = tuple(column for column in read.columns if column not in before.columns)
        found[read.placeholder] = replace(before, columns=(*before.columns, *more))
    return iter(found.values())
