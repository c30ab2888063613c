"""untuple(t) and `t.*` in the select list: the elements of a tuple as columns.

In: an item of the select list. Out: a `SelectedColumn` for each element, None for any other item. Invariant: the
columns are named as ClickHouse names them: by the alias and the element, or by the call of tupleElement.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.clauses.result_names import unaliased_name
from penstock.sql.compiler.select_block import SelectBlock, SelectedColumn
from penstock.sql.syntax.problems import refusal
from penstock.sql.syntax.tokens import CALL_MARK
from penstock.sql.syntax.tree import call_name, call_parts


def columns_of_call(block: SelectBlock, node: exp.Expr) -> list[SelectedColumn] | None:
    """The columns of untuple(…). Raises Refused unless its argument is a tuple."""
    call = node.unalias()
    if call_name(call) != "untuple":
        return None
    _, arguments = call_parts(call)
    if len(arguments) != 1:
        raise refusal(block.environment.text, node, "wrong-argument-count", "`untuple` takes 1 argument")
    names = _element_names(block, arguments[0])
    if names is None:
        message = "`untuple` needs a Tuple that is not Nullable"
        raise refusal(block.environment.text, arguments[0], "wrong-argument-type", message)
    elements = [_element(arguments[0], name) for name in names]
    if isinstance(node, exp.Alias):
        shown = [f"{node.alias}.{name}" for name in names]
    else:
        shown = [unaliased_name(block.translator.scope, element) for element in elements]
    return [SelectedColumn(name, element) for name, element in zip(shown, elements, strict=True)]


def columns_of_tuple(block: SelectBlock, node: exp.Column) -> list[SelectedColumn] | None:
    """The columns of `t.*`, where `t` is a column, or an alias of this SELECT, with tuples; None otherwise."""
    scope = block.translator.scope
    known = node.table in scope.aliases or scope.find(node.table) is not None
    if node.args.get("db") is not None or not known:
        return None
    column = exp.column(exp.to_identifier(node.table, quoted=True))
    column.meta.update(node.meta)
    names = _element_names(block, column)
    return None if names is None else [SelectedColumn(f"{node.table}.{name}", _element(column, name)) for name in names]


def _element_names(block: SelectBlock, node: exp.Expr) -> list[str] | None:
    """The names of a tuple's elements, or their places; None for a value of another type."""
    value = block.translator.with_new_trace().translate(node)
    if not isinstance(value.bare, t.Tuple) or value.nullable:
        return None
    return [name or str(place) for place, (name, _) in enumerate(value.bare.fields, 1)]


def _element(node: exp.Expr, name: str) -> exp.Expr:
    call = exp.Anonymous(this="tupleElement" + CALL_MARK, expressions=[node.copy(), exp.Literal.string(name)])
    call.meta.update(node.meta)
    return call
