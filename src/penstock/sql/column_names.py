"""The name ClickHouse gives to a column without an alias: `count()`, `plus(a, 1)`, `toDate(t)`.

In: a node. Out: a name. Called by passes.select_list. Invariant: a plain column keeps its own name.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.tree import call_name, call_parts

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


def _shown(node: exp.Expr) -> str:
    """An expression inside another, as ClickHouse writes it."""
    match node:
        case exp.Column():
            return f"{node.table}.{node.name}" if node.table else node.name
        case exp.Alias() | exp.Paren():
            return _shown(node.this)
        case exp.Boolean():
            return "true" if node.this else "false"
        case exp.Literal():
            return f"'{node.name}'" if node.args.get("is_string") else node.name
        case exp.Not():
            return f"not({_shown(node.this)})"
        case exp.Neg():
            return f"-{node.this.name}" if isinstance(node.this, exp.Literal) else f"negate({_shown(node.this)})"
        case exp.Anonymous():
            return _of_call(node)
    if type(node) in _OPERATORS:
        return f"{_OPERATORS[type(node)]}({_shown(node.this)}, {_shown(node.expression)})"
    return node.sql(dialect="clickhouse").replace("@", "")


def _of_call(node: exp.Anonymous) -> str:
    parameters, arguments = call_parts(node)
    given = f"({', '.join(map(_shown, parameters))})" if parameters else ""
    name = call_name(node)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        name, arguments = f"{name}Distinct", list(arguments[0].expressions)
    return f"{name}{given}({', '.join(map(_shown, arguments))})"
