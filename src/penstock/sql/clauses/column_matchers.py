"""Matchers of columns in a select list: `*`, `t.*` and `COLUMNS(…)`, with EXCEPT, REPLACE and APPLY.

In: an item of the select list. Out: the columns that it stands for, with the names that ClickHouse gives them.
Invariant: names and order of the columns are ClickHouse's; a column whose name another table has, too, keeps the name
of its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import re2
from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model.datasource import Text
from penstock.sql.clauses.result_names import displayed_name, unaliased_name
from penstock.sql.clauses.tuple_columns import columns_of_tuple
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.select_block import SelectBlock, SelectedColumn
from penstock.sql.operators.names import READING_KEY
from penstock.sql.syntax.matcher_tokens import MATCHER
from penstock.sql.syntax.problems import refusal
from penstock.sql.syntax.tokens import CALL_MARK, PARAMETERS
from penstock.sql.syntax.tree import call_name

# RE2 as in ClickHouse; also, no pattern of a user can keep it busy, as it can Python's module.
_QUIET = re2.Options()
_QUIET.log_errors = False
_MatchedColumns = list[tuple[ScopeTable, str, str]]
"""Relation, name of the column, and how it is read: `bare` (by name alone) or `whole` (with its table)."""


def match_columns(block: SelectBlock, node: exp.Expr) -> list[SelectedColumn] | None:
    """The columns that a matcher stands for; None for any other node. Raises Refused."""
    if isinstance(node, exp.Apply):
        found = match_columns(block, node.this)
        return None if found is None else [_apply_function(block, node, each) for each in found]
    if call_name(node) == MATCHER and isinstance(node, exp.Anonymous):
        return _columns_of_matcher(block, node)
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


def _check_names(block: SelectBlock, star: exp.Expr, names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            node = next((each for each in star.find_all(exp.Identifier) if each.name == name), star)
            raise refusal(block.environment.text, node, "unknown-column", f"unknown column `{name}`", hint)


def _match_pattern(block: SelectBlock, pattern: exp.Expr, found: _MatchedColumns) -> list[SelectedColumn]:
    """COLUMNS('regular expression')."""
    return _select_columns(block, _matching(block, pattern, found), {})


def _matching(block: SelectBlock, pattern: exp.Expr, found: _MatchedColumns) -> _MatchedColumns:
    """The columns in whose names a regular expression is found. Raises Refused."""
    if not (isinstance(pattern, exp.Literal) and pattern.args.get("is_string")):
        raise _unsupported_error(block, pattern, "COLUMNS of anything but names or one text")
    test = pattern_of(block.environment.text, pattern)
    return [each for each in found if test.search(each[1])]


def pattern_of(text: Text, node: exp.Expr) -> re2._Regexp:
    """A literal as the pattern that it is. Raises Refused."""
    try:
        return re2.compile(node.name, _QUIET)
    except re2.error as error:
        message = f"invalid regular expression: {_re2_message(error)}"
        raise refusal(text, node, "invalid-literal", message) from error


def _re2_message(error: re2.error) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _apply_function(block: SelectBlock, node: exp.Apply, selected: SelectedColumn) -> SelectedColumn:
    """APPLY(f): the function applied to each column."""
    function = node.expression
    if not isinstance(function, exp.Var):
        raise _unsupported_error(block, node, "APPLY of anything but a function")
    return _apply_name(block, function, [exp.Literal.string(function.name)], selected)


def _apply_name(
    block: SelectBlock, place: exp.Expr, given: Sequence[exp.Expr], selected: SelectedColumn
) -> SelectedColumn:
    """A function by its name, and its parameters if it has any."""
    parameters = [exp.Anonymous(this=PARAMETERS + CALL_MARK, expressions=[each.copy() for each in given[1:]])]

    def call(argument: exp.Expr) -> exp.Expr:
        arguments = [*(parameters if len(given) > 1 else []), argument]
        found = exp.Anonymous(this=given[0].name + CALL_MARK, expressions=arguments)
        found.meta.update(place.meta)
        return found

    return SelectedColumn(_name_of(block, call(_shown_column(block, selected))), call(selected.node))


def _apply_lambda(block: SelectBlock, function: exp.Lambda, selected: SelectedColumn) -> SelectedColumn:
    """A lambda of one parameter, with the column in its place."""
    if len(function.expressions) != 1:
        raise _unsupported_error(block, function, "APPLY of a lambda with several parameters")
    name = function.expressions[0].name
    if any(name == each.name for inner in function.this.find_all(exp.Lambda) for each in inner.expressions):
        raise _unsupported_error(block, function, f"`{name}` as the parameter of two lambdas")
    if not isinstance(selected.node, (exp.Column, exp.Anonymous)):
        raise _unsupported_error(block, function, "APPLY of a lambda behind REPLACE")

    def body(value: exp.Expr) -> exp.Expr:
        changed: exp.Expr = function.this.copy().transform(lambda each: value.copy() if _is_name(each, name) else each)
        return changed

    return SelectedColumn(_name_of(block, body(_shown_column(block, selected))), body(selected.node))


def _is_name(node: exp.Expr, name: str) -> bool:
    """Whether a node is the parameter of a lambda; in a lambda, sqlglot reads names as identifiers."""
    if isinstance(node, exp.Identifier):
        return node.name == name and not isinstance(node.parent, (exp.Column, exp.Alias, exp.Dot))
    return isinstance(node, exp.Column) and node.name == name and not node.text("table")


def _name_of(block: SelectBlock, node: exp.Expr) -> str:
    return unaliased_name(block.translator.scope, node)


def _shown_column(block: SelectBlock, selected: SelectedColumn) -> exp.Expr:
    """A column with the name that it has in that of a call: what REPLACE puts in its place is named by itself."""
    is_named = READING_KEY in selected.node.meta or selected.name.endswith((")", "]"))
    name = selected.name if is_named else unaliased_name(block.translator.scope, selected.node)
    return exp.column(exp.to_identifier(name, quoted=True))


def _columns_of_matcher(block: SelectBlock, node: exp.Anonymous) -> list[SelectedColumn]:
    """The columns of a matcher that is read as a call. Raises Refused."""
    star, *parts = node.expressions
    table = star.text("table") if isinstance(star, exp.Column) else ""
    found = _table_columns(block, node, table) if table else _all_columns(block)
    changes = [each for each in parts if call_name(each) in ("except", "replace", "apply")]
    if len(changes) < len(parts):
        named = _named_columns(block, parts[0], found)
        found = [each for each in found if each in named] if table else named  # behind a table, in its order
    _check_order(block, node, [call_name(each) or "" for each in changes])
    replaced: dict[str, exp.Expr] = {}
    for change in changes:
        if call_name(change) == "except":
            found = _without(block, change, found)
        elif call_name(change) == "replace":
            replaced |= _replacements(block, change, found)
    selected = _select_columns(block, found, replaced)
    for change in changes:
        if call_name(change) == "apply":
            selected = [_applied(block, change, each) for each in selected]
    return selected


def _check_order(block: SelectBlock, node: exp.Expr, names: Sequence[str]) -> None:
    """Raises Refused unless EXCEPT stands before REPLACE and APPLY behind both: elsewhere ClickHouse ignores them."""
    places = [("except", "replace", "apply").index(each) for each in names]
    if places != sorted(places):
        message = "EXCEPT, REPLACE and APPLY stand in this order behind the columns that they change"
        raise refusal(block.environment.text, node, "unsupported-syntax", message, "put EXCEPT first, and APPLY last")


def _named_columns(block: SelectBlock, given: exp.Expr, found: _MatchedColumns) -> _MatchedColumns:
    """The columns that COLUMNS names, in its order, or those whose names match its text."""
    if isinstance(given, exp.Literal):
        return _matching(block, given, found)
    if not all(isinstance(each, exp.Column) for each in given.expressions):
        raise _unsupported_error(block, given, "COLUMNS of anything but names or one text")
    listed: _MatchedColumns = []
    for each in given.expressions:
        own = _table_columns(block, each, each.text("table")) if each.text("table") else found
        _check_names(block, given, [each.name], {name for _, name, _ in own})
        listed += [one for one in own if one[1] == each.name][:1]
    return listed


def _without(block: SelectBlock, change: exp.Expr, found: _MatchedColumns) -> _MatchedColumns:
    """The columns that EXCEPT leaves: it names some, or all whose names match one text."""
    texts = [each for each in change.expressions if isinstance(each, exp.Literal) and each.is_string]
    if texts and len(change.expressions) > 1:
        raise _unsupported_error(block, change, "EXCEPT of a text beside others")
    if texts:
        left_out = _matching(block, texts[0], found)
        return [each for each in found if each not in left_out]
    names = [each.name for each in change.expressions]
    _check_names(block, change, names, {name for _, name, _ in found})
    return [each for each in found if each[1] not in names]


def _replacements(block: SelectBlock, change: exp.Expr, found: _MatchedColumns) -> dict[str, exp.Expr]:
    if not all(isinstance(each, exp.Alias) for each in change.expressions):
        raise _unsupported_error(block, change, "REPLACE without AS")
    replaced = {each.alias: each.this for each in change.expressions}
    _check_names(block, change, replaced, {name for _, name, _ in found})
    return replaced


def _applied(block: SelectBlock, change: exp.Expr, selected: SelectedColumn) -> SelectedColumn:
    first = change.expressions[0] if change.expressions else change
    if isinstance(first, exp.Lambda):
        return _apply_lambda(block, first, selected)
    if not isinstance(first, exp.Literal):
        raise _unsupported_error(block, change, "APPLY of anything but a function")
    return _apply_name(block, change, change.expressions, selected)


def _unsupported_error(block: SelectBlock, node: exp.Expr, what: str) -> Exception:
    message, hint = f"{what} is not supported", "name the columns, or COLUMNS('regular expression')"
    return refusal(block.environment.text, node, "unsupported-syntax", message, hint)
