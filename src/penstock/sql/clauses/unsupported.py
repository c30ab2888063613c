"""Pass that refuses clauses that Penstock does not support, each at its place.

In: the tree of one SELECT. Out: the same block. Invariant: a refused clause never reaches a later pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.syntax.problems import refusal

_CLAUSES = {
    "connect": "CONNECT BY",
    "match": "MATCH_RECOGNIZE",
    "pivots": "PIVOT",
    "cluster": "CLUSTER BY",
    "sort": "SORT BY",
    "locks": "FOR UPDATE",
    "sample": "SAMPLE after FINAL",
    "into": "INTO",
    "laterals": "LATERAL",
    "operation_modifiers": "this modifier",
}


def refuse_unsupported(block: SelectBlock) -> SelectBlock:
    """Pass: reports each unsupported clause; the block stays as it is."""
    for node, clause in _unsupported_clauses(block.tree):
        with block.environment.report.collecting():
            message = f"{clause} is not supported"
            raise refusal(block.environment.text, node, "unsupported-clause", message)
    return block


def _unsupported_clauses(tree: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    """Each unsupported clause of the tree: a node that has its place, and its name."""
    for key, clause in _CLAUSES.items():
        given = tree.args.get(key)
        if given:
            yield _node_of_clause(given, tree), clause
    yield from _unsupported_limit(tree)


def _unsupported_limit(tree: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    limit = tree.args.get("limit")
    options = limit.args.get("limit_options") if limit is not None else None
    if limit is not None and options is not None and options.args.get("percent"):
        yield limit, "LIMIT … PERCENT"


def _node_of_clause(given: object, tree: exp.Select) -> exp.Expr:
    found = given[0] if isinstance(given, list) else given
    return found if isinstance(found, exp.Expr) else tree
