"""Values of Python as literals of SQL.

In: a value. Out: one literal, of the type that its class has. Invariant: whatever a text holds, a quote, a comment, a
line end or the marks of a template, it stays inside of its literal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias, Union
from uuid import UUID

SqlValue: TypeAlias = Union[
    str, int, float, Decimal, date, UUID, IPv4Address, IPv6Address, Enum, "list[SqlValue]", "tuple[SqlValue, ...]", None
]
"""What has a literal; `bool` is an `int`, and `datetime` a `date`."""

_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'"} | {chr(code): f"\\x{code:02X}" for code in (*range(32), 127)})
_MARK_BEGINS = re.compile(r"\{(?=[{%#])")
"""The first letter of what a template would read as its own."""
_FIRST_DATE, _LAST_DATE = date(1970, 1, 1), date(2149, 6, 6)
"""Between which a day is a Date, and no Date32."""
_MOST_DIGITS = 38
_ESCAPED_BRACE = r"\\x7B"


def sql_literal(value: object) -> str:
    """The literal of a value. Raises TypeError for one that has none."""
    if value is None:
        return "NULL"
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    kinds = "texts, numbers, booleans, dates, times, UUIDs, addresses, Enums, and lists and tuples of these"
    raise TypeError(f"a {type(value).__name__} is no value of SQL, and no table or column: {kinds} are")


def _enum(value: object) -> str:
    assert isinstance(value, Enum)
    return sql_literal(value.value)


def _bool(value: object) -> str:
    return "true" if value else "false"


def _text(value: object) -> str:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TypeError("a text has half of a surrogate pair, which is no character") from None
    return f"'{_MARK_BEGINS.sub(_ESCAPED_BRACE, text.translate(_ESCAPES))}'"


def _integer(value: object) -> str:
    assert isinstance(value, int)
    if not -(2**63) <= value < 2**64:
        raise TypeError("a number of more than 64 bits has no literal: convert a text, as in toInt256({name})")
    return _signed(str(int(value)))


def _float(value: object) -> str:
    assert isinstance(value, float)
    if not math.isfinite(value):
        raise TypeError(f"{value} has no literal: SQL has the names nan and inf")
    return _signed(repr(float(value)))


def _signed(text: str) -> str:
    """A number; behind a minus, one below 0 would begin a comment."""
    return f"({text})" if text.startswith("-") else text


def _decimal(value: object) -> str:
    assert isinstance(value, Decimal)
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or value.adjusted() >= _MOST_DIGITS or exponent < -_MOST_DIGITS:
        raise TypeError(f"{value} is no Decimal of at most {_MOST_DIGITS} digits")
    return f"toDecimal128('{value:f}', {max(0, -exponent)})"


def _time(value: object) -> str:
    """A moment; one without a zone is of UTC."""
    assert isinstance(value, datetime)
    _require_year(value)
    if getattr(value, "nanosecond", 0):  # of pandas
        raise TypeError(f"{value} has nanoseconds, which a datetime has not: write toDateTime64({{name}}, 9) of a text")
    moment = value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo is not None else value
    _require_year(moment)
    return f"toDateTime64('{moment.isoformat(' ', 'microseconds')}', 6, 'UTC')"


def _require_year(value: date) -> None:
    """Raises TypeError for a time that SQL would move to the first or last one that it has, and for no time."""
    if not 1900 <= value.year <= 2299:
        raise TypeError(f"{value} is no time between 1900 and 2299, which are those of SQL")


def _day(value: object) -> str:
    assert isinstance(value, date)
    _require_year(value)
    function = "toDate" if _FIRST_DATE <= value <= _LAST_DATE else "toDate32"
    return f"{function}('{value.isoformat()}')"


def _list(value: object) -> str:
    assert isinstance(value, list)
    return f"[{', '.join(map(sql_literal, value))}]"


def _tuple(value: object) -> str:
    """Several values, as after IN."""
    assert isinstance(value, tuple)
    if not value:
        raise TypeError("an empty tuple has no literal: IN needs one value")
    return f"({', '.join(map(sql_literal, value))})"


def _call(function: str) -> Callable[[object], str]:
    return lambda value: f"{function}('{value}')"


_WRITERS: tuple[tuple[type, Callable[[object], str]], ...] = (
    (Enum, _enum),
    (bool, _bool),
    (str, _text),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (datetime, _time),
    (date, _day),
    (UUID, _call("toUUID")),
    (IPv4Address, _call("toIPv4")),
    (IPv6Address, _call("toIPv6")),
    (list, _list),
    (tuple, _tuple),
)
"""The first kind that a value is decides."""
