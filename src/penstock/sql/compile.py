"""Compilation of SQL of both dialects to Spark SQL: the functions that other packages use, and the order of the passes.

In: a project and a text (of a pipe, a materialized or copy node, or a user). Out: `Query`, `CompiledView` or
`CompiledCopy`. A template is rendered first; problems in what it makes are located in the template. Invariant:
InvalidQuery carries all problems of a text at once; what the caller of an endpoint has to correct (parameters) is
raised as an error of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import Text
from penstock.model.pipe import Copied, Dialect, Node, Pipe
from penstock.model.project import Project
from penstock.model.service_sources import SERVICE_SOURCES
from penstock.model.types import Array, DateTime64, Int, String, Type, has_list_in_key
from penstock.sql.calls.dispatch import HANDLERS
from penstock.sql.clauses.group_array_join import split_group_array_join
from penstock.sql.clauses.order_limit import translate_limit, translate_limit_by, translate_order_by
from penstock.sql.clauses.order_of_rows import note_order_of_rows
from penstock.sql.clauses.projection import (
    check_grouping,
    translate_group_by,
    translate_having,
    translate_qualify,
    translate_select_list,
    translate_where,
)
from penstock.sql.clauses.render import render_block
from penstock.sql.clauses.select_list import expand_stars, resolve_aliases
from penstock.sql.clauses.set_operations import compile_set_operation, refuse_ending
from penstock.sql.clauses.settings import read_settings
from penstock.sql.clauses.unsupported import refuse_unsupported
from penstock.sql.clauses.with_clause import hide_names_around, read_with
from penstock.sql.clauses.with_fill import translate_with_fill
from penstock.sql.clauses.with_totals import add_totals, sql_with_totals
from penstock.sql.compiler.budget import STEPS_OF_SELECT, CompileBudget
from penstock.sql.compiler.caller import ANYBODY, Caller
from penstock.sql.compiler.environment import Environment, SelectOutput
from penstock.sql.compiler.scope import SelectScope, UsedSources
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.compiler.translator import OutputColumns, SubqueryCompiler, Translator, too_deep_error
from penstock.sql.conversions.implicit import cast_column
from penstock.sql.engines.column_expression import compile_default, compile_expression
from penstock.sql.from_clause.external_tables import GuessedColumns, as_warnings
from penstock.sql.from_clause.from_clause import read_from
from penstock.sql.operators.names_with_dots import join_column_names
from penstock.sql.outputs.copy import copy_rows
from penstock.sql.outputs.forward_query import compile_forward
from penstock.sql.outputs.view import TargetRows, view_rows
from penstock.sql.query import CompiledCopy, CompiledView, ExternalRead, Query, SourceRead
from penstock.sql.spark_dialect.compile_spark import compile_spark
from penstock.sql.syntax.problems import Refused, Report, refusal
from penstock.sql.syntax.template_marks import find_template_mark
from penstock.sql.syntax.tree import parse_query
from penstock.template.errors import PARAMETER_ERRORS, Declined, Fault, TemplateAbort, invalid_parameters
from penstock.template.parser import is_template, parse_template, read_template
from penstock.template.render_frame import CALL, CHECK, DEPLOY, RenderInput
from penstock.template.rendering import RenderedSql, location_in, render

__all__ = [
    "PASSES",
    "cast_column",
    "compile_copy",
    "compile_default",
    "compile_expression",
    "compile_forward",
    "compile_pipe",
    "compile_sql",
    "compile_view",
    "split_format",
]

PASSES: tuple[Callable[[SelectBlock], SelectBlock], ...] = (
    refuse_unsupported,
    read_settings,
    read_with,
    resolve_aliases,
    read_from,
    hide_names_around,
    join_column_names,
    expand_stars,
    note_order_of_rows,
    translate_where,
    translate_group_by,
    translate_select_list,
    check_grouping,
    translate_having,
    translate_qualify,
    translate_order_by,
    translate_limit_by,
    translate_limit,
    translate_with_fill,
)
"""The passes over each SELECT, in this order. A SELECT inside of another is compiled when a pass meets it."""


def compile_pipe(project: Project, pipe: Pipe, given: RenderInput = CHECK, caller: Caller = ANYBODY) -> Query:
    """The SQL of a pipe's result. `given` is what its templates, and those of the pipes it reads, are rendered with.

    Raises InvalidQuery; for a call also InvalidRequest, and what the caller's checks raise.
    """
    environment = _new_environment(project, pipe.result.sql, pipe.dialect, given, caller).for_node(pipe, pipe.result)
    output = _compile_with_totals(environment, f"the pipe `{pipe.name}` cannot be compiled")
    return _make_query(project, environment.uses, output)


def compile_view(project: Project, pipe: Pipe, node: Node, caller: Caller = ANYBODY) -> CompiledView:
    """The SQL of a materialized node, as rows of its target. Raises InvalidQuery."""
    made = _new_environment(project, node.sql, pipe.dialect, DEPLOY, caller).for_node(pipe, node)
    environment = replace(made, triggers=True, feeds_view=True)
    message = f"the node `{node.name}` of `{pipe.name}` cannot be compiled"
    environment, output = _render_and_compile(environment, message)
    view = TargetRows("", output)
    with environment.report.collecting():
        view = view_rows(environment, node, output)
    environment.report.finish(message)
    query = _make_query(project, environment.uses, view.output)
    return CompiledView(pipe.name, node.name, view.target, query, query.reads[0], output.grouped)


def compile_copy(
    project: Project, pipe: Pipe, node: Node, given: RenderInput = CHECK, caller: Caller = ANYBODY
) -> CompiledCopy:
    """The SQL of a copy node, as JSON rows for its target. `given` is as for a pipe. Columns of tables of other
    databases are guessed if the caller does not tell them; what fails with all guesses is a warning.

    Raises InvalidQuery; for a call also InvalidRequest, and what the caller's checks raise.
    """
    if caller.external is not None:
        return _compile_copy(project, pipe, node, given, caller)
    assert isinstance(node.kind, Copied), "only such a node has rows to copy"
    first: InvalidQuery | None = None
    for of in _GUESSES:
        guess = GuessedColumns(project.datasource(node.kind.datasource), of)
        try:
            return _compile_copy(project, pipe, node, given, replace(caller, external=guess))
        except InvalidQuery as error:
            if not guess.used:
                raise
            first = first or error
    assert first is not None, "there are guesses"
    raise InvalidQuery(first.message, as_warnings(first.problems), hint=first.hint) from first


_GUESSES: tuple[Type, ...] = (String(), Int(64), DateTime64(6), Array(String()))


def _compile_copy(project: Project, pipe: Pipe, node: Node, given: RenderInput, caller: Caller) -> CompiledCopy:
    made = _new_environment(project, node.sql, pipe.dialect, given, caller).for_node(pipe, node)
    environment = replace(made, external=caller.external)
    message = f"the node `{node.name}` of `{pipe.name}` cannot be compiled"
    environment, output = _render_and_compile(environment, message)
    with environment.report.collecting():
        output = copy_rows(environment, node, output)
    environment.report.finish(message)
    assert isinstance(node.kind, Copied), "only such a node has rows to copy"
    uses = environment.uses
    externals = (ExternalRead(name, of, frozenset(uses.columns[name])) for name, of in uses.externals.items())
    return CompiledCopy(node.kind.datasource, _make_query(project, uses, output), node.kind.mode, tuple(externals))


def compile_sql(
    project: Project, text: Text, dialect: Dialect, given: RenderInput = CALL, caller: Caller = ANYBODY
) -> Query:
    """One SELECT of a user. Raises InvalidQuery; for a call also InvalidRequest, and what the caller's checks raise:
    before anything is told that depends on a name, the name is checked."""
    environment = _new_environment(project, text, dialect, given, caller)
    return _make_query(project, environment.uses, _compile_with_totals(environment, "the SQL cannot be compiled"))


def _new_environment(
    project: Project, text: Text, dialect: Dialect, given: RenderInput, caller: Caller = ANYBODY
) -> Environment:
    uses = UsedSources(budget=CompileBudget(caller=caller))
    return Environment(project, text, uses, Report(), compile_query, compile_text, dialect, given=given)


def _render_and_compile(environment: Environment, message: str) -> tuple[Environment, SelectOutput]:
    """The environment with its template rendered, in which more is compiled, and the compiled text."""
    with environment.report.collecting():
        environment = render_template(environment)
    environment.report.finish(message)
    return environment, _compile_or_raise(environment, message)


def _compile_or_raise(environment: Environment, message: str) -> SelectOutput:
    output = SelectOutput("", ())
    with environment.report.collecting():
        output = compile_text(environment)
    environment.report.finish(message)
    return output


def _compile_with_totals(environment: Environment, message: str) -> SelectOutput:
    """The compiled text, whose totals are shown: a refusal of the totals counts as a problem."""
    output = _compile_or_raise(environment, message)
    if output.totals is not None and output.totals.refusal is not None:
        environment.report.problems.append(output.totals.refusal.problem)
    with environment.report.collecting():
        _check_readable(environment, output)
    environment.report.finish(message)
    return output


def _check_readable(environment: Environment, output: SelectOutput) -> None:
    """Raises Refused for a column whose values cannot be fetched."""
    for name, value in output.columns:
        if has_list_in_key(value.type):
            message = f"the column `{name}` cannot be shown: {value.type} has arrays or maps as keys"
            raise refusal(
                environment.text, None, "wrong-argument-type", message, "toString(…), or mapKeys and mapValues"
            )


def compile_text(environment: Environment) -> SelectOutput:
    """The text of the environment, in its dialect. Raises Refused for a problem that ends the compilation."""
    environment = render_template(environment)
    budget = environment.uses.budget
    budget.add_text(environment.text)
    try:
        if environment.dialect == "spark":
            return compile_spark(environment)
        tree = parse_query(environment.text)
        budget.check_time()
        return compile_query(environment, tree)
    except RecursionError:
        raise too_deep_error(environment.text) from None


def compile_query(environment: Environment, tree: exp.Query) -> SelectOutput:
    """A SELECT or a set operation. Raises Refused for a problem that ends the compilation."""
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query):
        refuse_ending(environment, tree)
        return compile_query(environment, tree.this)
    if isinstance(tree, exp.SetOperation):
        return compile_set_operation(environment, tree)
    if not isinstance(tree, exp.Select):
        raise Refused(_refused_statement(environment, tree).problem)
    environment.uses.budget.spend(environment.text, STEPS_OF_SELECT)
    split = split_group_array_join(tree)
    if split is not None:
        return compile_query(environment, split)
    block = SelectBlock(environment, tree, _new_translator(environment))
    for each in PASSES:
        before, block = block.environment, each(block)
        if block.environment is not before:
            subquery = _subquery_compiler(block.environment)
            block = replace(block, translator=replace(block.translator, subquery=subquery))
    return add_totals(block, render_block(block))


_OTHER_STATEMENTS = "`/v0/sql` also answers SHOW TABLES, DESCRIBE name and EXPLAIN SELECT …"


def _refused_statement(environment: Environment, tree: exp.Expr) -> Refused:
    return _new_translator(environment).refusal(tree, "not-a-query", "only SELECT is allowed here", _OTHER_STATEMENTS)


def _new_translator(environment: Environment) -> Translator:
    return Translator(environment.text, SelectScope(), environment.uses, HANDLERS, _subquery_compiler(environment))


def _subquery_compiler(environment: Environment) -> SubqueryCompiler:
    """What compiles a SELECT inside of an expression."""

    def compiled(tree: exp.Query) -> tuple[str, OutputColumns]:
        output = compile_query(environment.without_trigger(), tree)
        return output.sql, output.columns

    def compiles(tree: exp.Query) -> bool:
        report = Report()
        apart = replace(environment, report=report, uses=UsedSources(budget=environment.uses.budget), compiled={})
        with report.collecting():
            compile_query(apart.without_trigger(), tree)
        return not report.problems

    return SubqueryCompiler(compiled, compiles)


def _make_query(project: Project, uses: UsedSources, output: SelectOutput) -> Query:
    columns = tuple((name, value.type) for name, value in output.columns)
    return Query(output.sql, _list_reads(project, uses), columns, sql_with_totals(output))


def _list_reads(project: Project, uses: UsedSources) -> tuple[SourceRead, ...]:
    """The data sources that are read: the one that triggers a view first, then by placeholder."""
    reads = []
    for placeholder in sorted(uses.datasources, key=lambda each: (not each.startswith("__new_"), each)):
        name = uses.datasources[placeholder]
        service = SERVICE_SOURCES.get(name)
        source = service.datasource if service is not None else project.datasource(name)
        known = source.column_names if source is not None else ()
        used = uses.columns[placeholder]
        reads.append(SourceRead(placeholder, name, tuple(column for column in known if column in used)))
    return tuple(reads)


def render_template(environment: Environment) -> Environment:
    """The environment with its text rendered, if that is a template.

    Raises Refused; for a call also InvalidRequest, and Declined with what the template itself answers.
    """
    text, given = environment.text, environment.given
    if isinstance(text, RenderedSql):
        return environment
    if not is_template(text.text):
        _refuse_template_marks(text)
        return environment
    if environment.dialect == "spark":
        message = "a template cannot be of the dialect `spark`: its values are written as ClickHouse's literals"
        raise Refused(Problem("unsupported-template", message, location_in(text, 0), "write `DIALECT clickhouse`"))
    own = environment.pipe is None
    if own:
        given = replace(given, secrets=None)  # the author of a pipe may read them
    try:
        rendered = render(text, given, parse_template if own else read_template)
        environment.uses.templates += 1
        return replace(environment, text=rendered)
    except TemplateAbort as stop:
        if given.mode == "call":
            raise Declined(stop, location_in(text, stop.offset)) from None
        problem = Problem("declined", f"the template gives up: {stop.message}", location_in(text, stop.offset))
        raise Refused(problem) from None
    except Fault as fault:
        problem = fault.problem(location_in(text, fault.offset))
        if given.mode == "call" and fault.code in PARAMETER_ERRORS:
            raise invalid_parameters(problem) from None
        raise Refused(problem) from None


def _refuse_template_marks(text: Text) -> None:
    mark = find_template_mark(text.text)
    if mark is not None:
        message, hint = "this is a template, which begins with `%`", "write `%` before the SQL, on a line of its own"
        raise Refused(Problem("not-a-template", message, location_in(text, mark), hint))


def split_format(text: Text) -> tuple[Text, str | None]:
    """A text without `FORMAT name` and `;` at its end, and the name; None without FORMAT. Places in the rest do not
    change."""
    query = text.text.rstrip()
    query = query[:-1].rstrip() if query.endswith(";") else query
    before, name = [*query.rsplit(maxsplit=1), "", ""][:2]
    rest = before[: -len("FORMAT")]
    stands_alone = before[len(rest) :].upper() == "FORMAT" and not (rest[-1:].isalnum() or rest.endswith("_"))
    if not stands_alone or not name.isascii() or not name.isidentifier() or name.startswith("_"):
        return replace(text, text=query), None
    return replace(text, text=rest.rstrip()), name
