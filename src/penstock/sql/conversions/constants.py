"""A constant as a value of a column's type: what ClickHouse stores for `DEFAULT '2020-01-01'`.

In: the value of a constant, and a type without Nullable. Out: Spark SQL that is made of literals and casts alone, so
that it is known to be constant, or None for a pair of types that has no such form. Raises ValueError if the type has no
such value. Invariant: it is the value that ClickHouse converts the constant to: Spark's own casts round decimals, read
times in UTC, and leave UUIDs and addresses as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_DOWN, Context, Decimal
from ipaddress import IPv4Address, IPv6Address
from zoneinfo import ZoneInfo

from penstock.model import types as t
from penstock.model.json_documents.documents import store_text
from penstock.model.json_documents.json_syntax import InvalidDocument
from penstock.model.json_documents.path_rules import rules_of
from penstock.model.types import Type
from penstock.sql.conversions.literals import is_skipped, parse_literal
from penstock.sql.expr.dates import zone_of
from penstock.sql.expr.ip_addresses import ip_literal_digits
from penstock.sql.expr.spark_types import FINE_TIME, is_fine_time
from penstock.sql.expr.typed import Constant
from penstock.sql.spark_text import string_literal

_EPOCH = datetime(1970, 1, 1)
_DAYS = 2**16
"""A number from this on is a number of seconds for a Date, not of days."""
_SECONDS = 2**32
_DIGITS = Context(prec=100)


def written_constant(constant: Constant, of: Type) -> str | None:
    """The SQL; None if the pair of types has no form of literals. Raises ValueError."""
    written = _FORMS.get(type(of))
    return written(constant, of) if written is not None else None


def _text(constant: Constant, of: Type) -> str | None:
    if isinstance(constant, bool) or not isinstance(constant, (int, str)):
        return None  # Spark writes floats in another way
    if isinstance(of, t.FixedString) and len(str(constant).encode()) > of.length:
        raise ValueError(constant)
    return string_literal(str(constant))


def _known_literal(constant: Constant, of: Type) -> str | None:
    """A text that `parse_literal` gives as one literal."""
    found = parse_literal(constant, of) if isinstance(constant, str) else None
    return None if found is None else found.sql


def _day(constant: Constant, of: Type) -> str | None:
    assert isinstance(of, t.Date), "the table has this function for dates"
    if isinstance(constant, int) and 0 <= constant < _DAYS and not of.wide:
        return f"DATE'{date(1970, 1, 1) + timedelta(days=constant)}'"
    return _known_literal(constant, of)


def _time(constant: Constant, of: Type) -> str | None:
    if isinstance(constant, str):
        return _written_time(constant.strip(), of)
    if isinstance(constant, int) and 0 <= constant < _SECONDS:
        return repr(int(constant))
    return None


def _written_time(written: str, of: Type) -> str | None:
    second, _, fraction = written.partition(".")
    digits = of.precision if isinstance(of, t.DateTime64) else 0
    if parse_literal(written, of) is None:
        return None
    moment = datetime.fromisoformat(second)
    if zone := zone_of(of):
        # An hour that the clock skips is read by the offset after it, one that is there twice by the offset before.
        known = moment.replace(tzinfo=ZoneInfo(zone), fold=int(is_skipped(moment, zone)))
        moment = known.astimezone(timezone.utc).replace(tzinfo=None)
    elif isinstance(of, t.DateTime):
        moment = min(max(moment, _EPOCH), _EPOCH + timedelta(seconds=_SECONDS - 1))
    kept = fraction[:digits]
    if not is_fine_time(of):
        return f"TIMESTAMP'{moment.isoformat(sep=' ')}{'.' if kept else ''}{kept}'"
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    exact = Decimal(seconds) + Decimal(f"0.{kept.ljust(9, '0')}")
    return f"CAST('{exact:f}' AS {FINE_TIME})"


def _enum(constant: Constant, of: Type) -> str | None:
    assert isinstance(of, t.Enum), "the table has this function for enums"
    if isinstance(constant, str):
        return _known_literal(constant, of)
    name = next((name for name, number in of.values if number == constant), None)
    if name is None:
        raise ValueError(constant)
    return string_literal(name)


def _ipv6(constant: Constant, of: Type) -> str | None:
    if not isinstance(constant, str):
        return None
    digits = ip_literal_digits(constant)
    address, end = IPv6Address(bytes.fromhex(digits)), IPv4Address(int(digits[24:], 16))
    if digits.startswith("0" * 20 + "ffff"):
        return f"'::ffff:{end}'"
    return f"'::{end}'" if digits.startswith("0" * 24) and not digits.startswith("0" * 28) else f"'{address}'"


def _decimal(constant: Constant, of: Type) -> str | None:
    """Digits that the type has no room for after the point are cut off, not rounded; a float is first multiplied, as a
    float."""
    assert isinstance(of, t.Decimal), "the table has this function for decimals"
    if isinstance(constant, float):
        value = Decimal(int(constant * float(10**of.scale))).scaleb(-of.scale, _DIGITS)
    else:
        value = Decimal(constant.strip() if isinstance(constant, str) else int(constant))
    value = value.quantize(Decimal(1).scaleb(-of.scale), ROUND_DOWN, _DIGITS)
    if value.is_nan() or abs(value) >= Decimal(10) ** (of.precision - of.scale):
        raise ValueError(constant)
    return f"'{value:f}'"


def _document(constant: Constant, of: Type) -> str | None:
    assert isinstance(of, t.Json), "the table has this function for documents"
    if not isinstance(constant, str):
        return None
    try:
        return string_literal(store_text(constant, rules_of(of.rules())))
    except InvalidDocument as error:
        raise ValueError(constant) from error


_FORMS: Mapping[type[Type], Callable[[Constant, Type], str | None]] = {
    t.Date: _day,
    t.DateTime: _time,
    t.DateTime64: _time,
    t.Decimal: _decimal,
    t.Enum: _enum,
    t.FixedString: _text,
    t.IPv4: _known_literal,
    t.IPv6: _ipv6,
    t.Json: _document,
    t.String: _text,
    t.UUID: _known_literal,
}
