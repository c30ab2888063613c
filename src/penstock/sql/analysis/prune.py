"""Compiled SQL with fewer columns: only the wanted ones, and what they and the set of rows depend on.

In: the SQL of a query and names of its columns. Out: Spark SQL. Invariant: it returns the same bag of rows as
`SELECT columns FROM (sql)`. Text that stays is copied unchanged, and pruning twice gives the same as pruning once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from penstock.model.quick_dataclass import dataclass
from penstock.sql.analysis.column_graph import (
    ColumnGraph,
    ColumnRefs,
    OutputColumn,
    PrunableList,
    QueryColumns,
    end_of_item,
)
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.spark_text import quote_identifier

_WRAPPER_ALIAS = "__kept"
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}


@dataclass(frozen=True, slots=True)
class _Span:
    """A part of the text."""

    start: int
    """The index of its first character."""
    end: int
    """The index after its last character."""


@dataclass(frozen=True, slots=True)
class _LocatedList:
    """A select list with its place in the text."""

    span: _Span
    items: tuple[_Span, ...]
    """The places of its columns."""
    kept: tuple[int, ...]
    """The columns to keep, in their new order."""
    alone: str


def prune(sql: str, columns: Sequence[str]) -> str:
    """The SQL with these columns in this order; with one dummy column if `columns` is empty.

    Raises ValueError for a column that the SQL does not have, has twice, or that is asked for twice.
    """
    return _prune(sql, tuple(columns))


@lru_cache(maxsize=512)
def _prune(sql: str, columns: tuple[str, ...]) -> str:
    found = query_facts(sql).column_graph
    if found is None:
        return sql if sql.startswith(_wrapper_start(columns)) else _wrap_query(sql, columns)
    graph, top = found
    wanted = _wanted_columns(top, columns)
    if wanted is None or not _can_return(graph, top, wanted):
        sql = _wrap_query(sql, columns)
        wrapped = query_facts(sql).column_graph
        if wrapped is None:
            return sql  # the SELECT around it is one too many to look into
        graph, top = wrapped
        wanted = top.slots if columns else ()
    return _cut_lists(sql, graph, graph.reach(top.rows.union(wanted)), wanted)


def _wrapper_start(columns: Sequence[str]) -> str:
    shown = ", ".join(map(quote_identifier, columns)) or f"1 AS {quote_identifier(_WRAPPER_ALIAS)}"
    return f"SELECT {shown} FROM ("


def _wrap_query(sql: str, columns: Sequence[str]) -> str:
    return f"{_wrapper_start(columns)}{sql}) AS {quote_identifier(_WRAPPER_ALIAS)}"


def _wanted_columns(top: QueryColumns, columns: Sequence[str]) -> tuple[OutputColumn, ...] | None:
    """The columns by name; None if the columns of the query are not known."""
    if top.rest is not None:
        return None
    if tuple(columns) == top.names:
        return top.slots
    for name in columns:
        if (top.names.count(name), columns.count(name)) != (1, 1):
            raise ValueError(f"not one column `{name}`")
    return tuple(top.slots[top.names.index(name)] for name in columns)


def _can_return(graph: ColumnGraph, top: QueryColumns, wanted: tuple[OutputColumn, ...]) -> bool:
    """Whether the outermost SELECT can be cut to exactly these columns."""
    if wanted == top.slots:
        return True
    live = graph.reach(top.rows.union(wanted))
    return any(each.slots == top.slots for each in graph.lists) and set(wanted) >= live.intersection(top.slots)


def _cut_lists(sql: str, graph: ColumnGraph, live: ColumnRefs, wanted: tuple[OutputColumn, ...]) -> str:
    tokens = query_facts(sql).tokens
    ends = {token.end: place for place, token in enumerate(tokens)}
    lists = (_locate_list(tokens, ends, each, _kept_places(each, live, wanted)) for each in graph.lists)
    return _ListCutter(sql, {each.span.start: each for each in lists}).part(_Span(0, len(sql)))


def _kept_places(each: PrunableList, live: ColumnRefs, wanted: tuple[OutputColumn, ...]) -> tuple[int, ...]:
    if set(wanted) & set(each.slots):
        return tuple(slot.place for slot in wanted)
    return tuple(slot.place for slot in each.slots if slot in live)


def _locate_list(
    tokens: Sequence[Token], ends: Mapping[int, int], each: PrunableList, kept: tuple[int, ...]
) -> _LocatedList:
    items = tuple(_locate_item(tokens, ends, item) for item in each.items)
    alone = f"{each.alone} AS {quote_identifier(each.items[0].alias_or_name)}"
    return _LocatedList(_Span(items[0].start, items[-1].end), items, kept, alone)


def _locate_item(tokens: Sequence[Token], ends: Mapping[int, int], item: exp.Expr) -> _Span:
    """The span of a column: from after the comma or SELECT before it to the end of its name."""
    end = end_of_item(item)
    assert end is not None, "only a list of columns with names can be cut"
    place, depth = ends[end], 0
    while depth or tokens[place - 1].token_type not in (TokenType.SELECT, TokenType.COMMA):
        place -= 1
        depth += (tokens[place].token_type in _CLOSING) - (tokens[place].token_type in _OPENING)
    return _Span(tokens[place].start, end + 1)


@dataclass(frozen=True, slots=True)
class _ListCutter:
    """The SQL and the select lists in it, by the place where they start."""

    sql: str
    lists: Mapping[int, _LocatedList]

    def part(self, span: _Span) -> str:
        """A part of the text without the removed columns. Only lists that start after the part does are in it."""
        parts, at = [], span.start
        for start in sorted(start for start in self.lists if span.start < start < span.end):
            if start < at:
                continue
            found = self.lists[start]
            parts += [self.sql[at:start], self._columns(found)]
            at = found.span.end
        return "".join(parts) + self.sql[at : span.end]

    def _columns(self, found: _LocatedList) -> str:
        return ", ".join(self.part(found.items[place]) for place in found.kept) or found.alone
