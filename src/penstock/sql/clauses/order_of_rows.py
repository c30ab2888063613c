"""Pass: whether the aggregates of a SELECT need its rows in the order in which FROM gives them.

In: a block with FROM and its select list. Out: the block whose scope says so, by which aggregates of different values
are written without Spark's DISTINCT: that regroups the rows, and so shuffles them for the aggregates beside it.
Invariant: where neither an ORDER BY nor an array gives the rows of tables an order, DISTINCT stays, as it needs less
memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.syntax.tree import call_name

_ORDERED = re.compile(r"\bORDER BY\b|\bLATERAL VIEW\b|\bexplode\(|\binline\(", re.IGNORECASE)
"""What gives rows an order, in the Spark SQL of FROM."""
_CLAUSES = ("having", "qualify", "order")


def note_order_of_rows(block: SelectBlock) -> SelectBlock:
    """Pass: the scope with `keeps_order` set if an aggregate depends on the order of rows that have one."""
    calls = [name for each in _nodes(block) if (name := call_name(each)) is not None]
    if not any(_depends_on_order(name) for name in calls) or not _has_order(block, calls):
        return block
    scope = replace(block.translator.scope, keeps_order=True)
    return replace(block, translator=block.translator.with_scope(scope))


def _nodes(block: SelectBlock) -> Iterator[exp.Expr]:
    """The nodes that aggregates may stand in: also the named expressions of WITH, of which not all may be used."""
    named = (*block.translator.scope.aliases.values(), *block.environment.constants.values())
    clauses = (found for key in _CLAUSES if isinstance(found := block.tree.args.get(key), exp.Expr))
    for root in (*(each.node for each in block.selected), *named, *clauses):
        yield from root.walk(prune=lambda node: isinstance(node, exp.Query))


def _depends_on_order(name: str) -> bool:
    found = parse_aggregate_name(name)
    return found is not None and found.row.ordered


def _has_order(block: SelectBlock, calls: list[str]) -> bool:
    """Whether the rows have an order: rows that are read from no table have one, too."""
    uses = block.environment.uses
    stored = any(name in block.source for name in (*uses.datasources, *uses.externals))
    return not stored or "arrayjoin" in map(str.lower, calls) or _ORDERED.search(block.source) is not None
