"""Parse one JSON value into the value that a column stores, by ClickHouse's rules for JSON input.

In: a value as `json` decodes it (numbers with a point as `JsonNumber`) and a column type. Out: a Python value that
Arrow accepts for the stored type; dates as days and times as microseconds since 1970. Raises `InvalidValue`.
Invariant: nothing is rounded or wrapped: a value that does not fit is refused (only digits of a time beyond its
precision are cut off); a time without an offset is in the column's time zone. A value never makes a converter build a
number of unbounded size. Source: ClickHouse's documentation of the JSONEachRow format.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import math
import re
import uuid
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from zoneinfo import ZoneInfo

from penstock.model import types as t
from penstock.model.json_documents.documents import store_document
from penstock.model.json_documents.json_syntax import InvalidDocument
from penstock.model.json_documents.numbers import JsonNumber
from penstock.model.json_documents.path_rules import rules_of

ValueConverter = Callable[[object], object]

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_EXACT_CONTEXT = Context(prec=76)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_SECONDS = re.compile(r"(-?\d+)(?:\.(\d+))?", re.ASCII)
_LONGEST_TIME = 64
"""More characters than any text of a time has; a longer one is refused unread, and never kept in the cache."""


class InvalidValue(ValueError):
    """A value that the column's type cannot hold; the message says why."""


def value_converter(of: t.Type) -> ValueConverter:  # noqa: C901, PLR0911, PLR0912 - one case a kind of type
    """The function that converts values of a type. It is never called with None: `row_parser` handles absent values."""
    match of:
        case t.Nullable(inner) | t.LowCardinality(inner) | t.SimpleAggregateFunction(_, inner):
            return value_converter(inner)
        case t.Int():
            return _integer_converter(of)
        case t.Json():
            return _json_converter(of)
        case t.Decimal(precision, scale):
            return lambda value: _decimal(value, precision, scale)
        case t.FixedString(length):
            return lambda value: _fixed_string(value, length)
        case t.DateTime(zone):
            _time_zone(None, zone)  # a zone that this machine lacks is no fault of the rows
            return lambda value: parse_timestamp(value, 0, zone, (0, 2**32 - 1))
        case t.DateTime64(precision, zone) if precision > 6:
            _time_zone(None, zone)
            return lambda value: parse_fine_time(value, precision, zone)
        case t.DateTime64(precision, zone):
            _time_zone(None, zone)
            return lambda value: parse_timestamp(value, precision, zone, (-2208988800, 10413791999))
        case t.Date():
            return lambda value: parse_date(value, of)
        case t.Enum(_, values):
            return _enum_converter(dict(values))
        case t.Array() | t.Tuple() | t.Map():
            return _nested_converter(of)
        case t.AggregateFunction():
            return _reject_state
        case _:
            return _PLAIN_CONVERTERS[type(of)]


def _nested_converter(of: t.Array | t.Tuple | t.Map) -> ValueConverter:
    match of:
        case t.Array(inner):
            element = _element_converter(inner)
            return lambda value: [element(each) for each in _json_array(value)]
        case t.Map(key, inner):
            keys, values = value_converter(key), _element_converter(inner)
            return lambda value: [(keys(k), values(v)) for k, v in _json_object(value).items()]
        case t.Tuple(fields):
            return _tuple_converter(fields)


def _element_converter(of: t.Type) -> ValueConverter:
    convert, may_be_null = value_converter(of), t.is_nullable(of)

    def element(value: object) -> object:
        if value is None:
            if may_be_null:
                return None
            raise InvalidValue(f"null where {of} was expected")
        return convert(value)

    return element


def _tuple_converter(fields: tuple[tuple[str | None, t.Type], ...]) -> ValueConverter:
    names = [name or f"_{position}" for position, (name, _) in enumerate(fields, 1)]
    elements = [_element_converter(of) for _, of in fields]

    def convert(value: object) -> object:
        if isinstance(value, dict):
            parts = [value.get(name) for name in names]
        else:
            parts = _json_array(value)
        if len(parts) != len(names):
            raise InvalidValue(f"{len(parts)} values where {len(names)} were expected")
        return {name: element(part) for name, element, part in zip(names, elements, parts, strict=True)}

    return convert


def _json_array(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    raise InvalidValue(f"{format_value(value)} where an array was expected")


def _json_object(value: object) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise InvalidValue(f"{format_value(value)} where an object was expected")


def _integer_converter(of: t.Int) -> ValueConverter:
    low, high = of.low, of.high

    def convert(value: object) -> object:
        number = _whole_number(value, of)
        if low <= number <= high:
            return Decimal(number) if of.bits == 64 and not of.signed else number
        raise InvalidValue(f"{format_value(number)} is outside {of} ({low} to {high})")

    return convert


def _whole_number(value: object, of: t.Int) -> int:
    if type(value) is int:
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, JsonNumber):
        exact = _exact_number(value)
        # The bound keeps 1e999999999 from being written out.
        if exact.adjusted() < 40 and exact == exact.to_integral_value(context=_EXACT_CONTEXT):
            return int(exact)
    elif isinstance(value, str) and len(value) < 80 and _INTEGER.fullmatch(value):
        return int(value)
    raise InvalidValue(f"{format_value(value)} is not {'an' if of.signed else 'a'} {of}")


def _exact_number(value: int | str) -> Decimal:
    """The number, exactly. Raises InvalidValue, also for an exponent that no Decimal can have."""
    try:
        exact = Decimal(value)
    except InvalidOperation:
        raise InvalidValue(f"{format_value(value)} is not a number") from None
    if exact.is_finite() and (not isinstance(value, str) or _is_plain_number(value)):
        return exact
    raise InvalidValue(f"{format_value(value)} is not a number")


def _float64(value: object) -> object:
    if isinstance(value, JsonNumber):
        return float(value)
    if isinstance(value, int):  # true is 1, as ClickHouse has it
        try:
            return float(value)
        except OverflowError:  # infinite, like 1e400
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and _is_plain_number(value):
        try:
            return float(value)
        except ValueError:
            pass
    raise InvalidValue(f"{format_value(value)} is not a number")


def _is_plain_number(text: str) -> bool:
    """Whether a text that Python reads as a number is one for ClickHouse too. Python also takes `1_000`, the digits of
    other scripts, and spaces around."""
    return text.isascii() and "_" not in text and text == text.strip()


def _decimal(value: object, precision: int, scale: int) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise InvalidValue(f"{format_value(value)} is not a number")
    exact = _exact_number(value)
    if exact.adjusted() >= precision - scale:
        raise InvalidValue(f"{format_value(value)} is outside Decimal({precision}, {scale})")
    try:
        fitted = exact.quantize(Decimal(1).scaleb(-scale), context=_EXACT_CONTEXT)
    except InvalidOperation:
        raise InvalidValue(f"{format_value(value)} is not a Decimal({precision}, {scale})") from None
    if fitted != exact:
        raise InvalidValue(f"{format_value(value)} has more than {scale} digits after the point")
    return fitted


def _bool(value: object) -> object:
    if isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise InvalidValue(f"{format_value(value)} is not true or false")


def _string(value: object) -> object:
    if isinstance(value, str):
        return _check_encodable(str(value))
    return _check_encodable(to_json(value))


def _check_encodable(text: str) -> str:
    """The text, unless it has half of a surrogate pair, which JSON may escape and UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidValue("the text has half of a surrogate pair") from None
    return text


def to_json(value: object) -> str:
    """Compact JSON of a decoded value, with numbers as they were written."""
    if isinstance(value, JsonNumber):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{to_json(of)}" for key, of in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(to_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _fixed_string(value: object, length: int) -> object:
    text = _string(value)
    assert isinstance(text, str)
    if len(text.encode()) > length:
        raise InvalidValue(f"{format_value(value)} is longer than {length} bytes")
    return text


def _uuid(value: object) -> object:
    if isinstance(value, str) and _UUID.fullmatch(value):
        return str(uuid.UUID(value))
    raise InvalidValue(f"{format_value(value)} is not a UUID")


def _ipv4(value: object) -> object:
    return _ip_address(value, ipaddress.IPv4Address)


def _ipv6(value: object) -> object:
    return _ip_address(value, ipaddress.IPv6Address)


def _ip_address(value: object, kind: type) -> object:
    if isinstance(value, str) and "%" not in value:  # Python takes an interface after it, and any text there
        try:
            return str(kind(value))
        except ValueError:
            pass
    raise InvalidValue(f"{format_value(value)} is not an {kind.__name__.removesuffix('Address')} address")


def _json_converter(of: t.Json) -> ValueConverter:
    rules = rules_of(of.rules())

    def convert(value: object) -> object:
        try:
            return store_document(value, rules)
        except InvalidDocument as error:
            raise InvalidValue(str(error)) from None

    return convert


def _reject_state(value: object) -> object:
    raise InvalidValue("an aggregate state cannot be ingested; only a materialized view fills this column")


def _enum_converter(values: dict[str, int]) -> ValueConverter:
    by_number = {number: name for name, number in values.items()}

    def convert(value: object) -> object:
        if isinstance(value, str) and value in values:
            return str(value)
        if type(value) is int and value in by_number:
            return by_number[value]
        raise InvalidValue(f"{format_value(value)} is not one of {', '.join(values)}")

    return convert


_PLAIN_CONVERTERS: dict[type, ValueConverter] = {
    t.Float: _float64,
    t.Bool: _bool,
    t.String: _string,
    t.UUID: _uuid,
    t.IPv4: _ipv4,
    t.IPv6: _ipv6,
}


def parse_date(value: object, of: t.Date) -> int:
    """Days since 1970, from a number of days or a text. Raises InvalidValue."""
    low, high = (-25567, 120529) if of.wide else (0, 65535)
    if type(value) is int:
        days = value
    else:
        days = _nanos_from_text(value, None) // 86_400_000_000_000
    if low <= days <= high:
        return days
    raise InvalidValue(f"{format_value(value)} is outside {of}")


def parse_timestamp(value: object, precision: int, zone: str | None, seconds: tuple[int, int]) -> int:
    """Microseconds since 1970, cut off at `precision` digits of a second, at most six; `seconds` is the range of the
    type. Raises InvalidValue."""
    return _parse_nanoseconds(value, precision, zone, seconds) // 1000


def parse_fine_time(value: object, precision: int, zone: str | None) -> Decimal:
    """Seconds since 1970 with nine digits after the point, cut off at `precision` digits. Raises InvalidValue."""
    last = 10413791999 if precision < 9 else 9223372035
    nanos = _parse_nanoseconds(value, precision, zone, (-2208988800, last))
    return Decimal(nanos).scaleb(-9, _EXACT_CONTEXT)


def _parse_nanoseconds(value: object, precision: int, zone: str | None, seconds: tuple[int, int]) -> int:
    """Nanoseconds since 1970, cut off at `precision` digits of a second."""
    if isinstance(value, (int, JsonNumber)):
        nanos = _nanos_from_number(value, precision)
    else:
        nanos = _nanos_from_text(value, zone)
    nanos -= nanos % 10 ** (9 - precision)
    if seconds[0] <= nanos // 1_000_000_000 <= seconds[1]:
        return nanos
    raise InvalidValue(f"{format_value(value)} is outside what the type holds")


def _nanos_from_number(value: object, precision: int) -> int:
    """Nanoseconds from a number: whole numbers count units of the type's precision, as in ClickHouse; numbers with a
    point count seconds."""
    if isinstance(value, bool):
        raise InvalidValue(f"{format_value(value)} is not a time")
    if isinstance(value, int):
        return value * 10 ** (9 - precision)
    if not isinstance(value, JsonNumber):
        raise InvalidValue(f"{format_value(value)} is not a time")
    return _nanos_from_seconds(value)


def _nanos_from_seconds(value: str) -> int:
    """Nanoseconds from a text of seconds that may have a point; what is below a nanosecond is cut off."""
    exact = _exact_number(value)
    if exact.adjusted() > 12:
        raise InvalidValue(f"{format_value(value)} is outside what the type holds")
    return math.floor(exact.scaleb(9, _EXACT_CONTEXT)) if exact.adjusted() > -40 else 0


def _nanos_from_text(value: object, zone: str | None) -> int:
    if not isinstance(value, str) or len(value) > _LONGEST_TIME:
        raise InvalidValue(f"{format_value(value)} is not a time")
    return _parse_timestamp_text(value, zone)


@lru_cache(maxsize=8192)
def _parse_timestamp_text(text: str, zone: str | None) -> int:
    """Nanoseconds since 1970 of a text such as 2013-01-01 10:00:00, 2013-01-01T10:00:00.123Z, a
    day, or seconds since 1970. A text without an offset is in `zone` (None: UTC)."""
    found = _TIMESTAMP.fullmatch(text.strip())
    if found is None:
        return _parse_seconds_text(text)
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    try:
        local = dt.datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
        nanos = int((fraction or "0")[:9].ljust(9, "0"))
        aware = local.replace(tzinfo=_time_zone(offset, zone))
    except ValueError as error:
        raise InvalidValue(f"{format_value(text)} is not a time: {error}") from None
    return (aware - _EPOCH) // dt.timedelta(seconds=1) * 1_000_000_000 + nanos


def _parse_seconds_text(text: str) -> int:
    found = _SECONDS.fullmatch(text.strip())
    if found is None or not 9 <= len(found.group(1).lstrip("-")) <= 11:
        raise InvalidValue(f"{format_value(text)} is not a time (expected YYYY-MM-DD hh:mm:ss)")
    return _nanos_from_seconds(found.group())


def _time_zone(offset: str | None, zone: str | None) -> dt.tzinfo:
    if offset is None:
        return ZoneInfo(zone) if zone else dt.timezone.utc
    if offset == "Z":
        return dt.timezone.utc
    sign = -1 if offset[0] == "-" else 1
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return dt.timezone(sign * dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))


def format_value(value: object) -> str:
    """The value as JSON for an error message, at most 60 characters."""
    if isinstance(value, JsonNumber):
        text = str(value)
    elif isinstance(value, str):
        text = json.dumps(value[:60], ensure_ascii=False)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
