"""Functions that make parts of SQL: column, columns, symbol, table, sql_and, sql_unescape.

In: a call. Out: `Sql`. Invariant: a name is always quoted, and an operator is one of a closed list.
"""

from __future__ import annotations

import re

from penstock.errors import did_you_mean
from penstock.template.functions.call import FunctionCall, TemplateFunction
from penstock.template.values import (
    NO_VALUE,
    Placeholder,
    Sql,
    UnwritableValue,
    Value,
    describe_value,
    literal,
    name_literal,
    text_literal,
)

_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = {
    "in": "in",
    "not_in": "not in",
    "gt": ">",
    "gte": ">=",
    "lt": "<",
    "lte": "<=",
    "not": "!=",
    "like": "like",
    "not_like": "not like",
    "ilike": "ilike",
    "not_ilike": "not ilike",
}


def _require_text(call: FunctionCall, value: Value) -> str:
    if isinstance(value, str):
        return value
    hint = f"give it a default: `{call.name}({call.subject or 'x'}, 'name')`" if value is None else None
    code = "missing-parameter" if value is None else "invalid-parameter"
    what = (
        f"the {call.shown} is missing" if value is None and call.subject else f"{call.shown} is {describe_value(value)}"
    )
    raise call.fault(code, what if value is None else f"{what}, not a text", hint)


def _quote_name(call: FunctionCall, name: str) -> str:
    """One name in back-quotes; double quotes in it are dropped."""
    try:
        return name_literal(name.replace('"', ""))
    except UnwritableValue as error:
        raise call.fault("invalid-parameter", f"{call.shown}: {error}") from None


def _quote_dotted_name(call: FunctionCall, name: str) -> str:
    return ".".join(_quote_name(call, part) for part in name.split("."))


def _value_or_default(call: FunctionCall) -> Value:
    value, default = call.value(0, "x"), call.value(1, "default")
    return default if value is None or _placeholder_of(call) is not None else value


def _placeholder_of(call: FunctionCall) -> Placeholder | None:
    """What stands in a check for the name that a call gives: nothing, or a text that says nothing."""
    value = call.value(0, "x")
    if call.frame.given.mode == "check" and value == NO_VALUE:
        return Placeholder(call.subject or NO_VALUE)
    return value if isinstance(value, Placeholder) else None


def _column(call: FunctionCall) -> Value:
    value, placeholder = _value_or_default(call), _placeholder_of(call)
    if placeholder is not None and not isinstance(call.value(1, "default"), str):
        return Sql(call.frame.stand_in("column", placeholder))
    return Sql(_quote_dotted_name(call, _require_text(call, value)))


def _columns(call: FunctionCall) -> Value:
    value, function, placeholder = _value_or_default(call), call.value(2, "fn"), _placeholder_of(call)
    if placeholder is not None and not isinstance(call.value(1, "default"), str):
        name = call.frame.stand_in("column", placeholder)
        return Sql(name if function is None else f"{function}({name}) as {name}")
    if isinstance(value, (list, tuple)):
        value = ",".join(_require_text(call, each) for each in value)
    names = [name.strip() for name in _require_text(call, value).split(",")]
    call.frame.charge(len(names) * 20, call.offset)
    if function is None:
        return Sql(",".join(_quote_dotted_name(call, name) for name in names))
    if not isinstance(function, str) or not _FUNCTION.fullmatch(function):
        raise call.fault("template-call", "`fn` is the name of a function, as a text")
    return Sql(",".join(f"{function}({_quote_dotted_name(call, name)}) as {_quote_name(call, name)}" for name in names))


def _symbol(call: FunctionCall) -> Value:
    placeholder = _placeholder_of(call)
    if placeholder is not None:
        return Sql(call.frame.stand_in("name", placeholder))
    return Sql(_quote_name(call, _require_text(call, call.value(0, "x"))))


def _table(call: FunctionCall) -> Value:
    placeholder = _placeholder_of(call)
    if placeholder is not None:
        return Sql(call.frame.stand_in("table", placeholder))
    return Sql(_quote_dotted_name(call, _require_text(call, call.value(0, "x"))))


def _sql_and(call: FunctionCall) -> Value:
    parts = [_condition(call, name, value) for name, value in call.named.items() if value is not None]
    return Sql(" and ".join(parts) or "1")


def _condition(call: FunctionCall, key: str, value: Value) -> str:
    name, mark, word = key.rpartition("__")
    if not mark:
        name, word = key, "="
    elif word not in _OPERATORS:
        raise call.fault("template-call", f"`sql_and` has no operator `{word[:40]}`", did_you_mean(word, _OPERATORS))
    try:
        written = call.frame.stand_in("value", value) if isinstance(value, Placeholder) else literal(value)
        return f"{_quote_name(call, name)} {_OPERATORS.get(word, '=')} {written}"
    except UnwritableValue as error:
        raise call.fault("template-value", f"`{key}` cannot be written into SQL: it is {error}") from None


def _unescape(call: FunctionCall) -> Value:
    value = call.value(0, "x")
    if isinstance(value, Placeholder):
        return value
    return Sql(text_literal(_require_text(call, value)))


SQL_PART_FUNCTIONS: dict[str, TemplateFunction] = {
    "column": TemplateFunction(_column, ("x", "default")),
    "columns": TemplateFunction(_columns, ("x", "default", "fn")),
    **dict.fromkeys(("symbol", "Symbol", "Column"), TemplateFunction(_symbol, ("x", "quote"), most=1)),
    **dict.fromkeys(("table", "TABLE"), TemplateFunction(_table, ("x", "quote"), most=1)),
    "sql_and": TemplateFunction(_sql_and, (), needed=0, open=True),
    "sql_unescape": TemplateFunction(_unescape, ("x", "what")),
}
"""All of them, by name."""
