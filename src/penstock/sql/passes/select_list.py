"""Passes: stars become columns, the select list's aliases become names.

In: the select list of one SELECT. Out: `selected` and the scope's aliases. Called by transpile.
Invariant: after these no star is left, and each column has the name ClickHouse gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.sql.block import Block, Selected
from penstock.sql.column_names import column_name
from penstock.sql.problems import refused
from penstock.sql.scope import Relation


def stars(block: Block) -> Block:
    selected: list[Selected] = []
    for node in block.tree.expressions:
        with block.environment.report.collecting():
            selected += _expanded(block, node)
    return replace(block, selected=tuple(selected))


def aliases(block: Block) -> Block:
    """Names of the select list and of expressions inside it are seen in the whole SELECT."""
    scope = block.translator.scope
    found = dict(scope.aliases)
    for node in _own_nodes(block.tree):
        if isinstance(node, exp.Alias):
            found.setdefault(node.alias, node.this)
    windows = {each.name: each for each in block.tree.args.get("windows") or []}
    scope = replace(scope, aliases=found, windows=windows)
    return replace(block, translator=block.translator.with_scope(scope))


def _own_nodes(tree: exp.Select) -> Iterator[exp.Expr]:
    """The nodes of the SELECT's expressions, not those of SELECTs inside it."""
    for key in ("expressions", "prewhere", "where", "group", "having", "order"):
        value = tree.args.get(key)
        for root in value if isinstance(value, list) else [value] if value is not None else []:
            yield from root.walk(prune=lambda node: isinstance(node, (exp.Query, exp.Star)))


def _expanded(block: Block, node: exp.Expr) -> list[Selected]:
    if isinstance(node, exp.Star):
        return _star(block, node, block.translator.scope.relations)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        relation = block.translator.scope.relation(node.table)
        if relation is None:
            known = [each.name for each in block.translator.scope.relations]
            message = f"unknown table `{node.table}`"
            raise refused(block.environment.text, node, "unknown-table", message, did_you_mean(node.table, known))
        return _star(block, node.this, (relation,))
    if isinstance(node, exp.Columns):
        return _matching(block, node)
    if isinstance(node, exp.Alias):
        return [Selected(node.alias, node)]
    return [Selected(_column_name(block, node), node)]


def _column_name(block: Block, node: exp.Expr) -> str:
    """A later table's column keeps its table's name where an earlier one has a column of that name."""
    relation = block.translator.scope.find(node.name) if isinstance(node, exp.Column) and node.table else None
    clashes = relation is not None and relation.name != node.text("table")
    return f"{node.text('table')}.{node.name}" if clashes else column_name(node)


def _star(block: Block, star: exp.Star, relations: tuple[Relation, ...]) -> list[Selected]:
    left_out = [each.name for each in star.args.get("except_") or []]
    replaced = {each.alias: each.this for each in star.args.get("replace") or []}
    found = _columns(relations)
    _check_known(block, star, [*left_out, *replaced], {name for _, name in found})
    return [each for each in _named(found, replaced) if each.name not in left_out]


def _named(found: list[tuple[Relation, str]], replaced: Mapping[str, exp.Expr]) -> list[Selected]:
    """A name that an earlier table has is given once more as `table.name`."""
    selected: list[Selected] = []
    seen: set[str] = set()
    for relation, name in found:
        shown = f"{relation.name}.{name}" if name in seen else name
        selected.append(Selected(shown, _node(relation, name, replaced)))
        seen.add(name)
    return selected


def _check_known(block: Block, star: exp.Star, names: list[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            node = next((each for each in star.find_all(exp.Identifier) if each.name == name), star)
            raise refused(block.environment.text, node, "unknown-column", f"unknown column `{name}`", hint)


def _columns(relations: tuple[Relation, ...]) -> list[tuple[Relation, str]]:
    """Every column of `*`; what ARRAY JOIN adds comes last, what it replaces is in its place."""
    tables = [each for each in relations if not each.name.startswith("__array")]
    found = [(each, name) for each in tables for name in each.columns if name not in each.hidden]
    own = {name for _, name in found}
    arrays = [each for each in relations if each.name.startswith("__array")]
    return found + [(each, name) for each in arrays for name in each.columns if name not in own]


def _node(relation: Relation, name: str, replaced: Mapping[str, exp.Expr]) -> exp.Expr:
    if name in replaced:
        return replaced[name]
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(relation.name, quoted=True))


def _matching(block: Block, node: exp.Columns) -> list[Selected]:
    """COLUMNS('regular expression')."""
    try:
        pattern = re.compile(node.name)
    except re.error as error:
        message = f"invalid regular expression: {error}"
        raise refused(block.environment.text, node, "invalid-literal", message) from error
    relations = block.translator.scope.relations
    return [Selected(name, _node(relation, name, {})) for relation, name in _columns(relations) if pattern.search(name)]
