"""Compiled SQL: the Spark SQL, the data sources it reads, and the columns it returns.

Invariant: `sql` names data sources only by the placeholders listed in `reads`, which the caller replaces by tables.
"""

from __future__ import annotations

from penstock.model.external_tables import ExternalTable
from penstock.model.pipe import CopyMode
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.analysis.expression_facts import ExpressionFacts, expression_facts
from penstock.sql.analysis.query_facts import QueryFacts, query_facts

FINAL = "__final_"
"""Prefix of the placeholder of a data source that is read with FINAL."""


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A data source that is read."""

    placeholder: str
    datasource: str
    columns: tuple[str, ...]
    """The used columns, in the order of its schema; all of them if it is not known which ones are used."""

    @property
    def final(self) -> bool:
        """Whether rows are first merged by the rule of the data source's engine."""
        return self.placeholder.startswith(FINAL)


@dataclass(frozen=True, slots=True)
class ExternalRead:
    """A table of another database that a copy reads."""

    placeholder: str
    table: ExternalTable
    columns: frozenset[str]
    """The used columns."""


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled SELECT."""

    sql: str
    reads: tuple[SourceRead, ...]
    columns: tuple[tuple[str, Type], ...]
    """Names and ClickHouse types of the result, in order."""
    with_totals: str = ""
    """For a SELECT WITH TOTALS: the statement that gives the rows and then their totals, with one more column, which is
    NULL in the row of totals."""

    @property
    def facts(self) -> QueryFacts:
        """Further properties of `sql`: lineage, whether it may raise, its variant with `_seq`."""
        return query_facts(self.sql)


@dataclass(frozen=True, slots=True)
class CompiledView:
    """A compiled materialized node."""

    pipe: str
    node: str
    target: str
    query: Query
    """Returns exactly the columns of `target`, in its order and types."""
    trigger: SourceRead
    """The left-most table, whose new rows the view reads."""
    grouped: bool
    """Rows of one batch are aggregated."""


@dataclass(frozen=True, slots=True)
class CompiledCopy:
    """A compiled copy node."""

    target: str
    query: Query
    """Returns one column of texts, each a JSON row for `target` as the Events API accepts it."""
    mode: CopyMode = "append"
    externals: tuple[ExternalRead, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """A compiled scalar expression."""

    sql: str
    type: Type
    uses: tuple[str, ...]
    """The names of the columns it reads, in the order of the schema."""


@dataclass(frozen=True, slots=True)
class ForwardColumn:
    """How a column of the new schema is computed from the columns of the old one."""

    name: str
    sql: str
    uses: tuple[str, ...]
    renames: str | None = None
    """The old column, if the expression only renames it."""

    @property
    def facts(self) -> ExpressionFacts:
        """Properties of `sql`: whether it is NULL, repeatable, or may raise."""
        return expression_facts(self.sql)

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same for every row and each time it is computed."""
        return not self.uses and self.facts.is_constant
