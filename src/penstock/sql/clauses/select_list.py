"""Passes for the select list: matchers become columns, aliases become names that other clauses may use.

Matchers are `*`, `t.*` and `COLUMNS('regular expression')`, with EXCEPT, REPLACE and APPLY. In: the select list of one
SELECT. Out: the block with `selected`, and aliases in scope. Invariant: names and order of the columns are
ClickHouse's; a column whose name another table has, too, keeps the name of its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.sql.clauses.column_matchers import match_columns
from penstock.sql.clauses.result_names import unaliased_name
from penstock.sql.clauses.tuple_columns import columns_of_call
from penstock.sql.compiler.select_block import SelectBlock, SelectedColumn
from penstock.sql.operators.names import counts_rows, expand_star_arguments
from penstock.sql.syntax.matcher_tokens import MATCHER
from penstock.sql.syntax.problems import refusal
from penstock.sql.syntax.tree import call_name, is_aggregate


def expand_stars(block: SelectBlock) -> SelectBlock:
    """Pass: the select list with each matcher expanded into columns."""
    selected: list[SelectedColumn] = []
    for node in block.tree.expressions:
        with block.environment.report.collecting():
            selected += _expand_item(block, node)
    if not selected and block.tree.expressions and not block.environment.report.problems:
        message = "the select list matches no column"
        with block.environment.report.collecting():
            raise refusal(block.environment.text, block.tree.expressions[0], "unknown-column", message)
    return replace(block, selected=tuple(selected))


def resolve_aliases(block: SelectBlock) -> SelectBlock:
    """Pass: aliases, also those inside of expressions, become names for the whole SELECT."""
    scope = block.translator.scope
    found, nodes = dict(scope.aliases), tuple(_own_nodes(block.tree))
    for node in nodes:
        if isinstance(node, exp.Alias):
            with block.environment.report.collecting():
                _check_single_alias(block, node, found)
            found[node.alias] = node.this
    windows = {each.name: each for each in block.tree.args.get("windows") or []}
    scope = replace(scope, aliases=found, windows=windows, grouped=_is_grouped(block.tree, nodes))
    return replace(block, translator=block.translator.with_scope(scope))


def _is_grouped(tree: exp.Select, nodes: Iterable[exp.Expr]) -> bool:
    """Whether a SELECT with these nodes has a GROUP BY, or an aggregate that is no window function."""
    if tree.args.get("group") is not None:
        return True
    calls = (each for each in nodes if is_aggregate(each))
    return any(not isinstance(each.parent, (exp.Window, exp.IgnoreNulls, exp.RespectNulls)) for each in calls)


def _check_single_alias(block: SelectBlock, node: exp.Alias, found: Mapping[str, exp.Expr]) -> None:
    """Raises Refused if an alias of this SELECT names two expressions, as ClickHouse does."""
    other = found.get(node.alias)
    if other is not None and node.alias not in block.environment.constants and other != node.this:
        message = f"`{node.alias}` is the alias of two expressions"
        raise refusal(block.environment.text, node, "duplicate-column", message, "give one of them another alias")


def _own_nodes(tree: exp.Select) -> Iterator[exp.Expr]:
    """The nodes of the expressions of this SELECT, without those of SELECTs inside of it."""
    for key in ("expressions", "prewhere", "where", "group", "having", "order"):
        value = tree.args.get(key)
        for root in value if isinstance(value, list) else [value] if value is not None else []:
            yield from root.walk(prune=_is_apart)


def _is_apart(node: exp.Expr) -> bool:
    """Whether the names in a node are not those of the SELECT that it stands in."""
    return isinstance(node, (exp.Query, exp.Star, exp.WithFill)) or call_name(node) == MATCHER


def _expand_item(block: SelectBlock, node: exp.Expr) -> list[SelectedColumn]:
    found = columns_of_call(block, node) or match_columns(block, node)
    if found is not None:
        return found
    if isinstance(node, exp.Alias):
        return [SelectedColumn(node.alias, node)]
    return [SelectedColumn(unaliased_name(block.translator.scope, _with_columns_of_stars(block, node)), node)]


def _with_columns_of_stars(block: SelectBlock, node: exp.Expr) -> exp.Expr:
    """The node with the columns of `*` in calls such as uniq(*) and count(DISTINCT *), as ClickHouse names it; count(*)
    stays."""
    if node.find(exp.Star) is None:
        return node

    def expand(each: exp.Expr) -> exp.Expr:
        if not isinstance(each, exp.Anonymous) or counts_rows(each):
            return each
        call = expand_star_arguments(block.translator, each)
        for column in call.find_all(exp.Column):
            column.set("table", None)
        return call

    return node.copy().transform(expand)
