"""The values of a template, and how each is written in ClickHouse SQL.

In: plain Python values, and numbers of a declared type. Out: literals and quoted names. Invariant: what is written is
one literal, one name or a list of them, whatever the value holds: a quote, a comment or a line end stays inside.
"""

from __future__ import annotations

import math
import re
from typing import Literal, TypeAlias, Union

from penstock.model.quick_dataclass import dataclass

Value: TypeAlias = Union[
    bool, int, float, str, "Sql", "Placeholder", "list[Value]", "tuple[Value, ...]", "dict[Value, Value]", None
]

_ESCAPED = str.maketrans({"\\": "\\\\", "'": "\\'", "\0": "\\0", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_UNNAMEABLE = re.compile(r"[`\\\x00-\x1f\x7f]")
MAX_DEPTH = 20
"""The deepest nesting of lists that can be written into SQL."""


class TypedInt(int):
    """A whole number that is written with its type."""

    of: str = "Int64"

    @staticmethod
    def made(value: int, of: str) -> TypedInt:
        made = TypedInt(value)
        made.of = of
        return made


class TypedFloat(float):
    """A number with a fraction that is written with its type."""

    of: str = "Float64"

    @staticmethod
    def made(value: float, of: str) -> TypedFloat:
        made = TypedFloat(value)
        made.of = of
        return made


@dataclass(frozen=True, slots=True)
class Sql:
    """A value that is SQL already: a name, an array, a condition."""

    text: str
    items: tuple[Value, ...] | None = None
    """The elements of an array."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Stands for a parameter without a value when a template is checked."""

    name: str


class UnwritableValue(ValueError):
    """A value that cannot be written in SQL."""


def literal(value: Value, depth: int = 0) -> str:
    """The value as SQL. Raises UnwritableValue."""
    if isinstance(value, Sql):
        return value.text
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, Placeholder):
        return text_literal(NO_VALUE)
    if isinstance(value, (list, tuple)):
        if depth >= MAX_DEPTH:
            raise UnwritableValue("lists in lists, too deep")
        return "[" + ",".join(literal(each, depth + 1) for each in value) + "]"
    return _number_literal(value)


NO_VALUE = "__no_value__"
StandInKind: TypeAlias = Literal["value", "column", "name", "table"]
"""What a placeholder stands for: a value, the name of a column, of a column or a table, or of a table."""
StandInKey: TypeAlias = tuple[StandInKind, str]
"""What a placeholder stands for, and the parameter."""


def _number_literal(value: Value) -> str:
    if isinstance(value, TypedInt):
        return f"to{value.of}('{int(value)}')"
    if isinstance(value, TypedFloat):
        return f"to{value.of}('{float(value)!r}')"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and math.isfinite(value):
        return repr(float(value))
    raise UnwritableValue(describe_value(value))


def text_literal(value: str) -> str:
    """A text in quotes, which ClickHouse reads back as exactly that text."""
    return f"'{value.translate(_ESCAPED)}'"


def name_literal(name: str) -> str:
    """A name in back-quotes. Raises UnwritableValue if it cannot be quoted."""
    if not name or _UNNAMEABLE.search(name):
        raise UnwritableValue("a name that is empty or has a back-quote, a backslash or a control character in it")
    return f"`{name}`"


def describe_value(value: Value) -> str:
    """The kind of a value in words, for error messages."""
    if value is None:
        return "no value"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, Sql):
        return "SQL"
    if isinstance(value, Placeholder):
        return "a parameter"
    return "a text" if isinstance(value, str) else "a number"
