"""The operators of template expressions.

In: values, and the frame that is charged. Out: values. Invariant: the possible size of a result is known and charged
before it is made; Python's own operators are only called on plain values.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

from penstock.template.errors import Fault
from penstock.template.render_frame import MAX_DIGITS, RenderFrame
from penstock.template.values import Placeholder, Sql, Value, describe_value

Number: TypeAlias = float
"""An int is one, too."""


def value_size(value: Value) -> int:
    """The size of a value: characters of a text, elements of a list; it is what operations are charged by."""
    if isinstance(value, Sql):
        return len(value.text)
    return len(value) if isinstance(value, (str, list, tuple, dict)) else 1


def is_true(value: Value) -> bool:
    """The truth of a value, as in Python; a placeholder is false."""
    if isinstance(value, Placeholder):
        return False
    return bool(value.text) if isinstance(value, Sql) else bool(value)


def apply_operator(symbol: str, left: Value, right: Value, frame: RenderFrame, offset: int) -> Value:
    """`+ - * / // %`. Raises Fault."""
    frame.charge(value_size(left) + value_size(right), offset)
    if isinstance(left, Placeholder) or isinstance(right, Placeholder):
        return left if isinstance(left, Placeholder) else right
    if symbol == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right
    if symbol == "+" and isinstance(left, list) and isinstance(right, list):
        return [*left, *right]
    if symbol == "*" and isinstance(left, (str, list)) and isinstance(right, int):
        frame.charge(len(left) * max(right, 0), offset)
        return left * right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _arithmetic(symbol, left, right, offset)
    message = f"`{symbol}` cannot be applied to {describe_value(left)} and {describe_value(right)}"
    raise Fault("template-type", message, offset, _type_hint(left, right))


def _type_hint(left: Value, right: Value) -> str | None:
    if left is None or right is None:
        return "give the parameter a type and a default: `Int32(x, 0)`"
    return "convert one of them: `int(x)`, `str(x)`" if isinstance(left, str) or isinstance(right, str) else None


_ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def _arithmetic(symbol: str, left: Number, right: Number, offset: int) -> Number:
    plain = [int(each) if isinstance(each, int) else float(each) for each in (left, right)]
    try:
        found = _ARITHMETIC[symbol](*plain)
    except ZeroDivisionError:
        raise Fault("template-value", "division by zero", offset) from None
    except OverflowError:
        raise Fault("template-value", "the number is too large", offset) from None
    return check_number(found, offset)


def check_number(value: Number, offset: int) -> Number:
    """Raises Fault for a number that no type can hold."""
    if isinstance(value, int) and value.bit_length() > MAX_DIGITS * 3:
        raise Fault("template-value", "the number is too large", offset)
    if isinstance(value, float) and not math.isfinite(value):
        raise Fault("template-value", "the number is too large", offset)
    return value


_ORDERINGS: dict[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare_values(symbol: str, left: Value, right: Value, frame: RenderFrame, offset: int) -> bool:
    """One comparison. A placeholder is equal to nothing. Raises Fault."""
    frame.charge(value_size(left) + value_size(right), offset)
    if symbol in ("==", "is"):
        return is_equal(left, right)
    if symbol in ("!=", "is not"):
        return not is_equal(left, right)
    if symbol in ("in", "not in"):
        return contains(right, left, offset) == (symbol == "in")
    if isinstance(left, Placeholder) or isinstance(right, Placeholder):
        return False
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _ORDERINGS[symbol](left, right)
    if isinstance(left, str) and isinstance(right, str):
        return _compare_texts(symbol, left, right)
    message = f"`{symbol}` cannot compare {describe_value(left)} with {describe_value(right)}"
    raise Fault("template-type", message, offset, _type_hint(left, right))


def _compare_texts(symbol: str, left: str, right: str) -> bool:
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[symbol]


def is_equal(left: Value, right: Value) -> bool:
    """Whether two values are equal; a placeholder equals none, an array its elements."""
    if isinstance(left, Placeholder) or isinstance(right, Placeholder):
        return False
    return _plain_elements(left) == _plain_elements(right)


def _plain_elements(value: Value) -> Value:
    return list(value.items) if isinstance(value, Sql) and value.items is not None else value


def contains(container: Value, value: Value, offset: int) -> bool:
    """`value in container`. Raises Fault."""
    if isinstance(container, Placeholder):
        return False
    if isinstance(container, str):
        if isinstance(value, Placeholder):
            return False
        if isinstance(value, str):
            return value in container
    elif isinstance(container, (list, tuple, dict)):
        return any(is_equal(each, value) for each in container)
    elif isinstance(container, Sql) and container.items is not None:
        return any(is_equal(each, value) for each in container.items)
    message = f"`in` cannot look for {describe_value(value)} in {describe_value(container)}"
    raise Fault("template-type", message, offset, "check `defined(x)` first" if container is None else None)


def elements(value: Value, frame: RenderFrame, offset: int) -> Sequence[Value]:
    """The elements that a loop iterates over. Raises Fault."""
    if isinstance(value, Placeholder):
        return (value, value)
    frame.charge(value_size(value), offset)
    if isinstance(value, Sql) and value.items is not None:
        return value.items
    if isinstance(value, str):
        return list(value)
    if isinstance(value, (list, tuple, dict)):
        return list(value)
    hint = "check `defined(x)` first" if value is None else None
    raise Fault("template-type", f"{describe_value(value)} cannot be looped over", offset, hint)


def get_item(value: Value, key: Value, offset: int) -> Value:
    """`value[key]`. Raises Fault."""
    if isinstance(value, Placeholder):
        return value
    if isinstance(value, Sql) and value.items is not None:
        value = value.items
    if isinstance(value, dict):
        found = next((each for name, each in value.items() if is_equal(name, key)), _MISSING)
        if found is not _MISSING:
            return found
        raise Fault("template-value", f"there is no key {str(key)[:60]!r}", offset, "use `.get(key, default)`")
    if isinstance(value, (str, list, tuple)) and isinstance(key, int):
        if -len(value) <= key < len(value):
            return value[key]
        message = f"there is no element {int(key)}: the length is {len(value)}"
        raise Fault("template-value", message, offset, "check `len(x)` first")
    message = f"{describe_value(value)} cannot be indexed by {describe_value(key)}"
    raise Fault("template-type", message, offset, "check `defined(x)` first" if value is None else None)


_MISSING = Sql("")


def slice_value(value: Value, low: Value, high: Value, step: Value, offset: int) -> Value:
    """`value[low:high:step]`. Raises Fault."""
    if isinstance(value, Placeholder):
        return value
    if isinstance(value, Sql) and value.items is not None:
        value = value.items
    bounds = [int(each) if isinstance(each, int) else None for each in (low, high, step)]
    wrong = [each for each in (low, high, step) if each is not None and not isinstance(each, int)]
    if wrong or bounds[2] == 0 or not isinstance(value, (str, list, tuple)):
        raise Fault("template-type", f"{describe_value(value)} cannot be sliced like this", offset)
    return value[slice(*bounds)]
