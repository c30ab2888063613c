"""The type of a column as Python writes it, and its default as a value of Python.

In: a column. Out: texts, with the names of a module. Invariant: read again, each text gives the type that it was made
from, whatever it is; a type without a word in Python is Any with a `ClickHouseType`.
"""

from __future__ import annotations

import json
import re

from penstock.api.project.python_form import PLAIN_TYPES
from penstock.api.source_edits.module_names import ModuleNames
from penstock.model import types as t
from penstock.model.datasource import Column

_BUILTIN = ("str", "int", "float", "bool")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_QUOTED = re.compile(r"'([^'\\\n]*)'")


def plain_type(of: t.Type) -> tuple[t.Type, bool]:
    """A type without its NULL, and whether it had one."""
    return (of.of, True) if isinstance(of, t.Nullable) else (of, False)


def base_type(of: t.Type, names: ModuleNames) -> str:
    """The type of Python for the values of a column that are not NULL."""
    plain, _ = plain_type(of)
    word = PLAIN_TYPES.get(str(plain))
    if word is not None:
        return word if word in _BUILTIN else names.name_of("penstock", word)
    match plain:
        case t.DateTime64() | t.DateTime():
            return names.name_of("datetime", "datetime")
        case t.Date(wide=True):
            return names.name_of("penstock", "Date32")
        case t.Date():
            return names.name_of("datetime", "date")
        case t.Decimal():
            return names.name_of("decimal", "Decimal")
        case t.UUID():
            return names.name_of("uuid", "UUID")
        case t.Enum():
            return "str"
        case _:
            return names.name_of("typing", "Any")


def type_markers(of: t.Type, names: ModuleNames) -> tuple[str, ...]:
    """What else says the type."""
    plain, _ = plain_type(of)
    if str(plain) in PLAIN_TYPES:
        return ()
    match plain:
        case t.Date() | t.UUID():
            return ()
        case t.DateTime64(precision, "UTC"):
            return (f"{names.name_of('penstock', 'ClickHousePrecision')}({precision})",)
        case t.Decimal(precision, scale):
            return (f"{names.name_of('pydantic', 'Field')}(max_digits={precision}, decimal_places={scale})",)
        case _:
            return (marker("ClickHouseType", str(of), names),)


def marker(name: str, value: str, names: ModuleNames) -> str:
    """A marker with one text."""
    return f"{names.name_of('penstock', name)}({text_literal(value)})"


def text_literal(value: str) -> str:
    """A text in double quotes."""
    return json.dumps(value, ensure_ascii=False)


def literal_default(column: Column) -> str | None:
    """The default as a value of Python that gives it back; None if only an expression of SQL says it."""
    if column.default is None:
        return None
    text = column.default.text
    found = _QUOTED.fullmatch(text)
    if found is not None:
        return text_literal(found[1])
    if text in ("true", "false"):
        return text.capitalize()
    return text if _NUMBER.fullmatch(text) and len(text) < 16 and repr(_number(text)) == text else None


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
