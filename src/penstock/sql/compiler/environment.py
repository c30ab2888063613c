"""What a SELECT is compiled in: its text, the project, the names it may read, and what was read so far.

In: made by `compile`. Out: `Environment`, `SelectOutput`. Invariant: `triggers` is true only on the path to the
left-most table of a materialized view, which is read as the newly arrived rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from sqlglot import exp

from penstock.model.datasource import Text
from penstock.model.external_tables import ReadColumns
from penstock.model.pipe import Dialect, Node, Pipe
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.scope import UsedSources
from penstock.sql.expr.typed import TypedSql
from penstock.sql.syntax.problems import Refused, Report
from penstock.template.render_frame import CHECK, RenderInput


@dataclass(frozen=True, slots=True)
class Totals:
    """What WITH TOTALS adds to a SELECT."""

    sql: str = ""
    """The SELECT of one row with the same columns."""
    refusal: Refused | None = None
    """Why it cannot be compiled: an error only if the totals are requested."""


@dataclass(frozen=True, slots=True)
class SelectOutput:
    """A compiled SELECT."""

    sql: str
    columns: tuple[tuple[str, TypedSql], ...]
    """The columns, with the Spark types that they really have."""
    grouped: bool = False
    """Rows of the left-most table are aggregated somewhere in it."""
    totals: Totals | None = None
    """The totals of WITH TOTALS."""
    any_join: AnyJoinRows | None = None
    """Set where a filter around the SELECT may change which rows an ANY JOIN keeps."""


CompiledPart: TypeAlias = tuple[object, SelectOutput]
CompileSelect: TypeAlias = Callable[["Environment", exp.Query], SelectOutput]


@dataclass(frozen=True, slots=True)
class Cte:
    """A common table expression: `WITH name AS (SELECT …)`."""

    query: exp.Query
    environment: Environment
    """What the SELECT is compiled in."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What a SELECT is compiled in."""

    project: Project
    text: Text
    uses: UsedSources
    report: Report
    compile: CompileSelect
    """Compiles a ClickHouse syntax tree."""
    compile_text: Callable[[Environment], SelectOutput]
    """Compiles the text itself, in its dialect."""
    dialect: Dialect = "clickhouse"
    pipe: Pipe | None = None
    ctes: Mapping[str, Cte] = field(default_factory=dict)
    constants: Mapping[str, exp.Expr] = field(default_factory=dict)
    """The named expressions of WITH, of this SELECT and of those around it."""
    own_names: frozenset[str] = frozenset()
    """The names of the WITH of the UNION whose part this SELECT is; they are its own."""
    inside: tuple[str, ...] = ()
    """The nodes being compiled around this SELECT, to find cycles."""
    triggers: bool = False
    """True only on the path to the table that triggers a materialized view."""
    feeds_view: bool = False
    """Whether what is compiled are the rows of a materialized view."""
    join_nulls: bool = False
    """Whether a side of a join without a row reads as NULL, not as defaults (`join_use_nulls`)."""
    external: ReadColumns | None = None
    """Tells the columns of tables of other databases; None where they cannot be read, as nothing but a copy can."""
    compiled: dict[Hashable, CompiledPart] = field(default_factory=dict)
    """The CTEs and nodes that were compiled so far, shared by all environments of one compilation."""
    given: RenderInput = CHECK
    """The values with which templates are rendered, here and in every pipe that is read."""

    def for_node(self, pipe: Pipe, node: Node) -> Environment:
        """The environment of a node's own SQL."""
        inside = (*self.inside, f"{pipe.name}.{node.name}")
        return replace(self, text=node.sql, dialect=pipe.dialect, pipe=pipe, ctes={}, constants={}, inside=inside)

    def compile_once(self, key: Hashable, part: object, compile: Callable[[], SelectOutput]) -> SelectOutput:
        """What a part compiles to; a part that is named many times is compiled once. `part` is kept alive, so that its
        `id` may be in the key."""
        name = (key, self.triggers, self.join_nulls)
        found = self.compiled.get(name)
        if found is None:
            found = self.compiled[name] = (part, compile())
        return found[1]

    def check_name(self, name: str) -> None:
        """Before a name of a data source or pipe is looked up: raises the caller's error if it stands in the caller's
        own text (not in that of a pipe) and may not be read."""
        if self.pipe is None:
            self.uses.budget.caller.check_name(name)

    def without_trigger(self) -> Environment:
        """The same for a table that is read whole, not as newly arrived rows."""
        return replace(self, triggers=False)
