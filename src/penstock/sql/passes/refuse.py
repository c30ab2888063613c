"""Pass: refuse the clauses that Penstock does not support, each at its place.

In: the tree of one SELECT. Out: the block as it was. Called by transpile. Invariant: what is refused
here never reaches a later pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.sql.block import Block
from penstock.sql.problems import refused
from penstock.sql.query_settings import is_harmless

_CLAUSES = {
    "connect": "CONNECT BY", "match": "MATCH_RECOGNIZE", "pivots": "PIVOT", "cluster": "CLUSTER BY", "sort": "SORT BY",
    "locks": "FOR UPDATE", "sample": "SAMPLE after FINAL", "into": "INTO", "laterals": "LATERAL",
    "operation_modifiers": "this modifier",
}  # fmt: skip


def refuse(block: Block) -> Block:
    for node, clause in _found(block.tree):
        with block.environment.report.collecting():
            message = f"{clause} is not supported"
            raise refused(block.environment.text, node, "unsupported-clause", message)
    return block


def _found(tree: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    """Every clause of the tree that is not supported, with a node that has its place."""
    for key, clause in _CLAUSES.items():
        given = tree.args.get(key)
        if given:
            yield _node(given, tree), clause
    yield from _in_limit(tree)
    for setting in tree.args.get("settings") or []:
        if not is_harmless(setting):
            yield setting, f"the setting {setting.this.name or setting.name}"


def _in_limit(tree: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    limit = tree.args.get("limit")
    options = limit.args.get("limit_options") if limit is not None else None
    if limit is not None and options is not None and options.args.get("percent"):
        yield limit, "LIMIT … PERCENT"


def _node(given: object, tree: exp.Select) -> exp.Expr:
    found = given[0] if isinstance(given, list) else given
    return found if isinstance(found, exp.Expr) else tree
