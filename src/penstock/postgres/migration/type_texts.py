"""Types as a person writes them: `varchar(80)`, `numeric(10,2)`, `timestamptz`.

In: a type by its name in the catalog and its typmod, or a text. Out: the other one. Invariant: what is spelt is read as
the same type; one that cannot be (an extension's type with modifiers, `interval day to second`) is not spelt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SHORT: Mapping[str, str] = {
    "character varying": "varchar",
    "character": "char",
    "bit varying": "varbit",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "time without time zone": "time",
    "time with time zone": "timetz",
}
_LONG: Mapping[str, str] = {
    **{short: name for name, short in _SHORT.items()},
    "int": "integer",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "bool": "boolean",
    "decimal": "numeric",
    "bpchar": "character",
}
_SPELT = re.compile(
    # Runs of spaces and of [] are passed over at once, so that no text takes time by the square of its length.
    r"(?P<name>(?:[^()\s\[]|\[(?!\])|(?:\[\])+(?!\[\]|\Z)|\s+(?=[^()\s]))*?)\s*"
    r"(?:\(\s*(?P<modifiers>-?\d+(?:\s*,\s*-?\d+)?)\s*\)(?P<zone> with(?:out)? time zone)?)?(?P<array>(?:\[\])*)"
)
_LENGTHS = frozenset({"character varying", "character"})
_PLAIN = frozenset({*_SHORT, "bit", "interval"} - _LENGTHS)
_HEADER = 4
"""Postgres counts the bytes of a value's header in these typmods. Source: PostgreSQL, `numerictypmodin`."""
_WHOLE_INTERVAL = 0x7FFF << 16
_MOST_INTERVAL = 0xFFFF
"""The precision of an interval that has none."""


def spelt_type(name: str, typmod: int) -> str | None:
    """The text of a type; None if none says it."""
    base = name.rstrip("[]")
    array = name[len(base) :]
    found = f"{_short(base, typmod)}{_modifiers(base, typmod)}{array}"
    return found if read_type(found) == (name, typmod) else None


def read_type(text: str) -> tuple[str, int] | None:
    """The name and the typmod of a type that a person wrote; None for modifiers that nothing is known of."""
    found = _SPELT.fullmatch(text)
    if found is None:
        return (text, -1)
    name = f"{found['name']}{found['zone']}" if found["zone"] else _LONG.get(found["name"].lower(), found["name"])
    modifiers = found["modifiers"]
    if modifiers is None:
        is_one = name == "character" and found["name"].lower() != "bpchar"
        return (f"{name}{found['array']}", 1 + _HEADER if is_one else -1)
    typmod = _typmod(name, [int(each) for each in modifiers.split(",")])
    return None if typmod is None else (f"{name}{found['array']}", typmod)


def _short(name: str, typmod: int) -> str:
    return "bpchar" if name == "character" and typmod < 0 else _SHORT.get(name, name)


def _modifiers(name: str, typmod: int) -> str:
    if typmod < 0:
        return ""
    if name in _LENGTHS:
        return f"({typmod - _HEADER})"
    if name == "numeric":
        packed = typmod - _HEADER
        precision, scale = (packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024
        return f"({precision},{scale})" if scale else f"({precision})"
    return f"({typmod & _MOST_INTERVAL if name == 'interval' else typmod})"


def _typmod(name: str, modifiers: list[int]) -> int | None:
    first, *others = modifiers
    if name == "numeric":
        scale = others[0] if others else 0
        return ((first << 16) | (scale & 0x7FF)) + _HEADER
    if others or first < 0:
        return None
    if name in _LENGTHS:
        return first + _HEADER
    if name == "interval":
        return _WHOLE_INTERVAL | first
    return first if name in _PLAIN else None
