"""What is true of a compiled SELECT: its output columns, what it reads, and its variant with `_seq`.

In: compiled Spark SQL, from a `Query` or from a stored manifest. Out: `QueryFacts`, which derives a fact when it is
first asked for and keeps it. The same text gives the same object, so no text is parsed twice. Invariant of the lineage:
a column that counts is never left out; where a name cannot be resolved, every source that it may mean is `whole`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.analysis.column_graph import (
    ANY_COLUMN,
    ColumnGraph,
    ColumnRef,
    NameScope,
    QueryColumns,
    SourceColumn,
    read_query,
)
from penstock.sql.analysis.may_raise import may_raise
from penstock.sql.analysis.row_seq import with_row_seq
from penstock.sql.spark_text import PARSE_ERRORS, Tokens, parse_tokens, placeholders, tokenize_spark


@dataclass(frozen=True, slots=True)
class Lineage:
    """The source columns that a query depends on."""

    outputs: tuple[tuple[str, frozenset[SourceColumn]], ...]
    """Each output column with the source columns that its value depends on."""
    rows: frozenset[SourceColumn]
    """The source columns that decide the set of rows."""
    whole: frozenset[str]
    """Placeholders of sources that may be read in any other column too."""


@dataclass(frozen=True)
class QueryFacts:
    """Facts of one SELECT. Made by `query_facts`; `tokens`, `tree` and `column_graph` must not be changed."""

    sql: str

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of the text. Raises sqlglot's TokenError."""
        return tokenize_spark(self.sql)

    @cached_property
    def tree(self) -> exp.Expr | None:
        """The syntax tree; None where sqlglot does not know the form, or there is too much of it to look into."""
        if self.sql.count("SELECT") > MOST_SELECTS:
            return None
        try:
            return parse_tokens(self.tokens, self.sql)
        except PARSE_ERRORS:
            return None

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """The names of the columns of the result, in order; none where there is no tree."""
        return tuple(self.tree.named_selects) if isinstance(self.tree, exp.Query) else ()

    @cached_property
    def column_graph(self) -> tuple[ColumnGraph, QueryColumns] | None:
        """What each column is made of, and the outermost SELECT; None where that cannot be told."""
        if self.tree is None:
            return None
        graph = ColumnGraph()
        try:
            return graph, read_query(graph, self.tree, NameScope())
        except RecursionError:
            return None

    @cached_property
    def lineage(self) -> Lineage:
        """The source columns that each output column, and the rows, depend on."""
        if self.column_graph is None:
            return Lineage((), frozenset(), placeholders(self.sql))
        graph, top = self.column_graph
        outputs = tuple((name, _origins(graph, [slot])) for name, slot in zip(top.names, top.slots, strict=True))
        return Lineage(outputs, _origins(graph, top.rows), _whole_sources(graph, top))

    @cached_property
    def columns_read(self) -> Mapping[str, frozenset[str]]:
        """By placeholder, the columns that outputs or rows depend on; without the sources that are `whole`."""
        if self.column_graph is None:
            return {}
        graph, top = self.column_graph
        read = _origins(graph, top.all)
        sources = sorted(graph.sources - _whole_sources(graph, top))
        return {name: frozenset(origin.column for origin in read if origin.placeholder == name) for name in sources}

    @cached_property
    def may_raise(self) -> bool:
        """Whether Spark may raise an error for some row; true of any form that is not known to be safe."""
        return may_raise(self.sql)

    def with_row_seq(self, trigger: str) -> str | None:
        """The SQL with the `_seq` of the row of `trigger` that each row was made from; None where there is none."""
        return with_row_seq(self.sql, trigger)


MOST_SELECTS = 250
"""A query of more SELECTs has no tree. They are mostly pipes that are read twice at each of many levels, so that their
number doubles with each; what depends on the tree says then what it says of a form that is not known."""


@lru_cache(maxsize=256)
def query_facts(sql: str) -> QueryFacts:
    """The facts of a compiled SELECT. The same object for the same text, for the 256 texts used last."""
    return QueryFacts(sql)


def _origins(graph: ColumnGraph, refs: Iterable[ColumnRef]) -> frozenset[SourceColumn]:
    return frozenset(ref for ref in graph.reach(refs) if isinstance(ref, SourceColumn) and ref.column != ANY_COLUMN)


def _whole_sources(graph: ColumnGraph, top: QueryColumns) -> frozenset[str]:
    origins = (ref for ref in graph.reach(top.all) if isinstance(ref, SourceColumn))
    return frozenset(origin.placeholder for origin in origins if origin.column == ANY_COLUMN)
