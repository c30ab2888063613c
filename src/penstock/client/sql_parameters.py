"""Parameters of SQL: `{name}` stands for a value, which is bound on the server.

In: SQL and values by name. Out: a template whose parameters are typed, and their texts. Invariants: no value becomes a
part of the text that is sent; the type in which a value is bound is that of its class in Python, so it is compared as
such; braces in quotes and comments are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias
from uuid import UUID

from penstock.client.client_error import ClientError
from penstock.client.rows.sendable_values import UnsendableValue, sendable
from penstock.errors import did_you_mean
from penstock.parse.sql_syntax.source_text import COMMENT, QUOTED

_PARTS = re.compile(rf"(?P<other>{COMMENT}|{QUOTED})|\{{(?P<name>[A-Za-z_]\w*)\}}", re.DOTALL)
_MARK = re.compile(r"\{\{|\{%|\{#")
_LARGEST_SCALE = 38


@dataclass(frozen=True, slots=True)
class BoundSql:
    """A template, and the texts of its parameters."""

    text: str
    values: Mapping[str, str]


@dataclass(slots=True)
class _Binding:
    values: dict[str, str] = field(default_factory=dict)

    def add(self, function: str, text: str) -> str:
        """A typed parameter of the template with this text as its value."""
        name = f"bound_{len(self.values)}"
        self.values[name] = text
        return f"{{{{{function}({name})}}}}"

    def sql(self, value: object) -> str:
        """The SQL that stands for a value. Raises ClientError."""
        for kind, write in _WRITERS:
            if isinstance(value, kind):
                return write(self, value)
        if value is None:
            return "NULL"
        kinds = "texts, numbers, booleans, dates, times, UUIDs, addresses, Enums, lists and tuples"
        raise ClientError(f"a {type(value).__name__} is no value of a parameter", hint=kinds, code="wrong-usage")


def bind_parameters(text: str, given: Mapping[str, object]) -> BoundSql:
    """The SQL as a template. Raises ClientError for a name without a value, and a value that no name stands for."""
    if _MARK.search(text):
        hint = "a template begins with %, and has its parameters as {{String(name)}}"
        raise ClientError("the query has marks of a template, and is none", hint=hint, code="wrong-usage")
    binding, written = _Binding(), dict[str, str]()

    def write(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return found[0]
        if name not in given:
            message = f"the parameter `{name}` is not given"
            raise ClientError(message, hint=did_you_mean(name, given), code="wrong-usage")
        if name not in written:
            written[name] = binding.sql(given[name])
        return written[name]

    made = _PARTS.sub(write, text)
    unused = next((name for name in given if name not in written), None)
    if unused is not None:
        hint = "write {" + str(unused) + "} where it stands, outside of quotes"
        raise ClientError(f"the query does not use the parameter `{unused}`", hint=hint, code="wrong-usage")
    return BoundSql(f"%\n{made}", binding.values)


def _bool(binding: _Binding, value: object) -> str:
    return "true" if value else "false"


def _text(binding: _Binding, value: object) -> str:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ClientError(
            "a parameter has half of a surrogate pair, which is no character", code="wrong-usage"
        ) from None
    return binding.add("String", text)


def _integer(binding: _Binding, value: object) -> str:
    assert isinstance(value, int)
    for function, low, high in (("Int64", -(2**63), 2**63), ("UInt64", 0, 2**64)):
        if low <= value < high:
            return binding.add(function, str(int(value)))
    raise ClientError("a number of more than 64 bits is bound as a text: give it as one", code="wrong-usage")


def _float(binding: _Binding, value: object) -> str:
    assert isinstance(value, float)
    return binding.add("Float64", repr(float(value)))


def _decimal(binding: _Binding, value: object) -> str:
    assert isinstance(value, Decimal)
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or value.adjusted() > _LARGEST_SCALE or exponent < -_LARGEST_SCALE:
        raise ClientError(f"{value} is no Decimal of at most {_LARGEST_SCALE} digits", code="wrong-usage")
    return f"toDecimal128({binding.add('String', f'{value:f}')}, {max(0, -exponent)})"


def _time(binding: _Binding, value: object) -> str:
    """A moment in UTC, or a text, which is a time of the zone of what it is compared with; pandas' NaT is NULL."""
    try:
        text = sendable(value)
    except UnsendableValue as fault:
        raise ClientError(f"a parameter cannot be sent: {fault}", code="wrong-usage") from None
    if text is None:
        return "NULL"
    seconds, _, fraction = str(text).removesuffix("Z").partition(".")
    digits = 9 if fraction.rstrip("0")[6:] else 6
    if not str(text).endswith("Z"):
        return binding.add("String", f"{seconds}.{fraction[:digits]}" if fraction else seconds)
    return f"toDateTime64({binding.add('String', f'{seconds}.{fraction:0<9}'[: 20 + digits])}, {digits}, 'UTC')"


def _list(binding: _Binding, value: object) -> str:
    assert isinstance(value, list)
    return f"[{', '.join(map(binding.sql, value))}]"


def _tuple(binding: _Binding, value: object) -> str:
    """Several values, as after IN."""
    assert isinstance(value, tuple)
    if not value:
        raise ClientError("an empty tuple is no value of a parameter", hint="IN needs one value", code="wrong-usage")
    return f"({', '.join(map(binding.sql, value))})"


def _wrap(function: str) -> Callable[[_Binding, object], str]:
    return lambda binding, value: f"{function}({binding.add('String', str(value))})"


def _enum(binding: _Binding, value: object) -> str:
    assert isinstance(value, Enum)
    return binding.sql(value.value)


Writer: TypeAlias = Callable[[_Binding, object], str]
_WRITERS: tuple[tuple[type, Writer], ...] = (
    (Enum, _enum),
    (bool, _bool),
    (str, _text),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (datetime, _time),
    (date, _wrap("toDate32")),
    (UUID, _wrap("toUUID")),
    (IPv4Address, _wrap("toIPv4")),
    (IPv6Address, _wrap("toIPv6")),
    (list, _list),
    (tuple, _tuple),
)
"""By class, the first that fits."""
