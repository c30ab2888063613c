"""One expression of ClickHouse's tree to Spark SQL with its type: the recursion, and who does what.

In: a sqlglot node and a `Scope`. Out: `Typed`. Called by the passes, view and forward. Invariant: a
node that no handler knows is refused with its place; nothing is passed through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from penstock.model.datasource import Text
from penstock.sql.problems import Refused, refused
from penstock.sql.scope import Scope, Trace, Uses
from penstock.sql.typed import Typed

Place: TypeAlias = Literal["select", "filter", "row", "aggregate", "window"]
"""Where an expression stands: aggregates and windows are allowed in `select` only; `filter` is WHERE,
`row` an expression over one row,
`aggregate` and `window` the arguments of one."""

Columns: TypeAlias = tuple[tuple[str, Typed], ...]
CompileSubquery: TypeAlias = Callable[[exp.Query], tuple[str, Columns]]
Handler: TypeAlias = Callable[["Translator", exp.Expr], Typed]


def too_deep(text: Text) -> Refused:
    """For a text that nests deeper than Python's stack."""
    return refused(text, None, "too-deep", "the SQL nests too deeply", "write parts of it as nodes of their own")


LONGEST = 1_000_000
"""Longer SQL is refused: where a formula repeats its operand, each level of nesting multiplies the text."""


def check_length(text: Text, node: exp.Expr, sql: str) -> None:
    """Raises Refused for a node whose Spark SQL is too long to go on with."""
    if len(sql) > LONGEST:
        message = f"this becomes more than {LONGEST:,} characters of Spark SQL"
        raise refused(text, node, "too-deep", message, "nest less, or repeat less")


@dataclass(frozen=True, slots=True)
class Translator:
    """`keys` are the SQL texts of the grouping keys; `absent` what they are where a grouping set may lack them;
    `locals` the parameters of lambdas around; `resolving` the aliases whose expression is being translated."""

    text: Text
    scope: Scope
    uses: Uses
    handlers: Mapping[type[exp.Expr], Handler]
    subquery: CompileSubquery
    trace: Trace = field(default_factory=Trace)
    place: Place = "select"
    keys: frozenset[str] = frozenset()
    locals: Mapping[str, Typed] = field(default_factory=dict)
    resolving: frozenset[str] = frozenset()
    absent: Mapping[str, Typed] = field(default_factory=dict)

    def translate(self, node: exp.Expr | None) -> Typed:
        """The node as Spark SQL. Raises Refused; None, or whatever is no node, stands
        for what the parser missed."""
        if not isinstance(node, exp.Expr):
            raise refused(self.text, None, "invalid-sql", "an expression is missing")
        handler = self.handlers.get(type(node))
        if handler is None:
            shown = node.sql(dialect="clickhouse").replace("@", "")
            raise self.refused(node, "unsupported-syntax", f"`{shown}` is not supported")
        if self.absent and self.place != "aggregate":
            key = self.absent.get(replace(self, absent={}, trace=Trace()).translate(node).sql)
            if key is not None:
                return key
        mark = len(self.trace.free)
        try:
            value = handler(self, node)
        except RecursionError:
            raise too_deep(self.text) from None
        check_length(self.text, node, value.sql)
        if value.sql in self.keys:
            del self.trace.free[mark:]
        return value

    def all(self, nodes: list[exp.Expr]) -> list[Typed]:
        return [self.translate(node) for node in nodes]

    def at(self, place: Place) -> Translator:
        return self._like(self.trace, place, self.resolving)

    def tracing(self) -> Translator:
        """The same with an empty trace (what arrays are spread is kept for the whole SELECT)."""
        return self._like(Trace(spread=self.trace.spread), self.place, self.resolving)

    def inside(self, alias: str) -> Translator:
        """The same in the expression of an alias."""
        return self._like(self.trace, self.place, self.resolving | {alias})

    def _like(self, trace: Trace, place: Place, resolving: frozenset[str]) -> Translator:
        """What `replace` does, in a third of its time: every column of every query needs it."""
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

    def with_scope(self, scope: Scope) -> Translator:
        return replace(self, scope=scope)

    def with_locals(self, names: Mapping[str, Typed]) -> Translator:
        return replace(self, locals={**self.locals, **names})

    def refused(self, node: exp.Expr, code: str, message: str, hint: str | None = None) -> Refused:
        return refused(self.text, node, code, message, hint)
