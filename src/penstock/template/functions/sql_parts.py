"""The functions that make parts of SQL: column, columns, symbol, table, sql_and, sql_unescape.

In: a call. Out: `Sql`. Called by functions. Invariant: a name is always quoted, and an operator is one of a
closed list.
"""

from __future__ import annotations

import re

from penstock.errors import did_you_mean
from penstock.template.functions.call import Call, Function
from penstock.template.values import Placeholder, Sql, Unwritable, Value, described, literal, name_literal, text_literal

_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = {
    "in": "in", "not_in": "not in", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "not": "!=", "like": "like",
    "not_like": "not like", "ilike": "ilike", "not_ilike": "not ilike",
}  # fmt: skip


def _text(call: Call, value: Value) -> str:
    if isinstance(value, str):
        return value
    hint = f"give it a default: `{call.name}({call.subject or 'x'}, 'name')`" if value is None else None
    code = "missing-parameter" if value is None else "invalid-parameter"
    what = f"the {call.shown} is missing" if value is None and call.subject else f"{call.shown} is {described(value)}"
    raise call.fault(code, what if value is None else f"{what}, not a text", hint)


def _quoted(call: Call, name: str) -> str:
    """One name in back-quotes; double quotes in it are dropped."""
    try:
        return name_literal(name.replace('"', ""))
    except Unwritable as error:
        raise call.fault("invalid-parameter", f"{call.shown}: {error}") from None


def _dotted(call: Call, name: str) -> str:
    return ".".join(_quoted(call, part) for part in name.split("."))


def _given(call: Call) -> Value:
    value, default = call.value(0, "x"), call.value(1, "default")
    return default if value is None or isinstance(value, Placeholder) else value


def _column(call: Call) -> Value:
    value = _given(call)
    if value is None and isinstance(call.value(0, "x"), Placeholder):
        raise call.fault("missing-parameter", f"the {call.shown} needs a default", "it is checked with that column")
    return Sql(_dotted(call, _text(call, value)))


def _columns(call: Call) -> Value:
    value, function = _given(call), call.value(2, "fn")
    if value is None and isinstance(call.value(0, "x"), Placeholder):
        raise call.fault("missing-parameter", f"the {call.shown} needs a default", "it is checked with those columns")
    if isinstance(value, (list, tuple)):
        value = ",".join(_text(call, each) for each in value)
    names = [name.strip() for name in _text(call, value).split(",")]
    call.frame.charge(len(names) * 20, call.offset)
    if function is None:
        return Sql(",".join(_dotted(call, name) for name in names))
    if not isinstance(function, str) or not _FUNCTION.fullmatch(function):
        raise call.fault("template-call", "`fn` is the name of a function, as a text")
    return Sql(",".join(f"{function}({_dotted(call, name)}) as {_quoted(call, name)}" for name in names))


def _symbol(call: Call) -> Value:
    value = call.value(0, "x")
    return Sql("`placeholder`") if isinstance(value, Placeholder) else Sql(_quoted(call, _text(call, value)))


def _table(call: Call) -> Value:
    value = call.value(0, "x")
    return Sql("`placeholder`") if isinstance(value, Placeholder) else Sql(_dotted(call, _text(call, value)))


def _sql_and(call: Call) -> Value:
    parts = [_condition(call, name, value) for name, value in call.named.items() if value is not None]
    return Sql(" and ".join(parts) or "1")


def _condition(call: Call, key: str, value: Value) -> str:
    name, mark, word = key.rpartition("__")
    if not mark:
        name, word = key, "="
    elif word not in _OPERATORS:
        raise call.fault("template-call", f"`sql_and` has no operator `{word[:40]}`", did_you_mean(word, _OPERATORS))
    try:
        return f"{_quoted(call, name)} {_OPERATORS.get(word, '=')} {literal(value)}"
    except Unwritable as error:
        raise call.fault("template-value", f"`{key}` cannot be written into SQL: it is {error}") from None


def _unescape(call: Call) -> Value:
    value = call.value(0, "x")
    if isinstance(value, Placeholder):
        return value
    return Sql(text_literal(_text(call, value)))


SQL_PARTS: dict[str, Function] = {
    "column": Function(_column, ("x", "default")),
    "columns": Function(_columns, ("x", "default", "fn")),
    **dict.fromkeys(("symbol", "Symbol", "Column"), Function(_symbol, ("x", "quote"), most=1)),
    **dict.fromkeys(("table", "TABLE"), Function(_table, ("x", "quote"), most=1)),
    "sql_and": Function(_sql_and, (), needed=0, open=True),
    "sql_unescape": Function(_unescape, ("x", "what")),
}
"""All of them, by name."""
