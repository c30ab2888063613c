"""SQL that a function of an endpoint asks: its `{name}` become values of SQL.

In: the text of a query, and variables as kinds and texts (`handler_process.written_value`). Out: ClickHouse SQL.
Invariants: a value is one literal, whatever is in it; a `{name}` within a string, a quoted name or a comment stays as
it is written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal

from sqlglot import exp

from penstock.errors import InvalidQuery, did_you_mean

_PARTS = re.compile(
    r"(?P<other>--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`\\]|\\.)*`)"
    r"|\{(?P<name>[A-Za-z_]\w*)\}",
    re.DOTALL,
)
_INT64, _UINT64 = range(-(2**63), 2**63), range(2**63, 2**64)
_MOST_DIGITS = 76
"""Of a Decimal, as ClickHouse has it."""


def bind_variables(text: str, variables: Mapping[str, object]) -> str:
    """The query with its variables. Raises InvalidQuery for one that is missing, or that SQL cannot have."""

    def written(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return found[0]
        if name not in variables:
            raise InvalidQuery(f"the query has no variable `{name}`", hint=did_you_mean(name, variables))
        return _literal(variables[name])

    return _PARTS.sub(written, text)


def _literal(variable: object) -> str:
    if not isinstance(variable, list) or len(variable) != 2:
        raise InvalidQuery("a variable of the query cannot be read")
    kind, value = variable
    if kind == "list":
        return f"[{', '.join(map(_literal, value))}]"
    try:
        return _scalar(str(kind), str(value))
    except (ValueError, ArithmeticError) as error:
        raise InvalidQuery(f"the variable {str(value)[:60]!r} is no {kind}") from error


def _scalar(kind: str, value: str) -> str:
    """Raises ValueError for a text that is none of its kind."""
    if kind not in _WRITERS:
        raise InvalidQuery(f"a variable of the query has the kind {kind[:60]!r}")
    return _WRITERS[kind](value)


def _text(value: str) -> str:
    return exp.Literal.string(value).sql(dialect="clickhouse")


def _integer(value: int) -> str:
    if value in _INT64 or value in _UINT64:
        return str(value) if value >= 0 else f"({value})"  # `a -{b}` is no comment
    if not -(2**255) <= value < 2**255:
        raise InvalidQuery(f"the variable {str(value)[:20]}… has more than 256 bits")
    return f"toInt256({_text(str(value))})"


def _float(value: float) -> str:
    return "nan" if math.isnan(value) else repr(value)


def _decimal(value: Decimal) -> str:
    if not value.is_finite() or len(value.as_tuple().digits) > _MOST_DIGITS:
        raise InvalidQuery(f"the variable {str(value)[:60]} is no Decimal of {_MOST_DIGITS} digits")
    scale = max(-int(value.as_tuple().exponent), 0)
    return f"toDecimal128({_text(format(value, 'f'))}, {scale})"


def _time(value: str, zone: str = "") -> str:
    return f"toDateTime64({_text(datetime.fromisoformat(value).isoformat(' ', 'microseconds'))}, 6{zone})"


_WRITERS: Mapping[str, Callable[[str], str]] = {
    "null": lambda _: "NULL",
    "bool": lambda value: "true" if value == "true" else "false",
    "name": lambda value: exp.to_identifier(value, quoted=True).sql(dialect="clickhouse"),
    "text": _text,
    "int": lambda value: _integer(int(value)),
    "float": lambda value: f"toFloat64({_text(_float(float(value)))})",
    "decimal": lambda value: _decimal(Decimal(value)),
    "date": lambda value: f"toDate32({_text(date.fromisoformat(value).isoformat())})",
    "time": _time,
    "moment": lambda value: _time(value, ", 'UTC'"),
}
"""By the kind of a variable, its literal."""
