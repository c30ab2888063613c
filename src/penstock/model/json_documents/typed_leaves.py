"""The value at a path whose type the column gives, as in `JSON(a.b UInt32)`, in the form in which it is stored.

In: a decoded JSON value and the name of a type. Out: its stored JSON text. Raises `InvalidDocument`. Invariants: no
value and null are the default of the type, or null where it is Nullable; the stored text of a stored value is the same.
Source: ClickHouse's behaviour for `CAST('…', 'JSON(a T)')`; what it would turn into another value (a day that does not
exist, NaN) is refused.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from uuid import UUID

from penstock.model.json_documents.inferred_times import infer_time, written_time
from penstock.model.json_documents.json_syntax import (
    DEEPEST,
    InvalidDocument,
    RepeatedKeys,
    encodable,
    json_string,
    too_deep,
)
from penstock.model.json_documents.numbers import JsonNumber, stored_float

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DAY = re.compile(r"([0-9]{4})(?:[-/]([0-9]{1,2})[-/]([0-9]{1,2})|([0-9]{2})([0-9]{2}))")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{24})")
_FIRST_DAYS = {"Date": dt.date(1970, 1, 1), "Date32": dt.date(1900, 1, 1)}
_LAST_DAYS = {"Date": dt.date(2149, 6, 6), "Date32": dt.date(2299, 12, 31)}
_MOST_DIGITS = 400
_LAST_SECOND = 2**32 - 1
_FARTHEST_SECOND = 2**33
_SECOND_DIGITS = (9, 10)
"""So many digits in a text are seconds since 1970."""


def typed_leaf(value: object, of: str) -> str:
    """The stored text of a value as a type. Raises InvalidDocument."""
    outer, _, rest = of.partition("(")
    inner = rest[:-1]
    if outer == "LowCardinality":
        return typed_leaf(value, inner)
    if outer == "Nullable":
        return "null" if value is None else typed_leaf(value, inner)
    if outer == "Array":
        return _array(value, inner)
    if value is None:
        return _DEFAULTS.get(outer) or _default_number(of)
    return _writer(of)(value, of)


def _array(value: object, inner: str) -> str:
    if value is None:
        return "[]"
    if not isinstance(value, list):
        raise _refusal(value, "an Array")
    return "[" + ",".join(typed_leaf(each, inner) for each in value) + "]"


def _default_number(of: str) -> str:
    if of.startswith("DateTime64"):
        digits = int(of[11:-1])
        return f'"1970-01-01 00:00:00{"." + "0" * digits if digits else ""}"'
    return "0.0" if of.startswith("Float") else "0"


_DEFAULTS: Mapping[str, str] = {
    "String": '""',
    "Bool": "false",
    "Date": '"1970-01-01"',
    "Date32": '"1970-01-01"',
    "DateTime": '"1970-01-01 00:00:00"',
    "UUID": '"00000000-0000-0000-0000-000000000000"',
}


def _writer(of: str) -> Callable[[object, str], str]:
    if of.startswith("DateTime64"):
        return _fine_time
    return _WRITERS.get(of, _integer)


def _refusal(value: object, of: str) -> InvalidDocument:
    shown = "null" if value is None else value if isinstance(value, JsonNumber) else json.dumps(value, default=str)
    return InvalidDocument(f"{shown[:100]} is no {of}")


def _number(value: object, of: str) -> int | float:
    """A number, or a text that is one."""
    if isinstance(value, (bool, int)):
        return int(value)
    text = str(value)
    if not isinstance(value, str) or len(text) > _MOST_DIGITS or _NUMBER.fullmatch(text) is None:
        raise _refusal(value, of)
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _integer(value: object, of: str) -> str:
    number = _number(value, of)
    bits = int(of.lstrip("UInt"))
    low, high = (0, 2**bits - 1) if of.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not low <= number <= high:
        raise _refusal(value, of)
    return str(int(number))


def _bool(value: object, of: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "false" if _integer(value, "UInt8") == "0" else "true"


def _string(value: object, of: str) -> str:
    if isinstance(value, str) and not isinstance(value, JsonNumber):
        return json_string(encodable(value))
    return json_string(_shown(value, 0))


def _shown(value: object, depth: int) -> str:
    """A value as ClickHouse writes what it has read of it: keys in their order, numbers by their value."""
    if depth >= DEEPEST:
        raise too_deep()
    if isinstance(value, RepeatedKeys):
        raise InvalidDocument("a key stands twice in an object")
    if isinstance(value, dict):
        members = (f"{json_string(encodable(key))}:{_shown(inner, depth + 1)}" for key, inner in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_shown(each, depth + 1) for each in value) + "]"
    if isinstance(value, JsonNumber):
        plain = value.lstrip("-").isdigit()
        return str(value) if plain else _finite(float(value), value, "String").removesuffix(".0")
    if isinstance(value, str):
        return json_string(encodable(value))
    return json.dumps(value)


def _float64(value: object, of: str) -> str:
    return _finite(_as_float(value, of), value, of)


def _as_float(value: object, of: str) -> float:
    try:
        return float(_number(value, of))
    except OverflowError:
        raise _refusal(value, of) from None


def _float32(value: object, of: str) -> str:
    try:
        number = struct.unpack("f", struct.pack("f", _as_float(value, of)))[0]
    except OverflowError:
        raise _refusal(value, of) from None
    shortest = next(shown for digits in range(6, 10) if _as_float32(shown := float(f"{number:.{digits}g}")) == number)
    return _finite(shortest, value, of)


def _as_float32(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.inf


def _finite(number: float, value: object, of: str) -> str:
    if not math.isfinite(number):
        raise _refusal(value, of)
    return stored_float(number)


def _date(value: object, of: str) -> str:
    found = _DAY.fullmatch(value) if isinstance(value, str) and not isinstance(value, JsonNumber) else None
    if found is None:
        raise _refusal(value, of)
    try:
        day = dt.date(*(int(each) for each in found.groups() if each is not None))
    except ValueError:
        raise _refusal(value, of) from None
    return f'"{min(max(day, _FIRST_DAYS[of]), _LAST_DAYS[of])}"'


def _time(value: object, of: str) -> str:
    return f'"{dt.datetime(1970, 1, 1) + dt.timedelta(seconds=min(max(_seconds(value, of)[0], 0), _LAST_SECOND))}"'


def _fine_time(value: object, of: str) -> str:
    digits = int(of[11:-1])
    seconds, fraction = _seconds(value, of)
    shown = f"{dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)}"
    return f'"{shown}.{fraction:0<9.9}"'[: 21 + digits] + '"' if digits else f'"{shown}"'


def _seconds(value: object, of: str) -> tuple[int, str]:
    """Seconds since 1970 and the digits after the point, of a time or a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise _refusal(value, of)
    if isinstance(value, JsonNumber | int) or (value.isdigit() and value.isascii() and len(value) in _SECOND_DIGITS):
        return _unix_seconds(value, of)
    if infer_time(value) is None:
        raise _refusal(value, of)
    shown = written_time(value, "DateTime64(9)")
    moment = dt.datetime.fromisoformat(shown[:19]) - dt.datetime(1970, 1, 1)
    return moment.days * 86400 + moment.seconds, shown[20:]


def _unix_seconds(value: object, of: str) -> tuple[int, str]:
    """A number of seconds; of one with a fraction as many digits as the type has, cut off like ClickHouse does."""
    number = _number(value, of)
    if of == "DateTime" and -(2**63) <= number < 2**64:
        return min(max(int(number), 0), _LAST_SECOND), ""
    if not -_FARTHEST_SECOND <= number <= _FARTHEST_SECOND:
        raise _refusal(value, of)
    if isinstance(number, int):
        return number, ""
    digits = int(of[11:-1])
    seconds, fraction = divmod(int(number * 10**digits), 10**digits)
    return seconds, f"{fraction:0{digits}d}" if digits else ""


def _uuid(value: object, of: str) -> str:
    if not isinstance(value, str) or isinstance(value, JsonNumber) or _UUID.fullmatch(value) is None:
        raise _refusal(value, of)
    return f'"{UUID(value)}"'


_WRITERS: Mapping[str, Callable[[object, str], str]] = {
    "String": _string,
    "Bool": _bool,
    "Float32": _float32,
    "Float64": _float64,
    "Date": _date,
    "Date32": _date,
    "DateTime": _time,
    "UUID": _uuid,
}
