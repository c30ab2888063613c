"""Compiled SQL: the Spark SQL, the data sources it reads, and the columns it returns.

Invariant: `sql` names data sources only by the placeholders listed in `reads`, which the caller replaces by tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.types import Type
from penstock.sql.analysis.expression_facts import ExpressionFacts, expression_facts
from penstock.sql.analysis.query_facts import QueryFacts, query_facts

FINAL = "__final_"
"""Prefix of the placeholder of a data source that is read with FINAL."""


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A data source that is read. `columns` are the ones used, in the order of its schema; all of them if the used
    ones are not known."""

    placeholder: str
    datasource: str
    columns: tuple[str, ...]

    @property
    def final(self) -> bool:
        """Whether rows are first merged by the rule of the data source's engine."""
        return self.placeholder.startswith(FINAL)


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT. `columns` are names and ClickHouse types of the result, in order. `with_totals` is, for a SELECT
    WITH TOTALS, the statement that gives the rows and then their totals, with one more column: NULL there."""

    sql: str
    reads: tuple[SourceRead, ...]
    columns: tuple[tuple[str, Type], ...]
    with_totals: str = ""

    @property
    def facts(self) -> QueryFacts:
        """What else is true of `sql`: lineage, whether it may raise, its variant with `_seq`."""
        return query_facts(self.sql)


@dataclass(frozen=True, slots=True)
class CompiledView:
    """A materialized node: `query` returns exactly the columns of `target`, in its order and types. `trigger` is the
    left-most table, whose new rows the view reads; `grouped` says that rows of one batch are aggregated."""

    pipe: str
    node: str
    target: str
    query: Query
    trigger: SourceRead
    grouped: bool


@dataclass(frozen=True, slots=True)
class CompiledCopy:
    """A copy node: `query` returns one column of texts, each a JSON row for `target` as the Events API takes it."""

    target: str
    query: Query


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """A scalar expression over columns; `uses` are their names in the order of the schema."""

    sql: str
    type: Type
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForwardColumn:
    """How a column of the new schema is computed from the columns of the old one. `renames` is the old column if the
    expression only renames it."""

    name: str
    sql: str
    uses: tuple[str, ...]
    renames: str | None = None

    @property
    def facts(self) -> ExpressionFacts:
        """What is true of `sql`: whether it is NULL, repeatable, may raise."""
        return expression_facts(self.sql)

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same for every row and each time it is computed."""
        return not self.uses and self.facts.is_constant
