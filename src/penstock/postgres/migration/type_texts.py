"""Types as a person writes them: `varchar(80)`, `numeric(10,2)`, `timestamptz`.

In: a type by its name in the catalog and its typmod, or a text. Out: the other one. Invariant: a text is read as the
type that Postgres takes it for, or as none; one that no text says (an extension's type with modifiers, `interval day to
second`) is not spelt.
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
    "float": "double precision",
    "float4": "real",
    "float8": "double precision",
    "bool": "boolean",
    "decimal": "numeric",
    "dec": "numeric",
    "bpchar": "character",
    "nchar": "character",
    "national char": "character",
    "national character": "character",
    "char varying": "character varying",
    "nchar varying": "character varying",
    "national char varying": "character varying",
    "national character varying": "character varying",
}
_BUILT_IN_NAMES = """"char" aclitem bigint bit boolean box bytea cid cidr circle date datemultirange daterange gtsvector
  inet int4multirange int4range int8multirange int8range integer interval json jsonb jsonpath line lseg macaddr macaddr8
  money name numeric nummultirange numrange oid path pg_lsn pg_node_tree pg_snapshot point polygon real refcursor
  regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype
  smallint text tid tsmultirange tsquery tsrange tstzmultirange tstzrange tsvector txid_snapshot uuid xid xid8 xml"""
_BUILT_IN = frozenset({*_BUILT_IN_NAMES.split(), *_SHORT, "double precision"})
"""The types whose name has no schema before it. Source: `pg_type` of PostgreSQL 14 to 18."""
_FOLDED = re.compile(r'"(?:[^"]|"")*"|[A-Z]+|\s+')
_PART = r'(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*)'
_SPELT = re.compile(
    rf"(?P<name>{_PART}(?:(?P<of_schema>\.{_PART})|(?: (?!array\b)[a-z]+)*))"
    r" ?(?:\( ?(?P<modifiers>-?[0-9]{1,9}(?: ?, ?-?[0-9]{1,9})?) ?\)(?P<zone> with(?:out)? time zone)?)?"
    r"(?P<array>(?: ?\[ ?[0-9]* ?\])+| ?array(?: ?\[ ?[0-9]+ ?\])?)?"
)
_HEADED = frozenset({"character varying", "character"})
_MOST: Mapping[str, int] = {
    "character varying": 10_485_760,
    "character": 10_485_760,
    "bit": 83_886_080,
    "bit varying": 83_886_080,
}
"""The greatest lengths; the least is 1."""
_TIMES = frozenset({"interval", *(each for each in _SHORT if each.startswith("time"))})
_MOST_DIGITS, _MOST_SECONDS = 1000, 6
_MOST_REAL, _MOST_FLOAT = 24, 53
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
    """The name and the typmod of a type that a person wrote; None for one that is not known, or that Postgres would not
    take."""
    found = _SPELT.fullmatch(_FOLDED.sub(_folded, text.strip()))
    if found is None:
        return None
    written, array = found["name"], "[]" if found["array"] else ""
    name = f"{written}{found['zone']}" if found["zone"] else _LONG.get(written, written)
    if found["of_schema"] is None and name not in _BUILT_IN:
        return None
    is_one = name == "bit" or (name == "character" and written != "bpchar")
    if found["modifiers"] is None and not is_one:
        return (f"{name}{array}", -1)
    modifiers = [int(each) for each in (found["modifiers"] or "1").split(",")]
    if written == "float":
        return _float(array, modifiers)
    typmod = None if " with" in written else _typmod(name, modifiers)
    return None if typmod is None else (f"{name}{array}", typmod)


def _folded(found: re.Match[str]) -> str:
    """What is not quoted is in small letters, with single spaces."""
    return " " if found[0].isspace() else found[0] if found[0].startswith('"') else found[0].lower()


def _float(array: str, modifiers: list[int]) -> tuple[str, int] | None:
    """A float of so many bits is one of two types, which have no modifier."""
    if len(modifiers) > 1 or not 1 <= modifiers[0] <= _MOST_FLOAT:
        return None
    return (f"{'real' if modifiers[0] <= _MOST_REAL else 'double precision'}{array}", -1)


def _short(name: str, typmod: int) -> str:
    return "bpchar" if name == "character" and typmod < 0 else _SHORT.get(name, name)


def _modifiers(name: str, typmod: int) -> str:
    if typmod < 0:
        return ""
    if name in _HEADED:
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
        fits = 1 <= first <= _MOST_DIGITS and abs(scale) <= _MOST_DIGITS
        return ((first << 16) | (scale & 0x7FF)) + _HEADER if fits else None
    if others:
        return None
    if name in _MOST:
        return first + _HEADER * (name in _HEADED) if 1 <= first <= _MOST[name] else None
    if name not in _TIMES or not 0 <= first <= _MOST_SECONDS:
        return None
    return _WHOLE_INTERVAL | first if name == "interval" else first
