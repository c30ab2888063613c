"""Passes: stars become columns, the select list's aliases become names.

In: the select list of one SELECT. Out: `selected` and the scope's aliases. Called by transpile.
Invariant: after these no star is left, and each column has the name ClickHouse gives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.sql.block import Block, Selected
from penstock.sql.matchers import matched, shown_name
from penstock.sql.problems import refused


def stars(block: Block) -> Block:
    selected: list[Selected] = []
    for node in block.tree.expressions:
        with block.environment.report.collecting():
            selected += _expanded(block, node)
    if not selected and block.tree.expressions and not block.environment.report.problems:
        message = "the select list matches no column"
        with block.environment.report.collecting():
            raise refused(block.environment.text, block.tree.expressions[0], "unknown-column", message)
    return replace(block, selected=tuple(selected))


def aliases(block: Block) -> Block:
    """Names of the select list and of expressions inside it are seen in the whole SELECT."""
    scope = block.translator.scope
    found = dict(scope.aliases)
    for node in _own_nodes(block.tree):
        if isinstance(node, exp.Alias):
            with block.environment.report.collecting():
                _check_once(block, node, found)
            found[node.alias] = node.this
    windows = {each.name: each for each in block.tree.args.get("windows") or []}
    scope = replace(scope, aliases=found, windows=windows)
    return replace(block, translator=block.translator.with_scope(scope))


def _check_once(block: Block, node: exp.Alias, found: Mapping[str, exp.Expr]) -> None:
    """As ClickHouse: a name of this SELECT stands for one expression."""
    other = found.get(node.alias)
    if other is not None and node.alias not in block.environment.constants and other != node.this:
        message = f"`{node.alias}` is the alias of two expressions"
        raise refused(block.environment.text, node, "duplicate-column", message, "give one of them another alias")


def _own_nodes(tree: exp.Select) -> Iterator[exp.Expr]:
    """The nodes of the SELECT's expressions, not those of SELECTs inside it."""
    for key in ("expressions", "prewhere", "where", "group", "having", "order"):
        value = tree.args.get(key)
        for root in value if isinstance(value, list) else [value] if value is not None else []:
            yield from root.walk(prune=lambda node: isinstance(node, (exp.Query, exp.Star, exp.WithFill)))


def _expanded(block: Block, node: exp.Expr) -> list[Selected]:
    found = matched(block, node)
    if found is not None:
        return found
    if isinstance(node, exp.Alias):
        return [Selected(node.alias, node)]
    return [Selected(shown_name(block.translator.scope, node), node)]
