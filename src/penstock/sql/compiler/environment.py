"""What a SELECT is compiled in: its text, the project, the names it may read, what was read so far.

In: made by transpile. Out: `Environment`, `Output`. Called by the passes. Invariant: `triggers` is true
only on the way to the left-most table, which is read as what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from penstock.model.datasource import Text
from penstock.model.pipe import Dialect, Node, Pipe
from penstock.model.project import Project
from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.scope import UsedSources
from penstock.sql.expr.typed import Typed
from penstock.sql.syntax.problems import Refused, Report
from penstock.template.frame import CHECK, RenderInput


@dataclass(frozen=True, slots=True)
class Totals:
    """What WITH TOTALS adds to a SELECT: the SELECT of one row of the same columns, or why it cannot be had
    (which matters only where the totals are shown)."""

    sql: str = ""
    refusal: Refused | None = None


@dataclass(frozen=True, slots=True)
class SelectOutput:
    """A compiled SELECT. `columns` have the Spark types they really have; `grouped` says that rows
    of the left-most table are aggregated on the way; `totals` are there WITH TOTALS; `taken` where a filter around
    it may change which rows an ANY JOIN takes."""

    sql: str
    columns: tuple[tuple[str, Typed], ...]
    grouped: bool = False
    totals: Totals | None = None
    taken: AnyJoinRows | None = None


CompileSelect: TypeAlias = Callable[["Environment", exp.Query], SelectOutput]


@dataclass(frozen=True, slots=True)
class Cte:
    """`WITH name AS (SELECT …)`, with the environment that it sees."""

    query: exp.Query
    environment: Environment


@dataclass(frozen=True, slots=True)
class Environment:
    """`inside` are the nodes being compiled around this SELECT, to see cycles; `compile` compiles a
    tree of ClickHouse's dialect, `compile_text` the text itself, in its dialect; `given` is what templates are
    rendered with, here and in all that is read."""

    project: Project
    text: Text
    uses: UsedSources
    report: Report
    compile: CompileSelect
    compile_text: Callable[[Environment], SelectOutput]
    dialect: Dialect = "clickhouse"
    pipe: Pipe | None = None
    ctes: Mapping[str, Cte] = field(default_factory=dict)
    constants: Mapping[str, exp.Expr] = field(default_factory=dict)
    inside: tuple[str, ...] = ()
    triggers: bool = False
    given: RenderInput = CHECK

    def of_node(self, pipe: Pipe, node: Node) -> Environment:
        """The environment of a node's own SQL."""
        inside = (*self.inside, f"{pipe.name}.{node.name}")
        return replace(self, text=node.sql, dialect=pipe.dialect, pipe=pipe, ctes={}, constants={}, inside=inside)

    def names(self, name: str) -> None:
        """The text reads a data source or pipe; noted where it is the user's own text and no pipe's."""
        if self.pipe is None:
            self.uses.named.add(name)

    def not_triggering(self) -> Environment:
        return replace(self, triggers=False)
