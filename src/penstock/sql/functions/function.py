"""One row of the table of functions: a name, the arguments it takes and the Spark SQL it becomes.

The modules of functions build their rows from `Function` and `template_function`; a function there whose name ends in
`_function` returns a row, one that takes `values` is the `build` of a row. `build` gets arguments whose number and
kinds have been checked against the row, and raises BadArguments for what else is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, Union

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.expr.typed import NOTHING, TypedSql, nullable_if_any, typed_sql

Kind = Literal[
    "any",
    "number",
    "integer",
    "float",
    "string",
    "time",
    "array",
    "map",
    "constant",
    "step",
    "text",
    "bytes",
    "json",
    "bitmap",
]
"""What an argument must be. "constant" is a literal; "step" a key or a position in JSON. "text" is a String, "bytes" a
String or FixedString, "string" any type that Spark holds as a string but JSON, "json" a String or JSON; "time" is a
date or a time; "integer" and "number" include Bool."""
Build: TypeAlias = Callable[[Sequence[TypedSql]], TypedSql]
"""Makes the SQL of a call from its arguments. Raises BadArguments."""

UINT8, UINT16, UINT32, UINT64 = (t.Int(bits, signed=False) for bits in (8, 16, 32, 64))
INT32, INT64 = t.Int(32), t.Int(64)
FLOAT64 = t.Float(64)
STRING = t.String()


class BadArguments(Exception):
    """Raised by a function's `build`: what is wrong with the arguments, and a hint what to write instead."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Function:
    """One scalar function."""

    name: str
    arity: tuple[int, int]
    """The least and the greatest number of arguments."""
    takes: tuple[Kind, ...]
    """The kinds of the arguments, the last one repeated."""
    build: Build
    exact: bool = True
    """False where ClickHouse accepts more, or where the last digits may differ."""
    strict: bool = True
    """A literal NULL argument makes the result NULL."""


ResultType: TypeAlias = Union[Type, Callable[[Sequence[TypedSql]], Type]]
MAX_ARGUMENTS = 64
"""The greatest number of arguments of functions that take any number of them."""


def template_function(name: str, takes: str, template: str, result: ResultType, spark: str | None = None) -> Function:
    """A function that is one Spark expression. `takes` are kinds separated by spaces; one in brackets is optional.
    `result` is a type (Nullable if any argument is) or computed from the arguments. `spark` is the Spark type of the
    template where it is not that of the result."""
    kinds = [kind.strip("[]") for kind in takes.split()]
    least = sum(not kind.startswith("[") for kind in takes.split())

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = result(values) if callable(result) else nullable_if_any(result, list(values))
        sql = template.format(*(value.sql for value in values))
        if spark is None:
            return typed_sql(sql, of)
        return TypedSql(sql, of, spark)

    return Function(name, (least, len(kinds)), tuple(kinds), build)  # type: ignore[arg-type]


_TYPES_OF_KIND: dict[Kind, tuple[type[Type], ...]] = {
    "number": (t.Int, t.Float, t.Decimal, t.Bool),
    "integer": (t.Int, t.Bool),
    "float": (t.Float, t.Int, t.Decimal, t.Bool),
    "string": (t.String, t.FixedString, t.Enum, t.UUID, t.IPv4, t.IPv6),
    "json": (t.String, t.Json),
    "time": (t.Date, t.DateTime, t.DateTime64),
    "step": (t.String, t.Int),
    "text": (t.String,),
    "bytes": (t.String, t.FixedString),
    "array": (t.Array,),
    "map": (t.Map,),
    "bitmap": (t.AggregateFunction,),
}


def is_kind(value: TypedSql, kind: Kind) -> bool:
    """Whether an argument is of a kind; NULL is of every kind."""
    if kind == "any" or value.bare == NOTHING:
        return not isinstance(value.bare, t.AggregateFunction)
    if kind == "constant":
        return value.constant is not None
    return isinstance(value.bare, _TYPES_OF_KIND[kind])


def kind_name(kind: Kind) -> str:
    """What an argument of a kind is called in messages, with its article."""
    shown = {
        "any": "value",
        "text": "string",
        "bytes": "string",
        "step": "string or an integer",
        "json": "JSON document or a string",
        "float": "number",
    }.get(kind, kind)
    return f"an {shown}" if shown[0] in "aeio" else f"a {shown}"
