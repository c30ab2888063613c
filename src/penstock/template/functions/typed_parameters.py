"""Functions that give a parameter its type: String, Int32, Date, Boolean, Array, JSON and the others.

In: a call. Out: the parameter's value, its default, or nothing. Invariant: a value of the wrong type or outside its
enum is a fault that names the parameter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from penstock.template.errors import Fault
from penstock.template.functions.call import FunctionCall, TemplateFunction
from penstock.template.operators import is_equal
from penstock.template.parameter_types import READERS, WrongValue, element_type, placeholder_text, with_type
from penstock.template.values import Placeholder, Sql, Value, describe_value, literal

DETAIL_ARGUMENTS = ("defined", "required", "description", "enum", "example", "format")
"""What is said of a parameter, after its name and default."""


def _is_absent(value: Value) -> bool:
    return value is None or isinstance(value, Placeholder)


def _missing_fault(call: FunctionCall) -> Fault:
    message = f"the {call.shown} is missing" if call.subject else f"{call.shown} has no value"
    hint = None
    if call.frame.given.mode == "deploy":
        hint = "what runs without a request needs a default for each parameter"
    return call.fault("missing-parameter", message, hint)


def text_of(value: Value, call: FunctionCall) -> str:
    """A value as the text that a type parses. Raises Fault."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    raise call.fault("invalid-parameter", f"{call.shown}: {call.name} cannot be {describe_value(value)}")


def _read_value(of: str, value: Value, call: FunctionCall, code: str) -> Value:
    text = text_of(value, call)
    try:
        return READERS[of](text)
    except WrongValue as wrong:
        what = f"the default of {call.shown}" if code == "invalid-default" else call.shown
        raise call.fault(code, f"{what}: {text[:60]!r} is no {of}", f"expected {wrong}") from None


def _check_enum(of: str, value: Value, call: FunctionCall) -> None:
    allowed = call.value(2 + DETAIL_ARGUMENTS.index("enum") + (call.name == "Array"), "enum")
    if not isinstance(allowed, (list, tuple)) or not allowed or call.frame.given.mode == "check":
        return
    known = [_read_value(of, each, call, "invalid-default") for each in allowed if not _is_absent(each)]
    if not any(is_equal(each, value) for each in known):
        shown = ", ".join(str(each)[:40] for each in known[:20])
        message = f"{call.shown}: {str(value)[:60]!r} is not one of its values"
        raise call.fault("invalid-parameter", message, f"one of: {shown}")


def _scalar_function(of: str) -> TemplateFunction:
    def run(call: FunctionCall) -> Value:
        value, default = call.value(0, "x"), call.value(1, "default")
        if not _is_absent(value):
            found = _read_value(of, value, call, "invalid-parameter")
            _check_enum(of, found, call)
            return with_type(of, found)
        if not _is_absent(default):
            return with_type(of, _read_value(of, default, call, "invalid-default"))
        if call.value(2, "defined") is False:
            return None
        if of in ("Boolean", "bool"):
            return 0
        if call.frame.given.mode != "check":
            raise _missing_fault(call)
        return with_type(of, READERS[of](_placeholder_for(of, call)))

    return TemplateFunction(run, ("x", "default", *DETAIL_ARGUMENTS))


def _placeholder_for(of: str, call: FunctionCall) -> str:
    """The placeholder of a parameter in a check: its example if it has one."""
    call.frame.invented = True
    call.frame.made_up.add(call.frame.offset)
    example = call.named.get("example")
    if isinstance(example, (str, int, float)) and not isinstance(example, bool):
        try:
            READERS[of](str(example))
            return str(example)
        except WrongValue:
            pass
    return placeholder_text(of)


def _array(call: FunctionCall) -> Value:
    value, default = call.value(0, "x"), call.value(2, "default")
    of, instead = element_type(call.value(1, "_type"))
    default = instead if _is_absent(default) else default
    code = "invalid-parameter"
    if _is_absent(value):
        value, code = default, "invalid-default"
    if not _is_absent(value):
        return build_array(of, split_elements(value, call), call, code)
    if call.value(3, "defined") is False:
        return None
    if call.frame.given.mode != "check":
        raise _missing_fault(call)
    call.frame.invented = True
    call.frame.made_up.add(call.frame.offset)
    return build_array(of, [placeholder_text(of)] * (1 if of == "String" else 2), call, code)


def split_elements(value: Value, call: FunctionCall) -> Sequence[Value]:
    """The elements of a value that is read as an array."""
    if isinstance(value, str):
        call.frame.charge(len(value), call.offset)
        return value.split(",")
    if isinstance(value, Sql) and value.items is not None:
        return value.items
    if isinstance(value, (list, tuple)):
        return value
    return [text_of(value, call)]


def build_array(of: str, parts: Sequence[Value], call: FunctionCall, code: str) -> Value:
    """The elements as a ClickHouse array. Raises Fault."""
    call.frame.charge(len(parts), call.offset)
    found = []
    for part in parts:
        each = _read_value(of, placeholder_text(of) if isinstance(part, Placeholder) else part, call, code)
        if code == "invalid-parameter":
            _check_enum(of, each, call)
        found.append(each)
    return Sql("[" + ",".join(_element(each) for each in found) + "]", tuple(found))


def _element(value: Value) -> str:
    if isinstance(value, float) and value - value != 0:
        return f"toFloat64('{value!r}')"
    return literal(value)


def _json(call: FunctionCall) -> Value:
    value, default = call.value(0, "x"), call.value(1, "default")
    of_caller = not _is_absent(value)
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


TYPED_FUNCTIONS: dict[str, TemplateFunction] = {
    **{name: _scalar_function(name) for name in READERS},
    "Array": TemplateFunction(_array, ("x", "_type", "default", *DETAIL_ARGUMENTS)),
    "JSON": TemplateFunction(_json, ("x", "default", *DETAIL_ARGUMENTS)),
}
"""All of them, by name."""
