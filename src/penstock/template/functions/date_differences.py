"""Differences of dates: day_diff and date_diff_in_days, _hours, _minutes, _seconds.

In: two texts and how they are written. Out: a whole number, never negative. Called by functions. Invariant:
a placeholder gives the default or 0; a text that is no date is a fault, or no value where that is wanted.
"""

from __future__ import annotations

from datetime import datetime

from penstock.template.functions.call import Call, Function
from penstock.template.values import Placeholder, Value

_DAY, _SECOND = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"
_NAMES = ("d0", "d1", "date_format", "default", "backup_date_format", "none_if_error")


def _difference(seconds: int, written: str) -> Function:
    def run(call: Call) -> Value:
        return _between(call, seconds, call.value(2, "date_format", written))

    return Function(run, _NAMES, needed=2)


def _day_diff(call: Call) -> Value:
    return _between(call, 86_400, _DAY)


def _between(call: Call, seconds: int, written: Value) -> Value:
    ends = (call.value(0, "d0"), call.value(1, "d1"))
    if any(isinstance(each, Placeholder) for each in ends):
        return call.value(3, "default") or 0
    formats = [each for each in (written, call.value(4, "backup_date_format")) if isinstance(each, str)]
    begin, end = (_moment(each, formats, call) for each in ends)
    if begin is not None and end is not None:
        return int(abs((end - begin).total_seconds()) // seconds)
    if call.value(5, "none_if_error"):
        return None
    wrong = ends[0] if begin is None else ends[1]
    shown = "no value" if wrong is None else repr(str(wrong)[:60])
    hint = f"expected the form {' or '.join(formats)}"
    raise call.fault("invalid-parameter", f"`{call.name}`: {shown} is no date", hint)


def _moment(value: Value, formats: list[str], call: Call) -> datetime | None:
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


DATES: dict[str, Function] = {
    "day_diff": Function(_day_diff, ("d0", "d1", "default"), needed=2),
    "date_diff_in_days": _difference(86_400, _DAY),
    "date_diff_in_hours": _difference(3_600, _SECOND),
    "date_diff_in_minutes": _difference(60, _SECOND),
    "date_diff_in_seconds": _difference(1, _SECOND),
}
"""All of them, by name."""
