"""The methods that a template may call on its values: a closed list.

In: a value, the name of a method and arguments. Out: a value. Called by expressions. Invariant: a method
that is not in the table is a fault when the template is read; none of them changes a list or an object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from penstock.template.errors import Fault
from penstock.template.frame import Frame
from penstock.template.operators import elements, equal, size
from penstock.template.values import Placeholder, Sql, Value, described

Method: TypeAlias = Callable[[Value, Sequence[Value]], Value]


class _Wrong(TypeError):
    """The arguments do not do."""


def _texts(arguments: Sequence[Value], low: int, high: int) -> list[str]:
    found = [each for each in arguments if isinstance(each, str)]
    if len(found) != len(arguments) or not low <= len(found) <= high:
        raise _Wrong
    return found


def _on_text(change: Callable[[str, list[str]], Value], low: int, high: int) -> Method:
    def method(value: Value, arguments: Sequence[Value]) -> Value:
        if not isinstance(value, str):
            raise _Wrong
        return change(value, _texts(arguments, low, high))

    return method


def _split(value: Value, arguments: Sequence[Value]) -> Value:
    most = arguments[1] if len(arguments) == 2 else -1
    separator = arguments[0] if arguments else None
    if not isinstance(value, str) or not isinstance(most, int) or len(arguments) > 2 or separator == "":
        raise _Wrong
    if separator is not None and not isinstance(separator, str):
        raise _Wrong
    return list(value.split(separator, int(most)))


def _get(value: Value, arguments: Sequence[Value]) -> Value:
    if not isinstance(value, dict) or not 1 <= len(arguments) <= 2:
        raise _Wrong
    default = arguments[1] if len(arguments) == 2 else None
    return next((each for key, each in value.items() if equal(key, arguments[0])), default)


def _of_object(take: Callable[[dict[Value, Value]], list[Value]]) -> Method:
    def method(value: Value, arguments: Sequence[Value]) -> Value:
        if not isinstance(value, dict) or arguments:
            raise _Wrong
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
        raise _Wrong
    texts = [each for each in parts if isinstance(each, str)]
    if len(texts) != len(parts):
        placeholder = next((each for each in parts if isinstance(each, Placeholder)), None)
        if placeholder is None:
            raise _Wrong
        return placeholder
    return value.join(texts)


def _either(test: Callable[[str, str], bool]) -> Method:
    return _on_text(lambda text, given: test(text, given[0]), 1, 1)


METHODS: dict[str, Method] = {
    "split": _split,
    "join": _join,
    "get": _get,
    "replace": _on_text(lambda text, given: text.replace(given[0], given[1]), 2, 2),
    "startswith": _either(str.startswith),
    "endswith": _either(str.endswith),
    "lower": _on_text(lambda text, given: text.lower(), 0, 0),
    "upper": _on_text(lambda text, given: text.upper(), 0, 0),
    "capitalize": _on_text(lambda text, given: text.capitalize(), 0, 0),
    "title": _on_text(lambda text, given: text.title(), 0, 0),
    "strip": _on_text(lambda text, given: text.strip(*given), 0, 1),
    "lstrip": _on_text(lambda text, given: text.lstrip(*given), 0, 1),
    "rstrip": _on_text(lambda text, given: text.rstrip(*given), 0, 1),
    "isdigit": _on_text(lambda text, given: text.isdigit(), 0, 0),
    "isalpha": _on_text(lambda text, given: text.isalpha(), 0, 0),
    "isalnum": _on_text(lambda text, given: text.isalnum(), 0, 0),
    "find": _on_text(lambda text, given: text.find(given[0]), 1, 1),
    "count": _on_text(lambda text, given: text.count(given[0]), 1, 1),
    "items": _of_object(lambda found: list(found.items())),
    "keys": _of_object(list),
    "values": _of_object(lambda found: list(found.values())),
}
"""All of them."""

_OF_PLACEHOLDERS = {"startswith": False, "endswith": False, "isdigit": False, "isalpha": False, "isalnum": False}


def call_method(value: Value, name: str, arguments: Sequence[Value], frame: Frame, offset: int) -> Value:
    """`value.name(…)`. Raises Fault."""
    frame.charge(size(value) + sum(map(size, arguments)), offset)
    if isinstance(value, Placeholder):
        return _of_placeholder(value, name)
    if any(isinstance(each, Placeholder) for each in arguments) and name != "get":
        return next(each for each in arguments if isinstance(each, Placeholder))
    frame.charge(_made(value, name, arguments, frame, offset), offset)
    try:
        return METHODS[name](value, arguments)
    except _Wrong:
        message = f"`.{name}` cannot be called so on {described(value)}"
        hint = "ask `defined(x)` first" if value is None else None
        raise Fault("template-type", message, offset, hint) from None


def _of_placeholder(value: Placeholder, name: str) -> Value:
    if name in ("split", "items", "keys", "values"):
        return [value, value] if name != "items" else [(value, value)]
    return _OF_PLACEHOLDERS.get(name, value)


def _made(value: Value, name: str, arguments: Sequence[Value], frame: Frame, offset: int) -> int:
    """How long the result of a method can be that makes more than it gets."""
    if name == "replace" and len(arguments) == 2:
        return (size(value) + 1) * size(arguments[1])
    if name == "join" and len(arguments) == 1 and isinstance(arguments[0], (list, tuple, str)):
        parts = elements(arguments[0], frame, offset)
        return sum(map(size, parts)) + size(value) * len(parts)
    return size(value)
