"""Passes for the select list: matchers become columns, aliases become names that other clauses may use.

Matchers are `*`, `t.*` and `COLUMNS('regular expression')`, with EXCEPT, REPLACE and APPLY. In: the select list of one
SELECT. Out: the block with `selected`, and aliases in scope. Invariant: names and order of the columns are
ClickHouse's; a column whose name another table has, too, keeps the name of its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import re2
from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.sql.clauses.result_names import displayed_name, unaliased_name
from penstock.sql.clauses.tuple_columns import columns_of_call, columns_of_tuple
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.select_block import SelectBlock, SelectedColumn
from penstock.sql.operators.names import READING_KEY, counts_rows, expand_star_arguments
from penstock.sql.syntax.problems import refusal
from penstock.sql.syntax.tokens import CALL_MARK
from penstock.sql.syntax.tree import is_aggregate

# RE2 as in ClickHouse; also, no pattern of a user can keep it busy, as it can Python's module.
_QUIET = re2.Options()
_QUIET.log_errors = False
_MatchedColumns = list[tuple[ScopeTable, str, str]]
"""Relation, name of the column, and how it is read: `bare` (by name alone) or `whole` (with its table)."""


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
            yield from root.walk(prune=lambda node: isinstance(node, (exp.Query, exp.Star, exp.WithFill)))


def _expand_item(block: SelectBlock, node: exp.Expr) -> list[SelectedColumn]:
    found = columns_of_call(block, node) or _match_columns(block, node)
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


def _match_columns(block: SelectBlock, node: exp.Expr) -> list[SelectedColumn] | None:
    """The columns that a matcher stands for; None for any other node. Raises Refused."""
    if isinstance(node, exp.Apply):
        found = _match_columns(block, node.this)
        return None if found is None else [_apply_function(block, node, each) for each in found]
    if isinstance(node, exp.Star):
        return _expand_star(block, node, _all_columns(block))
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        if block.translator.scope.relation(node.table) is None and _is_plain(node.this):
            elements = columns_of_tuple(block, node)
            if elements is not None:
                return elements
        return _expand_star(block, node.this, _table_columns(block, node, node.table))
    if isinstance(node, exp.Columns):
        return _match_pattern(block, node.this, _all_columns(block))
    if isinstance(node, exp.Dot) and node.expression.name == "COLUMNS":
        if len(node.expression.expressions) != 1:
            raise _unsupported_error(block, node, "a list in COLUMNS")
        return _match_pattern(block, node.expression.expressions[0], _table_columns(block, node, node.this.name))
    return None


def _is_plain(star: exp.Star) -> bool:
    """Whether `*` has no EXCEPT, REPLACE or other word behind it."""
    return not any(star.args.values())


def _all_columns(block: SelectBlock) -> _MatchedColumns:
    """The columns of `*`, those of the last USING first.

    An array that ARRAY JOIN gives a name of its own is left out of it.
    """
    tables = [each for each in block.translator.scope.relations if not each.is_array]
    found = [(each, name, "bare") for each in tables for name in each.star if name not in each.hidden]
    for join in block.tree.args.get("joins") or []:
        using = [each.name for each in join.args.get("using") or []]
        first = [each for name in using for each in [other for other in found if other[1] == name][:1]]
        found = [*first, *(each for each in found if each not in first)]
    return found


def _table_columns(block: SelectBlock, node: exp.Expr, table: str) -> _MatchedColumns:
    relation = block.translator.scope.relation(table)
    if relation is None:
        known = [each.name for each in block.translator.scope.relations]
        message = f"unknown table `{table}`"
        raise refusal(block.environment.text, node, "unknown-table", message, did_you_mean(table, known))
    return [(relation, name, "whole") for name in relation.star]


def _expand_star(block: SelectBlock, star: exp.Star, found: _MatchedColumns) -> list[SelectedColumn]:
    if star.args.get("ilike") or star.args.get("rename"):
        raise _unsupported_error(block, star, "this form of `*`")
    left_out = [each.name for each in star.args.get("except_") or []]
    replaced = {each.alias: each.this for each in star.args.get("replace") or []}
    _check_names(block, star, [*left_out, *replaced], {name for _, name, _ in found})
    return _select_columns(block, [each for each in found if each[1] not in left_out], replaced)


def _select_columns(
    block: SelectBlock, found: _MatchedColumns, replaced: Mapping[str, exp.Expr]
) -> list[SelectedColumn]:
    scope = block.translator.scope
    joined = {name for each in scope.relations if not each.is_array for name in each.hidden}
    selected = []
    for relation, name, how in found:
        one = how == "bare" and name in joined  # The one column of USING belongs to no table.
        shown = name if one else displayed_name(scope, relation, name, relation.name)
        selected.append(SelectedColumn(shown, replaced.get(name) or _column_node(relation, name, how)))
    return selected


def _column_node(relation: ScopeTable, name: str, how: str) -> exp.Expr:
    node = exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(relation.name, quoted=True))
    node.meta[READING_KEY] = how
    return node


def _check_names(block: SelectBlock, star: exp.Star, names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            node = next((each for each in star.find_all(exp.Identifier) if each.name == name), star)
            raise refusal(block.environment.text, node, "unknown-column", f"unknown column `{name}`", hint)


def _match_pattern(block: SelectBlock, pattern: exp.Expr, found: _MatchedColumns) -> list[SelectedColumn]:
    """COLUMNS('regular expression')."""
    if not (isinstance(pattern, exp.Literal) and pattern.args.get("is_string")):
        raise _unsupported_error(block, pattern, "a list in COLUMNS")
    try:
        test = re2.compile(pattern.name, _QUIET)
    except re2.error as error:
        message = f"invalid regular expression: {_re2_message(error)}"
        raise refusal(block.environment.text, pattern, "invalid-literal", message) from error
    return _select_columns(block, [each for each in found if test.search(each[1])], {})


def _re2_message(error: re2.error) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _apply_function(block: SelectBlock, node: exp.Apply, selected: SelectedColumn) -> SelectedColumn:
    """APPLY(f): the function applied to each column."""
    function = node.expression
    if not isinstance(function, exp.Var):
        raise _unsupported_error(block, node, "APPLY of anything but the name of a function")
    call = exp.Anonymous(this=function.name + CALL_MARK, expressions=[selected.node])
    call.meta.update(node.this.meta)
    return SelectedColumn(f"{function.name}({selected.name})", call)


def _unsupported_error(block: SelectBlock, node: exp.Expr, what: str) -> Exception:
    message, hint = f"{what} is not supported", "name the columns, or COLUMNS('regular expression')"
    return refusal(block.environment.text, node, "unsupported-syntax", message, hint)
