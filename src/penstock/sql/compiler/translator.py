"""The translator of expressions: one node of the ClickHouse syntax tree to typed Spark SQL, recursively.

In: a sqlglot node and the names in scope. Out: `TypedSql`. The translation of each kind of node is a handler in a table
(see `calls.dispatch`). Invariant: a node without a handler is refused with its place in the text, never passed
through. The functions below the class are the checks that handlers share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from penstock.model.datasource import Text
from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.scope import ExpressionTrace, SelectScope, UsedSources
from penstock.sql.expr.bind_once import SUBQUERY, has_subquery_in_lambda_call
from penstock.sql.expr.spark_types import StateHasNoValue
from penstock.sql.expr.typed import TypedSql
from penstock.sql.syntax.problems import Refused, refusal
from penstock.sql.syntax.tree import call_name, call_parts

LONGEST_SQL = 1_000_000
"""Longer Spark SQL, in characters, is refused: where a formula repeats its operand, every level of nesting
multiplies the text."""

ExpressionPlace: TypeAlias = Literal["select", "filter", "row", "aggregate", "window"]
"""Where an expression stands. Aggregates and windows are allowed in `select` only; `filter` is WHERE, `row` an
expression over one row, `aggregate` and `window` their arguments."""

OutputColumns: TypeAlias = tuple[tuple[str, TypedSql], ...]
CORRELATED = "__correlated"
"""How names begin that Spark SQL has only where a subquery reads columns of the SELECT around it."""


@dataclass(frozen=True, slots=True)
class SubqueryCompiler:
    """Compiles the SELECTs inside of the expressions of a SELECT."""

    compile: Callable[[exp.Query], tuple[str, OutputColumns]]
    compiles: Callable[[exp.Query], bool]
    """Whether a SELECT has no problems, which are then not reported, and nothing that it reads is noted."""

    def __call__(self, query: exp.Query) -> tuple[str, OutputColumns]:
        return self.compile(query)


NodeHandler: TypeAlias = Callable[["Translator", exp.Expr], TypedSql]


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates the expressions of one SELECT."""

    text: Text
    scope: SelectScope
    uses: UsedSources
    handlers: Mapping[type[exp.Expr], NodeHandler]
    subquery: SubqueryCompiler
    trace: ExpressionTrace = field(default_factory=ExpressionTrace)
    place: ExpressionPlace = "select"
    keys: frozenset[str] = frozenset()
    """The SQL of the grouping keys."""
    locals: Mapping[str, TypedSql] = field(default_factory=dict)
    """The parameters of the enclosing lambdas."""
    resolving: frozenset[str] = frozenset()
    """The aliases whose expressions are being translated, to find cycles."""
    absent: Mapping[str, TypedSql] = field(default_factory=dict)
    """The values of grouping keys that a grouping set may lack."""

    def translate(self, node: exp.Expr | None) -> TypedSql:
        """The node as Spark SQL. Raises Refused if it is not supported, or if there is no node where the parser
        should have found one."""
        if not isinstance(node, exp.Expr):
            raise refusal(self.text, None, "invalid-sql", "an expression is missing")
        self.uses.budget.spend(self.text)
        handler = self.handlers.get(type(node))
        if handler is None:
            shown = node.sql(dialect="clickhouse").replace("@", "")
            raise self.refusal(node, "unsupported-syntax", f"`{shown}` is not supported")
        if self.absent and self.place != "aggregate" and (key := self._key_or_default(node)) is not None:
            return key
        mark = len(self.trace.free)
        try:
            value = handler(self, node)
        except RecursionError:
            raise too_deep_error(self.text) from None
        except StateHasNoValue as error:
            hint = "finalizeAggregation(…) gives its value"
            raise self.refusal(node, "wrong-argument-type", str(error), hint) from None
        check_length(self.text, node, value.sql)
        if SUBQUERY in value.sql and has_subquery_in_lambda_call(value.sql):
            value = self._with_values_beside_rows(node, handler, mark)
        if value.sql in self.keys:
            del self.trace.free[mark:]
        return value

    def _key_or_default(self, node: exp.Expr) -> TypedSql | None:
        """A grouping key that may be absent; None for any other node. toString(key) of an Enum is the same SQL as the
        key, and no Enum."""
        plain = replace(self, absent={}, trace=ExpressionTrace()).translate(node)
        key = self.absent.get(plain.sql)
        return key if key is None or key.type == plain.type else replace(key, type=plain.type)

    def _with_values_beside_rows(self, node: exp.Expr, handler: NodeHandler, mark: int) -> TypedSql:
        """A node again, whose subqueries are columns: Spark takes none in the arguments of functions with lambdas.
        Raises Refused if that is not enough."""
        del self.trace.free[mark:]
        before = self.trace.values_beside_rows
        self.trace.values_beside_rows = True
        try:
            value = handler(self, node)
        finally:
            self.trace.values_beside_rows = before
        if has_subquery_in_lambda_call(value.sql):
            message = "a SELECT inside of a function of arrays or maps is not supported here"
            raise self.refusal(node, "unsupported-syntax", message, "join it, or compute it in a SELECT in FROM")
        return value

    def translate_all(self, nodes: list[exp.Expr]) -> list[TypedSql]:
        return [self.translate(node) for node in nodes]

    def at(self, place: ExpressionPlace) -> Translator:
        """The same for an expression in another place."""
        return self._like(self.trace, place, self.resolving)

    def with_new_trace(self) -> Translator:
        """The same with an empty trace; the arrays that arrayJoin unfolds belong to the whole SELECT and are kept."""
        trace = ExpressionTrace(spread=self.trace.spread, values_beside_rows=self.trace.values_beside_rows)
        return self._like(trace, self.place, self.resolving)

    def inside(self, alias: str) -> Translator:
        """The same inside the expression of an alias."""
        return self._like(self.trace, self.place, self.resolving | {alias})

    def _like(self, trace: ExpressionTrace, place: ExpressionPlace, resolving: frozenset[str]) -> Translator:
        """As `dataclasses.replace`, in a third of its time: it is called for every column of every query."""
        return Translator(
            self.text,
            self.scope,
            self.uses,
            self.handlers,
            self.subquery,
            trace,
            place,
            self.keys,
            self.locals,
            resolving,
            self.absent,
        )

    def with_scope(self, scope: SelectScope) -> Translator:
        return replace(self, scope=scope)

    def with_locals(self, names: Mapping[str, TypedSql]) -> Translator:
        return replace(self, locals={**self.locals, **names})

    def refusal(self, node: exp.Expr, code: str, message: str, hint: str | None = None) -> Refused:
        """The error for a node, to be raised: its code, message and hint."""
        return refusal(self.text, node, code, message, hint)


SpecialForm: TypeAlias = Callable[[Translator, exp.Anonymous], TypedSql]
"""The translation of a call that does not simply translate its arguments first."""


def too_deep_error(text: Text) -> Refused:
    """The error for a text that nests deeper than Python's stack allows."""
    return refusal(text, None, "too-deep", "the SQL nests too deeply", "move parts of it into nodes of their own")


def check_not_correlated(text: Text, node: exp.Expr, sql: str, clause: str) -> None:
    """Raises Refused if a subquery in the SQL reads columns of the SELECT around it."""
    if CORRELATED in sql:
        message = f"a subquery with columns of the SELECT around it is not supported in {clause}"
        raise refusal(text, node, "unsupported-clause", message, "select it in a SELECT in FROM")


def check_length(text: Text, node: exp.Expr, sql: str) -> None:
    """Raises Refused if the Spark SQL of a node is too long."""
    if len(sql) > LONGEST_SQL:
        message = f"this compiles to more than {LONGEST_SQL:,} characters of Spark SQL"
        raise refusal(text, node, "too-deep", message, "nest fewer calls, or split the query into nodes")


def call_arguments(tr: Translator, node: exp.Anonymous, low: int, high: int) -> list[exp.Expr]:
    """The argument nodes of a call. Raises Refused unless there are `low` to `high` of them."""
    parameters, arguments = call_parts(node)
    if parameters or not low <= len(arguments) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        message = f"`{call_name(node)}` takes {expected} arguments, {len(arguments)} are given"
        raise tr.refusal(node, "wrong-argument-count", message)
    return arguments


def refuse_intervals(tr: Translator, node: exp.Expr, values: Iterable[TypedSql]) -> None:
    """Raises Refused if one of the values is an interval: those are allowed only beside a time or as a step."""
    found = next((value.unit for value in values if value.unit is not None), None)
    if found is not None:
        message = f"an interval ({found}) is not supported here"
        raise tr.refusal(node, "wrong-argument-type", message, "add it to a time, or write the number alone")
