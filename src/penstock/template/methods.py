"""The methods that a template may call on its values: a closed list.

In: a value, the name of a method and arguments. Out: a value. Invariant: a method that is not in the table is a fault
when the template is read; no method changes a list or an object in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from penstock.template.errors import Fault
from penstock.template.operators import elements, is_equal, value_size
from penstock.template.render_frame import RenderFrame
from penstock.template.values import Placeholder, Sql, Value, describe_value

Method: TypeAlias = Callable[[Value, Sequence[Value]], Value]


class _WrongArguments(TypeError):
    """The number or types of the arguments are wrong."""


def _check_texts(arguments: Sequence[Value], low: int, high: int) -> list[str]:
    found = [each for each in arguments if isinstance(each, str)]
    if len(found) != len(arguments) or not low <= len(found) <= high:
        raise _WrongArguments
    return found


def _text_method(change: Callable[[str, list[str]], Value], low: int, high: int) -> Method:
    def method(value: Value, arguments: Sequence[Value]) -> Value:
        if not isinstance(value, str):
            raise _WrongArguments
        return change(value, _check_texts(arguments, low, high))

    return method


def _split(value: Value, arguments: Sequence[Value]) -> Value:
    most = arguments[1] if len(arguments) == 2 else -1
    separator = arguments[0] if arguments else None
    if not isinstance(value, str) or not isinstance(most, int) or len(arguments) > 2 or separator == "":
        raise _WrongArguments
    if separator is not None and not isinstance(separator, str):
        raise _WrongArguments
    return list(value.split(separator, int(most)))


def _get(value: Value, arguments: Sequence[Value]) -> Value:
    if not isinstance(value, dict) or not 1 <= len(arguments) <= 2:
        raise _WrongArguments
    default = arguments[1] if len(arguments) == 2 else None
    return next((each for key, each in value.items() if is_equal(key, arguments[0])), default)


def _object_method(take: Callable[[dict[Value, Value]], list[Value]]) -> Method:
    def method(value: Value, arguments: Sequence[Value]) -> Value:
        if not isinstance(value, dict) or arguments:
            raise _WrongArguments
        return take(value)

    return method


def _join(value: Value, arguments: Sequence[Value]) -> Value:
    parts = arguments[0] if len(arguments) == 1 else None
    if isinstance(parts, Placeholder):
        return parts
    parts = list(parts.items) if isinstance(parts, Sql) and parts.items is not None else parts
    if isinstance(parts, str):
        parts = list(parts)
    if not isinstance(value, str) or not isinstance(parts, (list, tuple)):
        raise _WrongArguments
    texts = [each for each in parts if isinstance(each, str)]
    if len(texts) != len(parts):
        placeholder = next((each for each in parts if isinstance(each, Placeholder)), None)
        if placeholder is None:
            raise _WrongArguments
        return placeholder
    return value.join(texts)


def _text_predicate(test: Callable[[str, str], bool]) -> Method:
    return _text_method(lambda text, given: test(text, given[0]), 1, 1)


METHODS: dict[str, Method] = {
    "split": _split,
    "join": _join,
    "get": _get,
    "replace": _text_method(lambda text, given: text.replace(given[0], given[1]), 2, 2),
    "startswith": _text_predicate(str.startswith),
    "endswith": _text_predicate(str.endswith),
    "lower": _text_method(lambda text, given: text.lower(), 0, 0),
    "upper": _text_method(lambda text, given: text.upper(), 0, 0),
    "capitalize": _text_method(lambda text, given: text.capitalize(), 0, 0),
    "title": _text_method(lambda text, given: text.title(), 0, 0),
    "strip": _text_method(lambda text, given: text.strip(*given), 0, 1),
    "lstrip": _text_method(lambda text, given: text.lstrip(*given), 0, 1),
    "rstrip": _text_method(lambda text, given: text.rstrip(*given), 0, 1),
    "isdigit": _text_method(lambda text, given: text.isdigit(), 0, 0),
    "isalpha": _text_method(lambda text, given: text.isalpha(), 0, 0),
    "isalnum": _text_method(lambda text, given: text.isalnum(), 0, 0),
    "find": _text_method(lambda text, given: text.find(given[0]), 1, 1),
    "count": _text_method(lambda text, given: text.count(given[0]), 1, 1),
    "items": _object_method(lambda found: list(found.items())),
    "keys": _object_method(list),
    "values": _object_method(lambda found: list(found.values())),
}
"""All of them."""

_PLACEHOLDER_RESULTS = {"startswith": False, "endswith": False, "isdigit": False, "isalpha": False, "isalnum": False}


def call_method(value: Value, name: str, arguments: Sequence[Value], frame: RenderFrame, offset: int) -> Value:
    """The value of `value.name(…)`. Raises Fault."""
    frame.charge(value_size(value) + sum(map(value_size, arguments)), offset)
    if isinstance(value, Placeholder):
        return _placeholder_result(value, name)
    if any(isinstance(each, Placeholder) for each in arguments) and name != "get":
        return next(each for each in arguments if isinstance(each, Placeholder))
    frame.charge(_result_size_limit(value, name, arguments, frame, offset), offset)
    try:
        return METHODS[name](value, arguments)
    except _WrongArguments:
        message = f"`.{name}` cannot be called with these arguments on {describe_value(value)}"
        hint = "check `defined(x)` first" if value is None else None
        raise Fault("template-type", message, offset, hint) from None


def _placeholder_result(value: Placeholder, name: str) -> Value:
    if name in ("split", "items", "keys", "values"):
        return [value, value] if name != "items" else [(value, value)]
    return _PLACEHOLDER_RESULTS.get(name, value)


def _result_size_limit(value: Value, name: str, arguments: Sequence[Value], frame: RenderFrame, offset: int) -> int:
    """An upper bound for the length of the result of a method that may return more than it receives."""
    if name == "replace" and len(arguments) == 2:
        return (value_size(value) + 1) * value_size(arguments[1])
    if name == "join" and len(arguments) == 1 and isinstance(arguments[0], (list, tuple, str)):
        parts = elements(arguments[0], frame, offset)
        return sum(map(value_size, parts)) + value_size(value) * len(parts)
    return value_size(value)
