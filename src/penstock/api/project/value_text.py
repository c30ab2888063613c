"""Values as Python text: the constants that a function of the project uses.

In: a value. Out: text that gives an equal value, with the modules that it needs; None where no text does. Invariant:
only types of the closed list here, exactly these and no subclass of them; a value within itself is none of them.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterable

from penstock.model.quick_dataclass import dataclass

_PLAIN = (type(None), bool, int, str, bytes)
_MODULES: dict[type, str] = {
    datetime.date: "datetime",
    datetime.datetime: "datetime",
    datetime.time: "datetime",
    datetime.timedelta: "datetime",
    decimal.Decimal: "decimal",
    uuid.UUID: "uuid",
}
_CHANGEABLE = (list, dict, set)
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """The text of a value and the modules whose names are in it."""

    text: str
    modules: frozenset[str] = frozenset()


def is_changeable(value: object) -> bool:
    """Whether a value may be another one later, so that equal values are not the same."""
    return isinstance(value, _CHANGEABLE)


def written_value(value: object, depth: int = 0) -> WrittenValue | None:
    """The text of a value; None if it has none."""
    kind = type(value)
    if kind in _PLAIN:
        return WrittenValue(repr(value))
    if isinstance(value, float) and kind is float:
        return WrittenValue(repr(value) if value - value == 0 else f'float("{value!r}")')
    if kind in _MODULES:
        return _written_object(value, _MODULES[kind])
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict) and kind is dict:
        pairs = [(written_value(key, depth + 1), written_value(each, depth + 1)) for key, each in value.items()]
        parts = [f"{key.text}: {each.text}" for key, each in pairs if key and each]
        found = [each for pair in pairs for each in pair]
        return _join(f"{{{', '.join(parts)}}}", found)
    if isinstance(value, (list, tuple, set, frozenset)) and kind in _BRACKETS:
        ordered = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        items = [written_value(each, depth + 1) for each in ordered]
        return _join(_BRACKETS[kind].format(_items(items, kind)), items)
    return None


_BRACKETS: dict[type, str] = {list: "[{}]", tuple: "({})", set: "set([{}])", frozenset: "frozenset([{}])"}


def _items(items: list[WrittenValue | None], kind: type) -> str:
    text = ", ".join(each.text for each in items if each)
    return f"{text}," if kind is tuple and len(items) == 1 else text


def _join(text: str, parts: Iterable[WrittenValue | None]) -> WrittenValue | None:
    """A text of parts, each of which must have one."""
    modules: set[str] = set()
    for each in parts:
        if each is None:
            return None
        modules |= each.modules
    return WrittenValue(text, frozenset(modules))


def _written_object(value: object, module: str) -> WrittenValue | None:
    if isinstance(value, (datetime.datetime, datetime.time)) and value.tzinfo not in (None, datetime.timezone.utc):
        return None
    text = repr(value)
    return WrittenValue(text if text.startswith("datetime.") else f"{module}.{text}", frozenset([module]))
