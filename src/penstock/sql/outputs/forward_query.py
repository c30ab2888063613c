"""FORWARD_QUERY: a select list over the rows of the live table that gives every column of the new schema.

In: the text, the old columns and the new ones. Out: a `ForwardColumn` for each new column. Invariant: it is a select
list and nothing else; each new column is found by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import Column, Text
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import unwrap_type
from penstock.sql.clauses.column_matchers import pattern_of
from penstock.sql.compiler.translator import Translator
from penstock.sql.conversions.explicit import STRICT_MODE
from penstock.sql.conversions.implicit import implicit_cast
from penstock.sql.conversions.insert import convert_for_insert, insert_refusal
from penstock.sql.engines.column_expression import OWN_TABLE, row_translator, stored_column_value
from penstock.sql.expr.typed import TypedSql
from penstock.sql.operators.names_with_dots import join_names_below
from penstock.sql.outputs.forward_conversions import STRICT_HANDLERS
from penstock.sql.query import ForwardColumn
from penstock.sql.spark_text import quote_identifier
from penstock.sql.syntax.column_names import column_name
from penstock.sql.syntax.matcher_tokens import MATCHER
from penstock.sql.syntax.problems import Refused, Report, refusal
from penstock.sql.syntax.tree import call_name, parse_select_list

_ALLOWED = ("expressions", "kind", "with_")


@dataclass(frozen=True, slots=True)
class _SelectItem:
    """An expression with the name of its column."""

    name: str
    node: exp.Expr
    starred: bool = False
    """It comes from a `*`."""


@dataclass(frozen=True, slots=True)
class ForwardSelectList:
    """The select list of a FORWARD_QUERY, parsed but not yet translated."""

    tr: Translator
    items: tuple[_SelectItem, ...]

    def node(self, column: Column) -> exp.Expr:
        """The expression for a column of the new schema. Raises Refused."""
        return _choose_item(self.tr, list(self.items), column.name, self.tr.text.location).node.unalias()

    def value(self, tr: Translator, column: Column) -> TypedSql:
        """The expression for a column, translated by `tr` but not yet cast to the type of the column. Raises
        Refused."""
        return replace(tr, resolving=tr.resolving | {column.name}).translate(self.node(column))


def compile_forward(text: Text, old: Sequence[Column], new: Sequence[Column]) -> tuple[ForwardColumn, ...]:
    """The SQL of each new column. Raises InvalidQuery with every problem."""
    report = Report()
    columns: list[ForwardColumn] = []
    with report.collecting():
        found = read_select_list(report, text, old)
        _check_names(report, found.tr, list(found.items), [column.name for column in new])
        for column in new:
            with report.collecting():
                columns.append(_compile_column(found, column))
    report.finish("the FORWARD_QUERY cannot be compiled")
    return tuple(columns)


def read_select_list(report: Report, text: Text, old: Sequence[Column]) -> ForwardSelectList:
    """The select list over the old columns. Raises Refused, or adds problems to the report."""
    tree = parse_select_list(text)
    _check_shape(report, text, tree)
    tr = row_translator(text, {column.name: stored_column_value(column) for column in old})
    given = _read_items(report, tr, tree, [column.name for column in old])
    return ForwardSelectList(_with_aliases(tr, tree, given), tuple(given))


def _check_shape(report: Report, text: Text, tree: exp.Select) -> None:
    """Reports clauses other than the select list."""
    for key, value in tree.args.items():
        if value and key not in _ALLOWED:
            with report.collecting():
                clause = {"from_": "FROM", "joins": "JOIN", "group": "GROUP BY", "order": "ORDER BY"}.get(
                    key, key.upper()
                )
                node = value[0] if isinstance(value, list) else value
                message = f"a FORWARD_QUERY is a select list only: {clause} is not allowed"
                place = node if isinstance(node, exp.Expr) else tree
                raise refusal(text, place, "invalid-forward-query", message, "it reads the rows of the live table")


def _read_items(report: Report, tr: Translator, tree: exp.Select, old: list[str]) -> list[_SelectItem]:
    found: list[_SelectItem] = []
    for node in tree.expressions:
        with report.collecting():
            if isinstance(node, exp.Star):
                found += _expand_star(tr, node, old)
            elif call_name(node) == MATCHER:
                found += _expand_matcher(tr, node, old)
            else:
                join_names_below(tr.scope, node)
                found.append(_SelectItem(column_name(node), node))
    return found


def _expand_star(tr: Translator, star: exp.Star, old: list[str]) -> list[_SelectItem]:
    left_out = [each.name for each in star.args.get("except_") or []]
    replaced = {each.alias: each.this for each in star.args.get("replace") or []}
    for name in (*left_out, *replaced):
        if name not in old:
            node = next((each for each in star.find_all(exp.Identifier) if each.name == name), star)
            raise tr.refusal(node, "unknown-column", f"unknown column `{name}`", did_you_mean(name, old))
    kept = [name for name in old if name not in left_out]
    return [
        _SelectItem(name, replaced.get(name) or exp.column(name, quoted=True), name not in replaced) for name in kept
    ]


def _expand_matcher(tr: Translator, node: exp.Expr, old: list[str]) -> list[_SelectItem]:
    """`* EXCEPT 'pattern'`. Raises Refused for any other form that is read as a call."""
    star, *parts = node.expressions
    texts = [each for part in parts if call_name(part) == "except" for each in part.expressions]
    if not isinstance(star, exp.Star) or len(parts) != 1 or len(texts) != 1 or not texts[0].is_string:
        message = "this form of `*` is not supported in a FORWARD_QUERY"
        raise tr.refusal(node, "unsupported-syntax", message, "* EXCEPT (…) REPLACE (…)")
    pattern = pattern_of(tr.text, texts[0])
    kept = [name for name in old if not pattern.search(name)]
    return [_SelectItem(name, exp.column(name, quoted=True), starred=True) for name in kept]


def _with_aliases(tr: Translator, tree: exp.Select, given: list[_SelectItem]) -> Translator:
    """The translator of the items: with the names that AS and WITH give, and with strict conversions."""
    clause = tree.args.get("with_")
    constants = {cte.alias: cte.this for cte in clause.expressions if cte.args.get("scalar")} if clause else {}
    own = {each.name: each.node.unalias() for each in given if isinstance(each.node, exp.Alias)}
    return replace(tr, scope=replace(tr.scope, aliases={**constants, **own}), handlers=STRICT_HANDLERS)


def _check_names(report: Report, tr: Translator, given: list[_SelectItem], new: list[str]) -> None:
    """Reports expressions that name no column of the new schema; columns of a `*` may be missing there."""
    for each in given:
        if each.name not in new and not each.starred:
            with report.collecting():
                message = f"the new schema has no column `{each.name}`"
                raise tr.refusal(each.node, "unknown-column", message, did_you_mean(each.name, new))


def _choose_item(tr: Translator, given: list[_SelectItem], name: str, start: Location) -> _SelectItem:
    """The item for a column: one that is written out wins over one of a `*`. Raises Refused for none or several."""
    mine = sorted((each for each in given if each.name == name), key=lambda each: each.starred)
    if not mine:
        message = f"the FORWARD_QUERY does not give the column `{name}`"
        hint = did_you_mean(name, [each.name for each in given])
        raise Refused(Problem("missing-column", message, start, hint))
    if len(mine) > 1 and not mine[1].starred:
        raise tr.refusal(mine[1].node, "duplicate-column", f"the column `{name}` is given twice")
    return mine[0]


def _compile_column(found: ForwardSelectList, column: Column) -> ForwardColumn:
    tr = found.tr
    before = set(tr.uses.columns[OWN_TABLE])
    tr.uses.columns[OWN_TABLE].clear()
    node = found.node(column)
    value = found.value(tr, column)
    used = set(tr.uses.columns[OWN_TABLE])
    tr.uses.columns[OWN_TABLE].update(before)
    _check_accurate_cast(tr, node, value, column)
    sql = convert_for_insert(value, column.type, mode=STRICT_MODE)
    if sql is None:
        message, hint = insert_refusal(value.type, column.type)
        raise tr.refusal(node, "incompatible-type", f"column `{column.name}`: {message}", hint)
    bare = isinstance(node, exp.Column) and not node.table and value.sql == quote_identifier(node.name)
    renames = node.name if bare and node.name in used and node.name != column.name else None
    order = [name for name in tr.scope.relations[0].columns if name in used]
    return ForwardColumn(column.name, sql, tuple(order), renames)


def _check_accurate_cast(tr: Translator, node: exp.Expr, value: TypedSql, column: Column) -> None:
    """Raises Refused for an accurate cast to a wider type than the column's: storing its result would cut off what the
    cast has let through."""
    name = call_name(node)
    if name is None or not name.startswith("accurateCast") or convert_for_insert(value, column.type) is None:
        return
    wide, narrow = unwrap_type(value.type), unwrap_type(column.type)
    if implicit_cast(replace(value, type=wide), narrow) is None:
        message = f"column `{column.name}`: {name} to {wide} lets values through that {narrow} does not have"
        raise tr.refusal(node, "incompatible-type", message, f"write {name}(…, '{narrow}')")
