"""The functions of Python that templates have: len, list, min, max, int, float, range, sum and a few more.

In: a call. Out: a plain value. Called by functions. Invariant: each is charged by what it makes before it
makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.template.errors import Fault
from penstock.template.functions.call import Call, Function
from penstock.template.operators import binary, compare, elements, truth
from penstock.template.parameter_types import FLOATS, READERS, WrongValue
from penstock.template.values import Placeholder, Value, described


def _all(call: Call, place: int = 0) -> Sequence[Value]:
    return elements(call.value(place, "x"), call.frame, call.offset)


def _number(call: Call, of: str) -> Value:
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
    shown = repr(value[:60]) if isinstance(value, str) else described(value)
    raise call.fault("invalid-parameter", f"`{call.name}`: {shown} is no number")


def _str(call: Call) -> Value:
    value = call.value(0, "x")
    if isinstance(value, (str, Placeholder, bool)):
        return str(value) if isinstance(value, bool) else value
    if isinstance(value, (int, float)):
        return str(int(value)) if isinstance(value, int) else repr(float(value))
    raise call.fault("template-type", f"`str` cannot take {described(value)}")


def _extreme(sign: str) -> Callable[[Call], Value]:
    def run(call: Call) -> Value:
        values = call.given if len(call.given) > 1 else _all(call)
        if not values:
            raise call.fault("template-value", f"`{call.name}` of nothing")
        best = values[0]
        for each in values[1:]:
            if compare(sign, each, best, call.frame, call.offset):
                best = each
        return best

    return run


def _sum(call: Call) -> Value:
    total: Value = 0
    for each in _all(call):
        total = binary("+", total, each, call.frame, call.offset)
    return total


def _range(call: Call) -> Value:
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


def _sorted(call: Call) -> Value:
    found = list(_all(call))
    call.frame.charge(len(found) * 20, call.offset)
    numbers = [each for each in found if isinstance(each, (int, float))]
    texts = [each for each in found if isinstance(each, str)]
    backwards = truth(call.value(1, "reverse", False))
    if len(numbers) == len(found):
        return [*sorted(numbers, reverse=backwards)]
    if len(texts) == len(found):
        return [*sorted(texts, reverse=backwards)]
    if any(isinstance(each, Placeholder) for each in found):
        return found
    raise call.fault("template-type", "`sorted` takes texts or numbers, not both")


def _zip(call: Call) -> Value:
    columns = [elements(each, call.frame, call.offset) for each in call.given]
    return [tuple(each) for each in zip(*columns, strict=False)]


def _round(call: Call) -> Value:
    value, digits = call.value(0, "x"), call.value(1, "digits")
    if isinstance(value, Placeholder):
        return 0
    if not isinstance(value, (int, float)) or not (digits is None or isinstance(digits, int)):
        raise call.fault("template-type", "`round` takes a number")
    try:
        return round(float(value), int(digits)) if digits is not None else round(value)
    except (ValueError, OverflowError):
        raise Fault("template-value", "the number is too large", call.offset) from None


def _abs(call: Call) -> Value:
    value = call.value(0, "x")
    if isinstance(value, (int, float)):
        return abs(int(value) if isinstance(value, int) else float(value))
    if isinstance(value, Placeholder):
        return 0
    raise call.fault("template-type", f"`abs` cannot take {described(value)}")


def _enumerate(call: Call) -> Value:
    start = call.value(1, "start", 0)
    first = int(start) if isinstance(start, int) else 0
    return [(place, each) for place, each in enumerate(_all(call), first)]


def _of(run: Callable[[Call], Value], *more: str, needed: int = 1) -> Function:
    return Function(run, ("x", *more), needed)


PLAIN: dict[str, Function] = {
    "len": _of(lambda call: len(_all(call))),
    "list": _of(lambda call: list(_all(call)) if call.given else [], needed=0),
    "tuple": _of(lambda call: tuple(_all(call)) if call.given else (), needed=0),
    "min": Function(_extreme("<"), ("x",), most=50),
    "max": Function(_extreme(">"), ("x",), most=50),
    "int": _of(lambda call: _number(call, "Int256")),
    "float": _of(lambda call: _number(call, FLOATS[1])),
    "str": _of(_str),
    "sum": _of(_sum),
    "abs": _of(_abs),
    "round": _of(_round, "digits"),
    "range": Function(_range, ("x",), most=3),
    "enumerate": _of(_enumerate, "start"),
    "sorted": _of(_sorted, "reverse"),
    "reversed": _of(lambda call: list(_all(call))[::-1]),
    "zip": Function(_zip, (), needed=0, most=10),
    "any": _of(lambda call: any(truth(each) for each in _all(call))),
    "all": _of(lambda call: all(truth(each) for each in _all(call))),
}
"""All of them, by name."""
