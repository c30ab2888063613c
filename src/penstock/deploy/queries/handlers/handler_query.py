"""SQL that a function of an endpoint asks: its `{name}` become values of SQL.

In: the text of a query, and variables as kinds and texts (`handler_process.written_value`). Out: ClickHouse SQL.
Invariants: a value is one literal, whatever is in it; a `{name}` within a string, a quoted name or a comment stays as
it is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.errors import SqlglotError

from penstock.errors import InvalidQuery, did_you_mean

_INT64, _UINT64 = range(-(2**63), 2**63), range(2**63, 2**64)
_MOST_DIGITS = 38
"""Of a Decimal."""


def bind_variables(text: str, variables: Mapping[str, object]) -> str:
    """The query with its variables. Raises InvalidQuery for one that is missing, or that SQL cannot have."""
    parts: list[str] = []
    end = 0
    for start, stop, name in _places(text):
        if name not in variables:
            raise InvalidQuery(f"the query has no variable `{name}`", hint=did_you_mean(name, variables))
        parts += [text[end:start], _literal(variables[name])]
        end = stop
    return "".join([*parts, text[end:]])


def _places(text: str) -> Iterator[tuple[int, int, str]]:
    """Where `{name}` stands: from, to and the name. The parser's own tokens say what is a text or a comment."""
    try:
        tokens = ClickHouse().tokenize(text)
    except SqlglotError as error:
        raise InvalidQuery(f"the query cannot be read: {str(error)[:200]}") from error
    for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
        name = text[second.start : second.end + 1]
        braces = (text[first.start : first.end + 1], text[third.start : third.end + 1])
        if braces == ("{", "}") and name.isidentifier():
            yield first.start, third.end + 1, name


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
    return _decimal(Decimal(value))


def _float(value: float) -> str:
    return "nan" if math.isnan(value) else repr(value)


def _decimal(value: Decimal) -> str:
    digits, exponent = (value.as_tuple().digits, value.as_tuple().exponent) if value.is_finite() else ((), 0)
    scale = max(-int(exponent), 0)
    if not digits or max(len(digits) + max(int(exponent), 0), scale) > _MOST_DIGITS:
        raise InvalidQuery(f"the variable {str(value)[:60]} has more than the {_MOST_DIGITS} digits of a Decimal")
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
