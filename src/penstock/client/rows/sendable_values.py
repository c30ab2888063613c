"""Values of Python as values of JSON that a column reads without loss.

In: a value. Out: a value that orjson writes. Invariant: nothing is rounded or guessed: numbers keep their digits, times
with a zone become the same moment in UTC, times without one are the wall clock of the column's zone, and what has no
exact form raises `UnsendableValue` with the place of the value in its row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias
from uuid import UUID

import orjson
from pydantic import BaseModel

Converter: TypeAlias = Callable[[object], object]
_LOW, _HIGH = -(2**63), 2**64


class UnsendableValue(ValueError):
    """A value that no row can have; `place` leads to it from the row."""

    def __init__(self, reason: str, place: tuple[str, ...] = ()):
        super().__init__(reason)
        self.reason, self.place = reason, place

    def inside(self, key: str) -> UnsendableValue:
        """The same fault, seen from what holds the value."""
        return UnsendableValue(self.reason, (key, *self.place))

    def __str__(self) -> str:
        return f"{'.'.join(self.place)}: {self.reason}" if self.place else self.reason


def sendable(value: object) -> object:
    """The value for orjson. Raises UnsendableValue."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    convert = _known.get(kind)
    if convert is None:
        convert = _known[kind] = _find_converter(kind)
    return convert(value)


def sendable_parts(parts: Mapping[str, object]) -> dict[str, object]:
    """The values of an object whose keys are texts."""
    found = {}
    for key, value in parts.items():
        try:
            found[key] = sendable(value)
        except UnsendableValue as fault:
            raise fault.inside(key) from None
    return found


def write_row(row: Mapping[str, object]) -> bytes:
    """A row of sendable values as a line of JSON. Raises UnsendableValue."""
    try:
        return orjson.dumps(row)
    except orjson.JSONEncodeError as error:
        _refuse_half_pairs(row)
        raise UnsendableValue(str(error)) from None


def _find_converter(kind: type) -> Converter:
    if kind.__module__ == "numpy":
        return _of_numpy
    for base, convert in _CONVERTERS:
        if issubclass(kind, base):
            return convert
    if is_dataclass(kind):
        return lambda value: sendable_parts({each.name: getattr(value, each.name) for each in fields(value)})  # type: ignore[arg-type]
    return _refuse


def _refuse(value: object) -> object:
    kind = type(value).__name__
    hint = "; a set has no order: send a sorted list" if isinstance(value, (set, frozenset)) else ""
    raise UnsendableValue(f"a {kind} is no value of a column{hint}")


def _integer(value: object) -> object:
    assert isinstance(value, int)
    if _LOW <= value < _HIGH:
        return int(value)
    try:
        return orjson.Fragment(str(int(value)))
    except ValueError:
        raise UnsendableValue("an integer of thousands of digits is no value of a column") from None


def _float(value: object) -> object:
    assert isinstance(value, float)
    if math.isfinite(value):
        return float(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _decimal(value: object) -> object:
    assert isinstance(value, Decimal)
    if value.is_finite():
        return orjson.Fragment(str(value))
    return "nan" if value.is_nan() else "inf" if value > 0 else "-inf"


def _time(value: object) -> object:
    """A moment in UTC, or a time of the column's zone. A time of pandas has nanoseconds, and may be none."""
    assert isinstance(value, datetime)
    if value != value:  # pandas' NaT
        return None
    if value.tzinfo is None:
        if value.fold:
            raise UnsendableValue("a time without a zone that is the second of two: give it its zone")
        return _time_text(value)
    try:
        return f"{_time_text(value.astimezone(timezone.utc))}Z"
    except OverflowError:
        raise UnsendableValue(f"{value} is before or after the years that times have in UTC") from None


def _time_text(value: datetime) -> str:
    nanoseconds = value.microsecond * 1_000 + int(getattr(value, "nanosecond", 0))
    fraction = f".{nanoseconds:09d}" if nanoseconds else ""
    day = f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
    return f"{day} {value.hour:02d}:{value.minute:02d}:{value.second:02d}{fraction}"


def _bytes(value: object) -> object:
    assert isinstance(value, (bytes, bytearray, memoryview))
    try:
        return bytes(value).decode()
    except UnicodeDecodeError as error:
        raise UnsendableValue(f"byte {error.start} is no text in UTF-8, which every String is") from None


def _enum(value: object) -> object:
    assert isinstance(value, Enum)
    return sendable(value.value)


def _model(value: object) -> object:
    """A model inside of a row: a Tuple, whose parts have the names of the fields."""
    assert isinstance(value, BaseModel)
    root = getattr(value, "root", value) if type(value).__pydantic_root_model__ else value
    if root is not value:
        return sendable(root)
    return sendable_parts({name: getattr(value, name) for name in type(value).model_fields})


def _list(value: object) -> object:
    assert isinstance(value, (list, tuple))
    found = []
    for at, each in enumerate(value):
        try:
            found.append(sendable(each))
        except UnsendableValue as fault:
            raise fault.inside(str(at)) from None
    return found


def _map(value: object) -> object:
    assert isinstance(value, Mapping)
    found: dict[str, object] = {}
    for key, each in value.items():
        name = key_text(key)
        if name in found:
            raise UnsendableValue(f"two keys are the same text: `{name}`")
        try:
            found[name] = sendable(each)
        except UnsendableValue as fault:
            raise fault.inside(name) from None
    return found


def key_text(key: object) -> str:
    """The key of a map as the text that stands for it in JSON. Raises UnsendableValue."""
    if isinstance(key, str) and type(key) is str:
        return key
    shown = sendable(key)
    match shown:
        case bool():
            return "true" if shown else "false"
        case int():
            return str(shown)
        case float():
            return repr(shown)
        case str():
            return shown
        case orjson.Fragment():
            return orjson.dumps(shown).decode()
        case _:
            raise UnsendableValue(f"a {type(key).__name__} is no key of a map")


def _of_numpy(value: object) -> object:
    """A value of NumPy, of which only its own methods are used."""
    kind = type(value).__name__
    if kind == "datetime64":
        text = str(value).replace("T", " ")
        return None if text == "NaT" else text if len(text) != len("2024-01-01 00") else f"{text}:00"
    if kind == "timedelta64":
        return _refuse(value)
    if kind == "ndarray":
        is_one = not value.shape  # type: ignore[attr-defined]
        return sendable(value[()]) if is_one else _list(list(value))  # type: ignore[index,call-overload]
    plain = value.item() if hasattr(value, "item") else value
    return _refuse(value) if plain is value or type(plain).__module__ == "numpy" else sendable(plain)


def _text(value: object) -> object:
    return str.__str__(value) if isinstance(value, str) else str(value)


def _refuse_half_pairs(value: object) -> None:
    """Raises UnsendableValue for the first text that UTF-8 cannot encode, and its place."""
    if isinstance(value, str) and not _is_encodable(value):
        raise UnsendableValue("the text has half of a surrogate pair, which is no character")
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, each in parts:
        if isinstance(key, str) and not _is_encodable(key):
            raise UnsendableValue(f"the key {key!r} has half of a surrogate pair, which is no character")
        try:
            _refuse_half_pairs(each)
        except UnsendableValue as fault:
            raise fault.inside(str(key)) from None


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_CONVERTERS: tuple[tuple[type, Converter], ...] = (
    (Enum, _enum),
    (bool, bool),
    (str, _text),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (datetime, _time),
    (date, str),
    (UUID, str),
    (IPv4Address, str),
    (IPv6Address, str),
    (bytes, _bytes),
    (bytearray, _bytes),
    (memoryview, _bytes),
    (BaseModel, _model),
    (Mapping, _map),
    (list, _list),
    (tuple, _list),
)
"""By class, the first that fits."""
_known: dict[type, Converter] = {}
"""By the very class of a value."""
