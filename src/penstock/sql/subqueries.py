"""Subqueries in expressions: scalar, IN, EXISTS.

In: Subquery, In and Exists nodes. Out: `Typed`. Called through HANDLERS and special_forms. Invariant: a
NULL in the set of IN matches nothing and makes nothing NULL, as in ClickHouse.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.comparisons import comparable
from penstock.sql.constants import adapt
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, is_null, null_if_any
from penstock.sql.value_types import quoted

_UINT8 = t.Int(8, signed=False)


def scalar(tr: Translator, node: exp.Expr) -> Typed:
    """`(SELECT …)` as a value: of one column, NULL where there is no row."""
    sql, columns = tr.subquery(_query(tr, node))
    if len(columns) != 1:
        message = f"a subquery as a value gives one column, this gives {len(columns)}"
        raise tr.refused(node, "wrong-column-count", message)
    value = columns[0][1]
    of = null_if_any(value.type, [Typed("", t.Nullable(_UINT8), "INT")])
    return Typed(f"({sql})", of, value.spark)


def _query(tr: Translator, node: exp.Expr) -> exp.Query:
    inner = node.this if isinstance(node, exp.Subquery) else node
    if not isinstance(inner, exp.Query):
        raise tr.refused(node, "unsupported-syntax", "expected a SELECT in these brackets")
    return inner


def exists(tr: Translator, node: exp.Expr) -> Typed:
    sql, _ = tr.subquery(_query(tr, node.this))
    return Typed(f"EXISTS ({sql})", _UINT8, "BOOLEAN")


def membership(tr: Translator, node: exp.Expr) -> Typed:
    """`x IN (…)`, of a list, a tuple, an array or a SELECT."""
    value = tr.translate(node.this)
    query = node.args.get("query")
    if query is not None:
        return _in_query(tr, node, value, query)
    elements = node.expressions
    given = node.args.get("field")
    if given is not None:
        elements = _elements(tr, given)
    return _in_list(tr, node, value, elements)


def membership_call(tr: Translator, node: exp.Anonymous) -> Typed:
    """in(x, set) and notIn(x, set)."""
    _, arguments = call_parts(node)
    if len(arguments) != 2:
        raise tr.refused(node, "wrong-argument-count", f"`{call_name(node)}` takes 2 arguments")
    found = membership(tr, exp.In(this=arguments[0], field=arguments[1]))
    return found if call_name(node) == "in" else Typed(f"(NOT {found.sql})", found.type, found.spark)


def _elements(tr: Translator, node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, (exp.Tuple, exp.Array)):
        return list(node.expressions)
    if call_name(node) in ("tuple", "array") and isinstance(node, exp.Anonymous):
        return call_parts(node)[1]
    if isinstance(node, exp.Column) and not node.table and node.name in tr.scope.aliases:
        return _elements(tr, tr.scope.aliases[node.name].unalias())
    if isinstance(node, exp.Paren):
        return [node.this]
    if isinstance(node, exp.Literal):
        return [node]
    hint = "a list in brackets, or `IN (SELECT … FROM …)`"
    raise tr.refused(node, "unsupported-syntax", "expected a list or a SELECT after IN", hint)


def _in_list(tr: Translator, node: exp.Expr, value: Typed, elements: list[exp.Expr]) -> Typed:
    shown = []
    left = value.sql
    for element in elements:
        _, item = adapt(tr, element, value, tr.translate(element))
        if is_null(item):
            continue
        left, right = comparable(tr, element, value, item)
        shown.append((left, right))
    if not shown:
        return Typed(f"if({value.sql} IS NULL, NULL, false)", null_if_any(_UINT8, [value]), "BOOLEAN")
    lefts = list(dict.fromkeys(left for left, _ in shown))
    groups = (f"{left} IN ({', '.join(right for other, right in shown if other == left)})" for left in lefts)
    return Typed(f"({' OR '.join(groups)})", null_if_any(_UINT8, [value]), "BOOLEAN")


def _in_query(tr: Translator, node: exp.Expr, value: Typed, query: exp.Expr) -> Typed:
    sql, columns = tr.subquery(_query(tr, query))
    width = len(value.bare.fields) if isinstance(value.bare, t.Tuple) else 1
    if len(columns) != width:
        message = f"the SELECT after IN gives {len(columns)} columns, {width} are compared"
        raise tr.refused(query, "wrong-column-count", message)
    of = null_if_any(_UINT8, [value])
    if width > 1:
        fields = value.bare.fields if isinstance(value.bare, t.Tuple) else ()
        lefts = ", ".join(f"{value.sql}.{quoted(name or f'_{place}')}" for place, (name, _) in enumerate(fields, 1))
        return Typed(f"(({lefts}) IN ({sql}))", of, "BOOLEAN")
    name, column = columns[0]
    left, right = comparable(tr, node, value, Typed(f"s.{quoted(name)}", column.type, column.spark))
    rows = f"SELECT {right} AS v FROM ({sql}) AS s" + (
        f" WHERE s.{quoted(name)} IS NOT NULL" if column.nullable else ""
    )
    return Typed(f"({left} IN ({rows}))", of, "BOOLEAN")
