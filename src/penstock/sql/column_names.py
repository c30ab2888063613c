"""The name ClickHouse gives to a column without an alias: `count()`, `plus(a, 1)`, `toDate(t)`.

In: a node. Out: a name. Called by passes.select_list. Invariant: a plain column keeps its own name.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.digits import whole_number
from penstock.sql.as_if import as_if
from penstock.sql.tokens import CALL_MARK
from penstock.sql.tree import call_name, call_parts
from penstock.sql.window_names import window_name

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "plus", exp.Sub: "minus", exp.Mul: "multiply", exp.Div: "divide", exp.Mod: "modulo", exp.IntDiv: "intDiv",
    exp.EQ: "equals", exp.NEQ: "notEquals", exp.LT: "less", exp.LTE: "lessOrEquals", exp.GT: "greater",
    exp.GTE: "greaterOrEquals", exp.And: "and", exp.Or: "or", exp.Like: "like", exp.ILike: "ilike", exp.DPipe: "concat",
}  # fmt: skip


def column_name(node: exp.Expr) -> str:
    """The name of a column of the result."""
    match node:
        case exp.Column():
            return node.name
        case exp.Alias():
            return node.alias
        case exp.Paren():
            return column_name(node.this)
        case _:
            return _shown(node)


def _shown(node: exp.Expr | None) -> str:
    """An expression inside another, as ClickHouse writes it; nothing where the parser missed one."""
    if node is None:
        return ""
    if type(node) in _OPERATORS:
        return f"{_OPERATORS[type(node)]}({_shown(node.this)}, {_shown(node.expression)})"
    writer = _WRITERS.get(type(node))
    return writer(node) if writer is not None else node.sql(dialect="clickhouse").replace(CALL_MARK, "")


def _literal(node: exp.Expr) -> str:
    return f"'{node.name}'" if node.args.get("is_string") else node.name


def _negated(node: exp.Expr) -> str:
    return f"-{node.this.name}" if isinstance(node.this, exp.Literal) else f"negate({_shown(node.this)})"


def _place(node: exp.Expr) -> str:
    """A place in an array; the parser has taken 1 off a literal one."""
    negative = isinstance(node, exp.Neg)
    literal = node.this if negative else node
    number = whole_number(literal.name) if isinstance(literal, exp.Literal) else None
    if number is None or (literal.args.get("is_string") and not negative):
        return _shown(node)
    return str(1 - number if negative else number + 1)


def _of_cast(node: exp.Expr) -> str:
    to = node.args["to"]
    name = to.name if isinstance(to, exp.Literal) else to.sql(dialect="clickhouse").replace("DATE", "Date")
    escaped = name.replace("'", "\\'")
    return f"CAST({_shown(node.this)}, '{escaped}')"


def _of_call(node: exp.Expr) -> str:
    parameters, arguments = call_parts(node)
    given = f"({', '.join(map(_shown, parameters))})" if parameters else ""
    name = call_name(node)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        name, arguments = f"{name}Distinct", list(arguments[0].expressions)
    return f"{name}{given}({', '.join(map(_shown, arguments))})"


_WRITERS: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Column: lambda node: f"{node.text('table')}.{node.name}" if node.text("table") else node.name,
    exp.Alias: lambda node: _shown(node.this),
    exp.Paren: lambda node: _shown(node.this),
    exp.Boolean: lambda node: "true" if node.this else "false",
    exp.Is: lambda node: f"isNull({_shown(node.this)})",
    exp.Interval: lambda node: f"toInterval{node.text('unit').capitalize()}({node.name})",
    exp.Bracket: lambda node: f"arrayElement({_shown(node.this)}, {_place(node.expressions[0])})",
    exp.Cast: _of_cast,
    exp.CastToStrType: _of_cast,
    exp.Literal: _literal,
    exp.Not: lambda node: f"not({_shown(node.this)})",
    exp.Neg: _negated,
    exp.Anonymous: _of_call,
    exp.Filter: lambda node: _shown(as_if(node)),
    exp.RespectNulls: lambda node: _shown(node.this),
    exp.IgnoreNulls: lambda node: _shown(node.this),
    exp.Window: lambda node: window_name(node, _shown),
}
