"""Differences of dates: `day_diff` and `date_diff_in_days`, `_hours`, `_minutes`, `_seconds`.

In: two texts and their format (`strptime`). Out: a whole number ≥ 0. Invariant: a placeholder gives the default or 0;
a text that is no date is a fault, or no value where the call asks for that.
"""

from __future__ import annotations

from datetime import datetime

from penstock.template.functions.call import FunctionCall, TemplateFunction
from penstock.template.values import Placeholder, Value

_DAY, _SECOND = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"
_NAMES = ("d0", "d1", "date_format", "default", "backup_date_format", "none_if_error")


def _difference_function(seconds: int, written: str) -> TemplateFunction:
    def run(call: FunctionCall) -> Value:
        return _measure_difference(call, seconds, call.value(2, "date_format", written))

    return TemplateFunction(run, _NAMES, needed=2)


def _day_diff(call: FunctionCall) -> Value:
    return _measure_difference(call, 86_400, _DAY)


def _measure_difference(call: FunctionCall, seconds: int, written: Value) -> Value:
    ends = (call.value(0, "d0"), call.value(1, "d1"))
    if any(isinstance(each, Placeholder) for each in ends):
        return call.value(3, "default") or 0
    formats = [each for each in (written, call.value(4, "backup_date_format")) if isinstance(each, str)]
    begin, end = (_parse_time(each, formats, call) for each in ends)
    if begin is not None and end is not None:
        return int(abs((end - begin).total_seconds()) // seconds)
    if call.value(5, "none_if_error"):
        return None
    wrong = ends[0] if begin is None else ends[1]
    shown = "no value" if wrong is None else repr(str(wrong)[:60])
    hint = f"expected the form {' or '.join(formats)}"
    raise call.fault("invalid-parameter", f"`{call.name}`: {shown} is no date", hint)


def _parse_time(value: Value, formats: list[str], call: FunctionCall) -> datetime | None:
    if not isinstance(value, str) or len(value) > 100:
        return None
    for written in formats:
        if len(written) > 100:
            raise call.fault("template-call", f"`{call.name}`: a format of more than 100 characters")
        try:
            return datetime.strptime(value, written).replace(tzinfo=None)
        except (ValueError, OverflowError):
            continue
    return None


DATE_FUNCTIONS: dict[str, TemplateFunction] = {
    "day_diff": TemplateFunction(_day_diff, ("d0", "d1", "default"), needed=2),
    "date_diff_in_days": _difference_function(86_400, _DAY),
    "date_diff_in_hours": _difference_function(3_600, _SECOND),
    "date_diff_in_minutes": _difference_function(60, _SECOND),
    "date_diff_in_seconds": _difference_function(1, _SECOND),
}
"""All of them, by name."""
