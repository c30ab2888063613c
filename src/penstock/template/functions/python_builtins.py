"""The functions of Python that templates have: len, list, min, max, int, float, range, sum and a few more.

In: a call. Out: a plain value. Invariant: each call is charged for what it makes before it makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.template.errors import Fault
from penstock.template.functions.call import FunctionCall, TemplateFunction
from penstock.template.operators import apply_operator, compare_values, elements, is_true
from penstock.template.parameter_types import FLOATS, READERS, WrongValue
from penstock.template.values import Placeholder, Value, describe_value


def _elements_of(call: FunctionCall, place: int = 0) -> Sequence[Value]:
    return elements(call.value(place, "x"), call.frame, call.offset)


def _convert_number(call: FunctionCall, of: str) -> Value:
    value = call.value(0, "x")
    if isinstance(value, Placeholder):
        return 0
    if isinstance(value, (int, float)) and value - value == 0:
        return int(value) if of == "Int256" else float(value)
    try:
        if isinstance(value, str):
            return READERS[of](value.strip())
    except WrongValue:
        pass
    shown = repr(value[:60]) if isinstance(value, str) else describe_value(value)
    raise call.fault("invalid-parameter", f"`{call.name}`: {shown} is no number")


def _str(call: FunctionCall) -> Value:
    value = call.value(0, "x")
    if isinstance(value, (str, Placeholder, bool)):
        return str(value) if isinstance(value, bool) else value
    if isinstance(value, (int, float)):
        return str(int(value)) if isinstance(value, int) else repr(float(value))
    raise call.fault("template-type", f"`str` cannot take {describe_value(value)}")


def _extreme_function(sign: str) -> Callable[[FunctionCall], Value]:
    def run(call: FunctionCall) -> Value:
        values = call.given if len(call.given) > 1 else _elements_of(call)
        if not values:
            raise call.fault("template-value", f"`{call.name}` of nothing")
        best = values[0]
        for each in values[1:]:
            if compare_values(sign, each, best, call.frame, call.offset):
                best = each
        return best

    return run


def _sum(call: FunctionCall) -> Value:
    total: Value = 0
    for each in _elements_of(call):
        total = apply_operator("+", total, each, call.frame, call.offset)
    return total


def _range(call: FunctionCall) -> Value:
    bounds = [int(each) if isinstance(each, int) else None for each in call.given]
    if any(isinstance(each, Placeholder) for each in call.given):
        return [0]
    whole = [each for each in bounds if each is not None]
    if len(whole) != len(bounds) or (len(whole) == 3 and whole[2] == 0):
        raise call.fault("template-type", "`range` takes whole numbers", "convert them: `int(x)`")
    made = range(*whole)
    try:
        call.frame.charge(len(made), call.offset)
    except OverflowError:
        raise call.fault("template-limit", "the range is too long") from None
    return list(made)


def _sort_values(call: FunctionCall) -> Value:
    found = list(_elements_of(call))
    call.frame.charge(len(found) * 20, call.offset)
    numbers = [each for each in found if isinstance(each, (int, float))]
    texts = [each for each in found if isinstance(each, str)]
    backwards = is_true(call.value(1, "reverse", False))
    if len(numbers) == len(found):
        return [*sorted(numbers, reverse=backwards)]
    if len(texts) == len(found):
        return [*sorted(texts, reverse=backwards)]
    if any(isinstance(each, Placeholder) for each in found):
        return found
    raise call.fault("template-type", "`sorted` takes texts or numbers, not both")


def _zip(call: FunctionCall) -> Value:
    columns = [elements(each, call.frame, call.offset) for each in call.given]
    return [tuple(each) for each in zip(*columns, strict=False)]


def _round_number(call: FunctionCall) -> Value:
    value, digits = call.value(0, "x"), call.value(1, "digits")
    if isinstance(value, Placeholder):
        return 0
    if not isinstance(value, (int, float)) or not (digits is None or isinstance(digits, int)):
        raise call.fault("template-type", "`round` takes a number")
    try:
        return round(float(value), int(digits)) if digits is not None else round(value)
    except (ValueError, OverflowError):
        raise Fault("template-value", "the number is too large", call.offset) from None


def _abs(call: FunctionCall) -> Value:
    value = call.value(0, "x")
    if isinstance(value, (int, float)):
        return abs(int(value) if isinstance(value, int) else float(value))
    if isinstance(value, Placeholder):
        return 0
    raise call.fault("template-type", f"`abs` cannot take {describe_value(value)}")


def _enumerate(call: FunctionCall) -> Value:
    start = call.value(1, "start", 0)
    first = int(start) if isinstance(start, int) else 0
    return [(place, each) for place, each in enumerate(_elements_of(call), first)]


def _builtin(run: Callable[[FunctionCall], Value], *more: str, needed: int = 1) -> TemplateFunction:
    return TemplateFunction(run, ("x", *more), needed)


BUILTIN_FUNCTIONS: dict[str, TemplateFunction] = {
    "len": _builtin(lambda call: len(_elements_of(call))),
    "list": _builtin(lambda call: list(_elements_of(call)) if call.given else [], needed=0),
    "tuple": _builtin(lambda call: tuple(_elements_of(call)) if call.given else (), needed=0),
    "min": TemplateFunction(_extreme_function("<"), ("x",), most=50),
    "max": TemplateFunction(_extreme_function(">"), ("x",), most=50),
    "int": _builtin(lambda call: _convert_number(call, "Int256")),
    "float": _builtin(lambda call: _convert_number(call, FLOATS[1])),
    "str": _builtin(_str),
    "sum": _builtin(_sum),
    "abs": _builtin(_abs),
    "round": _builtin(_round_number, "digits"),
    "range": TemplateFunction(_range, ("x",), most=3),
    "enumerate": _builtin(_enumerate, "start"),
    "sorted": _builtin(_sort_values, "reverse"),
    "reversed": _builtin(lambda call: list(_elements_of(call))[::-1]),
    "zip": TemplateFunction(_zip, (), needed=0, most=10),
    "any": _builtin(lambda call: any(is_true(each) for each in _elements_of(call))),
    "all": _builtin(lambda call: all(is_true(each) for each in _elements_of(call))),
}
"""All of them, by name."""
