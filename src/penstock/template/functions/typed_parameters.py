"""The functions that give a parameter its type: String, Int32, Date, Boolean, Array, JSON and the others.

In: a call. Out: the parameter's value, its default, or nothing. Called by functions. Invariant: a value of the
wrong type or outside its enum never gets further, and the fault names the parameter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from penstock.errors import did_you_mean
from penstock.template.errors import Fault
from penstock.template.functions.call import Call, Function
from penstock.template.operators import equal
from penstock.template.parameter_types import READERS, WrongValue, placeholder, typed
from penstock.template.values import Placeholder, Sql, Value, described, literal

ABOUT = ("defined", "required", "description", "enum", "example", "format")
"""What is said of a parameter, after its name and default."""


def _absent(value: Value) -> bool:
    return value is None or isinstance(value, Placeholder)


def _missing(call: Call) -> Fault:
    message = f"the {call.shown} is missing" if call.subject else f"{call.shown} has no value"
    hint = None
    if call.frame.given.mode == "deploy":
        hint = "what runs without a request needs a default for each parameter"
    return call.fault("missing-parameter", message, hint)


def text_of(value: Value, call: Call) -> str:
    """A value as the text that a type reads. Raises Fault."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    raise call.fault("invalid-parameter", f"{call.shown}: {call.name} cannot be {described(value)}")


def _read(of: str, value: Value, call: Call, code: str) -> Value:
    text = text_of(value, call)
    try:
        return READERS[of](text)
    except WrongValue as wrong:
        what = f"the default of {call.shown}" if code == "invalid-default" else call.shown
        raise call.fault(code, f"{what}: {text[:60]!r} is no {of}", f"expected {wrong}") from None


def _check_enum(of: str, value: Value, call: Call) -> None:
    allowed = call.value(2 + ABOUT.index("enum") + (call.name == "Array"), "enum")
    if not isinstance(allowed, (list, tuple)) or not allowed or call.frame.given.mode == "check":
        return
    known = [_read(of, each, call, "invalid-default") for each in allowed if not _absent(each)]
    if not any(equal(each, value) for each in known):
        shown = ", ".join(str(each)[:40] for each in known[:20])
        message = f"{call.shown}: {str(value)[:60]!r} is not one of its values"
        raise call.fault("invalid-parameter", message, f"one of: {shown}")


def _scalar(of: str) -> Function:
    def run(call: Call) -> Value:
        value, default = call.value(0, "x"), call.value(1, "default")
        if not _absent(value):
            found = _read(of, value, call, "invalid-parameter")
            _check_enum(of, found, call)
            return typed(of, found)
        if not _absent(default):
            return typed(of, _read(of, default, call, "invalid-default"))
        if call.value(2, "defined") is False:
            return None
        if of in ("Boolean", "bool"):
            return 0
        if call.frame.given.mode != "check":
            raise _missing(call)
        return typed(of, READERS[of](_stand_in(of, call)))

    return Function(run, ("x", "default", *ABOUT))


def _stand_in(of: str, call: Call) -> str:
    """What stands for a value in a check: the parameter's example where that is one."""
    call.frame.invented = True
    example = call.named.get("example")
    if isinstance(example, (str, int, float)) and not isinstance(example, bool):
        try:
            READERS[of](str(example))
            return str(example)
        except WrongValue:
            pass
    return placeholder(of)


def _array(call: Call) -> Value:
    value, default = call.value(0, "x"), call.value(2, "default")
    of = call.value(1, "_type", "String")
    if not isinstance(of, str) or of not in READERS:
        message = f"`Array` of `{str(of)[:40]}`"
        raise call.fault("template-call", message, did_you_mean(str(of), READERS))
    code = "invalid-parameter"
    if _absent(value):
        value, code = default, "invalid-default"
    if not _absent(value):
        return made_array(of, split(value, call), call, code)
    if call.value(3, "defined") is False:
        return None
    if call.frame.given.mode != "check":
        raise _missing(call)
    call.frame.invented = True
    return made_array(of, [placeholder(of)] * (1 if of == "String" else 2), call, code)


def split(value: Value, call: Call) -> Sequence[Value]:
    """The elements of a value that is taken as an array."""
    if isinstance(value, str):
        call.frame.charge(len(value), call.offset)
        return value.split(",")
    if isinstance(value, Sql) and value.items is not None:
        return value.items
    if isinstance(value, (list, tuple)):
        return value
    return [text_of(value, call)]


def made_array(of: str, parts: Sequence[Value], call: Call, code: str) -> Value:
    """The elements as an array of ClickHouse. Raises Fault."""
    call.frame.charge(len(parts), call.offset)
    found = []
    for part in parts:
        each = _read(of, placeholder(of) if isinstance(part, Placeholder) else part, call, code)
        if code == "invalid-parameter":
            _check_enum(of, each, call)
        found.append(each)
    return Sql("[" + ",".join(_element(each) for each in found) + "]", tuple(found))


def _element(value: Value) -> str:
    if isinstance(value, float) and value - value != 0:
        return f"toFloat64('{value!r}')"
    return literal(value)


def _json(call: Call) -> Value:
    value, default = call.value(0, "x"), call.value(1, "default")
    of_caller = not _absent(value)
    if not of_caller:
        if isinstance(value, Placeholder) and not isinstance(default, str):
            return value
        value = default if default is not None else "{}"
    if not isinstance(value, str):
        return value
    call.frame.charge(len(value), call.offset)
    try:
        found: Value = json.loads(value, parse_constant=_no_constant)
        return found
    except (ValueError, RecursionError) as error:
        said = str(error).split(":")[0] if isinstance(error, ValueError) else "it is too deep"
        if of_caller:
            raise call.fault("invalid-parameter", f"{call.shown}: no JSON: {said}") from None
        raise call.fault("invalid-default", f"the default of {call.shown}: no JSON: {said}") from None


def _no_constant(name: str) -> Value:
    raise ValueError(f"{name} is no number")


PARAMETERS: dict[str, Function] = {
    **{name: _scalar(name) for name in READERS},
    "Array": Function(_array, ("x", "_type", "default", *ABOUT)),
    "JSON": Function(_json, ("x", "default", *ABOUT)),
}
"""All of them, by name."""
