"""Which columns of which sources decide the columns, and the rows, of compiled Spark SQL.

In: the SQL of a `Query`. Out: `Lineage`; the graph of its columns. Called by prune, and by what shares or
reads sources. Invariant: nothing that counts is left out; what cannot be resolved makes the sources in
reach `whole`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlglot

from penstock.sql.analysis.column_graph import ANY, Block, Graph, Origin, Ref, Scope, read_query
from penstock.sql.syntax.tree import PARSE_ERRORS


@dataclass(frozen=True, slots=True)
class Lineage:
    """`outputs`: each column and the source columns its value depends on; `rows`: what decides which
    rows there are; `whole`: sources of which other columns may count too."""

    outputs: tuple[tuple[str, frozenset[Origin]], ...]
    rows: frozenset[Origin]
    whole: frozenset[str]


def lineage(sql: str) -> Lineage:
    """What each output and the rows depend on."""
    found = analysed(sql)
    if found is None:
        return Lineage((), frozenset(), frozenset(re.findall(r"__(?:new|all)_\w+?__(?!\w)", sql)))
    graph, top = found
    outputs = tuple((name, _origins(graph, [slot])) for name, slot in zip(top.names, top.slots, strict=True))
    return Lineage(outputs, _origins(graph, top.rows), _whole(graph, top))


def used_columns(sql: str) -> Mapping[str, frozenset[str]]:
    """By placeholder, the columns that outputs or rows depend on; without the sources that are `whole`."""
    found = analysed(sql)
    if found is None:
        return {}
    graph, top = found
    used = _origins(graph, top.all)
    sources = graph.sources - _whole(graph, top)
    return {name: frozenset(each.column for each in used if each.placeholder == name) for name in sorted(sources)}


def _origins(graph: Graph, refs: Iterable[Ref]) -> frozenset[Origin]:
    return frozenset(each for each in graph.reach(refs) if isinstance(each, Origin) and each.column != ANY)


def _whole(graph: Graph, top: Block) -> frozenset[str]:
    found = (each for each in graph.reach(top.all) if isinstance(each, Origin))
    return frozenset(each.placeholder for each in found if each.column == ANY)


@functools.lru_cache(maxsize=256)
def analysed(sql: str) -> tuple[Graph, Block] | None:
    """What the SQL is made of, and its outermost query. None where it cannot be parsed."""
    try:
        tree = sqlglot.parse_one(sql, dialect="spark")
    except PARSE_ERRORS:
        return None
    graph = Graph()
    try:
        return graph, read_query(graph, tree, Scope())
    except RecursionError:
        return None
