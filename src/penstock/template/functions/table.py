"""The table of all functions that a template may call, with those that belong to no family.

In: a call. Out: a value. Invariant: a name that is not in the table is a fault when the template is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.template.errors import Json, TemplateAbort
from penstock.template.functions.call import FunctionCall, TemplateFunction
from penstock.template.functions.date_differences import DATE_FUNCTIONS
from penstock.template.functions.python_builtins import BUILTIN_FUNCTIONS
from penstock.template.functions.sql_parts import SQL_PART_FUNCTIONS
from penstock.template.functions.typed_parameters import TYPED_FUNCTIONS
from penstock.template.operators import elements
from penstock.template.values import Placeholder, Sql, Value, describe_value, text_literal

_NOTHING = Sql("")
_TTLS: Mapping[str, int] = {"5s": 5, "1m": 60, "5m": 300, "30m": 1_800, "1h": 3_600}
"""Seconds."""
_MAX_DEPTH = 10


def _is_defined(call: FunctionCall) -> Value:
    value = call.value(0, "x")
    return value is not None and not isinstance(value, Placeholder)


def _split_to_array(call: FunctionCall) -> Value:
    value, separator = call.value(0, "x"), call.value(2, "separator", ",")
    given = value
    if value is None or isinstance(value, Placeholder):
        value = call.value(1, "default", "")
    if isinstance(given, Placeholder) and value == "":
        return [given]
    if isinstance(value, Sql) and value.items is not None:
        value = list(value.items)
    if isinstance(value, Placeholder) or isinstance(separator, Placeholder):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each.strip() if isinstance(each, str) else each for each in value]
    if not isinstance(value, str) or not isinstance(separator, str) or not separator:
        message = f"{call.shown}: {describe_value(value)} cannot be split"
        raise call.fault("invalid-parameter", message, "it takes a text, a default and a separator")
    call.frame.charge(len(value), call.offset)
    return [part.strip() for part in value.split(separator)]


def _enumerate_with_last(call: FunctionCall) -> Value:
    found = elements(call.value(0, "arr"), call.frame, call.offset)
    return [(place == len(found), each) for place, each in enumerate(found, 1)]


def _error(call: FunctionCall) -> Value:
    message = call.value(0, "s")
    shown = message if isinstance(message, str) else _message_text(_to_json(message, call, 0))
    return _abort(call, shown, {})


def _custom_error(call: FunctionCall) -> Value:
    found = _to_json(call.value(0, "s"), call, 0)
    body: dict[str, Json] = found if isinstance(found, dict) else {"error": found}
    said = body.get("error")
    return _abort(call, said if isinstance(said, str) else _message_text(found), body)


def _abort(call: FunctionCall, message: str, body: dict[str, Json]) -> Value:
    if call.frame.given.mode == "check":
        return _NOTHING
    code = call.value(1, "code", 400)
    status = int(code) if isinstance(code, int) and 400 <= code < 600 and call.name == "custom_error" else 400
    raise TemplateAbort(message, status, body, call.offset)


def _message_text(value: Json) -> str:
    return value if isinstance(value, str) else str(value)


def _to_json(value: Value, call: FunctionCall, depth: int) -> Json:
    if depth > _MAX_DEPTH:
        raise call.fault("template-value", "lists in lists, too deep")
    if isinstance(value, dict):
        return {str(key): _to_json(each, call, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(each, call, depth + 1) for each in value]
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    return value.text if isinstance(value, Sql) else None


def _secret(call: FunctionCall) -> Value:
    name, default, given = call.value(0, "x"), call.value(1, "default"), call.frame.given
    if not isinstance(name, str):
        raise call.fault("template-call", f"`{call.name}` takes the name of a secret, as a text")
    if given.mode == "deploy":
        message = f"`{call.name}` cannot be used in what is materialized: its SQL is kept, and the secret with it"
        raise call.fault("template-secret", message, "use it in an endpoint")
    if given.secrets is not None and name in given.secrets:
        return Sql(text_literal(given.secrets[name]))
    if default is not None:
        return default
    if given.mode == "check":
        return Placeholder(name)
    hint = f"set PENSTOCK_SECRET_{name[:60]} where the server runs, or give a default"
    raise call.fault("template-secret", f"there is no secret `{name[:60]}`", hint)


def _setting_function(check: Callable[[Value], str | None]) -> TemplateFunction:
    """A function for a ClickHouse setting: its value is checked and has no effect here."""

    def run(call: FunctionCall) -> Value:
        value = call.value(0, "x")
        wrong = None if isinstance(value, Placeholder) else check(value)
        if wrong is not None:
            raise call.fault("template-call", f"`{call.name}` takes {wrong}")
        return _NOTHING

    return TemplateFunction(run, ("x",))


def _check_number(value: Value) -> str | None:
    return None if isinstance(value, (int, str)) and str(value).strip().isdigit() else "a whole number"


def _cache_ttl(call: FunctionCall) -> Value:
    """For how long the answer of this call may be given again."""
    value = call.value(0, "x")
    if isinstance(value, Placeholder):
        return _NOTHING
    seconds = _TTLS.get(value) if isinstance(value, str) else None
    if seconds is None:
        raise call.fault("template-call", f"`{call.name}` takes one of {', '.join(_TTLS)}")
    call.frame.ttls.append(seconds)
    return _NOTHING


FUNCTIONS: dict[str, TemplateFunction] = {
    **BUILTIN_FUNCTIONS,
    **TYPED_FUNCTIONS,
    **SQL_PART_FUNCTIONS,
    **DATE_FUNCTIONS,
    "defined": TemplateFunction(_is_defined, ("x",), needed=0),
    "split_to_array": TemplateFunction(_split_to_array, ("x", "default", "separator")),
    "enumerate_with_last": TemplateFunction(_enumerate_with_last, ("arr",)),
    "error": TemplateFunction(_error, ("s", "code")),
    "custom_error": TemplateFunction(_custom_error, ("s", "code")),
    "tb_secret": TemplateFunction(_secret, ("x", "default")),
    "tb_var": TemplateFunction(_secret, ("x", "default")),
    "max_threads": _setting_function(_check_number),
    "cache_ttl": TemplateFunction(_cache_ttl, ("x",)),
    "backend_hint": _setting_function(lambda value: None),
    "activate": _setting_function(lambda value: None),
    "disable": _setting_function(lambda value: None),
}
"""All of them, by name."""
