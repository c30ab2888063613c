"""Values of a query's result as JSON, by ClickHouse's conventions.

In: a type, and how inf and nan are written, for which JSON has no number. Out: a function from a Python value of that
type to a value that orjson writes. Invariant: NULL is null whatever the type; a number keeps all its digits.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from zoneinfo import ZoneInfo

import orjson

from penstock.errors import InvalidRequest
from penstock.model import types as t
from penstock.model.json_documents.documents import shown_json
from penstock.model.json_documents.dynamic_values import quoted_text
from penstock.model.json_documents.numbers import written_float

Converter = Callable[[object], object]
WIDEST = 2**63
MOST_LEVELS = 250
"""The levels that a value of JSON has at most. Source: orjson's limit of 254, of which a row is one."""
_UNQUOTED = (t.Int, t.Float, t.Decimal, t.Bool, t.Tuple, t.Array, t.Map)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


NonFinite = Callable[[float], object]


def check_levels(columns: Sequence[tuple[str, t.Type]], most: int) -> None:
    """Raises InvalidRequest for a column whose type nests deeper than a format takes."""
    for name, of in columns:
        if (found := t.count_levels(of)) > most:
            message = f"the type of `{name[:60]}` has {found} levels, and this format takes {most}"
            raise InvalidRequest(message, hint=f"ask for a part of the value, or for JSON, which takes {MOST_LEVELS}")


def null_for_non_finite(value: float) -> object:
    """As ClickHouse writes inf and nan in JSON."""
    return None


def text_for_non_finite(value: float) -> object:
    """As ClickHouse writes them in JSON with `output_format_json_quote_denormals`: `"inf"`, `"-inf"`, `"nan"`."""
    return _non_finite_name(value)


def bare_non_finite(value: float) -> object:
    """As ClickHouse writes them in CSV: bare words."""
    return orjson.Fragment(_non_finite_name(value))


def _non_finite_name(value: float) -> str:
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def json_converter(of: t.Type, non_finite: NonFinite = null_for_non_finite) -> Converter:
    """The function that converts values of the type for JSON; NULL stays null."""
    show = _value_converter(t.unwrap_type(of), non_finite)
    return lambda value: None if value is None else show(value)


def _value_converter(of: t.Type, non_finite: NonFinite) -> Converter:  # noqa: C901, PLR0911 - one case a kind of type
    match of:
        case t.Int():
            return _integer
        case t.Float(bits):
            return partial(_float32 if bits == 32 else _float, non_finite)
        case t.Decimal():
            return _decimal
        case t.Date():
            return str
        case t.DateTime(zone):
            return _time_converter(zone, 0)
        case t.DateTime64(precision, zone) if precision > 6:
            return _fine_time_converter(zone, precision)
        case t.DateTime64(precision, zone):
            return _time_converter(zone, precision)
        case t.Json():
            return _document
        case t.Dynamic():
            return partial(_dynamic, non_finite)
        case t.Array() | t.Tuple() | t.Map():
            return _nested_converter(of, non_finite)
        case _:
            return partial(_plain, non_finite)


def _nested_converter(of: t.Array | t.Tuple | t.Map, non_finite: NonFinite) -> Converter:
    match of:
        case t.Array(inner):
            show = json_converter(inner, non_finite)
            return lambda value: [show(each) for each in items_of(value)]
        case t.Map(key, inner):
            show_key, show_value = text_converter(key), json_converter(inner, non_finite)
            return lambda value: {show_key(k): show_value(v) for k, v in entries_of(value)}
        case t.Tuple(fields):
            shows = [json_converter(inner, non_finite) for _, inner in fields]
            names = [name for name, _ in fields]
            if any(name is None for name in names):
                return lambda value: [show(each) for show, each in zip(shows, items_of(value), strict=True)]
            return lambda value: {
                str(name): show(each) for name, show, each in zip(names, shows, items_of(value), strict=True)
            }


def items_of(value: object) -> Sequence[object]:
    """The elements of an array or a tuple."""
    return value if isinstance(value, Sequence) else [value]


def entries_of(value: object) -> Sequence[tuple[object, object]]:
    """The keys and values of a map."""
    return list(value.items()) if isinstance(value, Mapping) else []


def text_converter(of: t.Type) -> Callable[[object], str]:
    """The function that writes a value as text, as for a key of a map and a cell of CSV: tuples, arrays and maps as
    ClickHouse does, `(1,['a'],{'k':NULL})`."""
    match t.unwrap_type(of):
        case t.Tuple(fields):
            parts = [_part_converter(inner) for _, inner in fields]
            return lambda key: f"({','.join(part(each) for part, each in zip(parts, items_of(key), strict=True))})"
        case t.Array(inner):
            element = _part_converter(inner)
            return lambda key: f"[{','.join(map(element, items_of(key)))}]"
        case t.Map(inner_key, inner):
            show_key, show_value = _part_converter(inner_key), _part_converter(inner)
            return lambda key: f"{{{','.join(f'{show_key(k)}:{show_value(v)}' for k, v in entries_of(key))}}}"
        case _:
            show = json_converter(of, text_for_non_finite)
            return lambda key: key_text(show(key))


def _part_converter(of: t.Type) -> Callable[[object], str]:
    """The function that writes a part of such a value: texts and times are quoted."""
    plain = t.unwrap_type(of)
    if isinstance(plain, t.Dynamic):
        shown = json_converter(plain, text_for_non_finite)
        return lambda part: _dynamic_part(shown(part))
    show, bare = text_converter(of), isinstance(plain, _UNQUOTED)
    return lambda part: "NULL" if part is None else show(part) if bare else quoted_text(show(part))


def _dynamic_part(value: object) -> str:
    return "NULL" if value is None else quoted_text(value) if isinstance(value, str) else key_text(value)


def key_text(value: object) -> str:
    """A key of a map as text: floats as ClickHouse writes them, so 1.0 is `1` and 1e16 has all its digits."""
    match value:
        case str():
            return value
        case float():
            return written_float(value)
        case _:
            return orjson.dumps(value).decode()


def _integer(value: object) -> object:
    number = int(value) if isinstance(value, Decimal) else value
    if isinstance(number, int) and not -WIDEST <= number < 2 * WIDEST:
        return orjson.Fragment(str(number))
    return number


def _float(non_finite: NonFinite, value: object) -> object:
    return value if not isinstance(value, float) or math.isfinite(value) else non_finite(value)


def _float32(non_finite: NonFinite, value: object) -> object:
    """The shortest number that is the same Float32: 0.1, not 0.10000000149011612."""
    if not isinstance(value, float) or not math.isfinite(value):
        return _float(non_finite, value)
    stored = struct.pack("f", value)
    shortest = (float(f"{value:.{digits}g}") for digits in range(6, 10))
    return next((short for short in shortest if struct.pack("f", short) == stored), value)


def _decimal(value: object) -> object:
    if not isinstance(value, Decimal):
        return value
    text = f"{value:f}"
    return orjson.Fragment((text.rstrip("0").rstrip(".") or "0") if "." in text else text)


def _time_converter(zone: str | None, digits: int) -> Converter:
    zone_info = ZoneInfo(zone) if zone else dt.timezone.utc

    def show(value: object) -> object:
        if not isinstance(value, dt.datetime):
            return str(value)
        # A moment without a zone is in UTC: the server runs in UTC, and so does its Spark session.
        aware = value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)
        local = aware.astimezone(zone_info)
        fraction = f".{local.microsecond:06d}"[: digits + 1] if digits else ""
        return f"{local:%Y-%m-%d %H:%M:%S}{fraction}".rjust(19 + len(fraction), "0")

    return show


def _fine_time_converter(zone: str | None, digits: int) -> Converter:
    """Times that are stored as decimal seconds, because they are finer than Python's."""
    whole = _time_converter(zone, 0)

    def show(value: object) -> object:
        if not isinstance(value, Decimal):
            return str(value)
        seconds, nanos = divmod(int(value.scaleb(9)), 10**9)
        moment = _EPOCH + dt.timedelta(seconds=seconds)
        return f"{whole(moment)}.{nanos:09d}"[: 20 + digits]

    return show


def _document(value: object) -> object:
    try:
        orjson.loads(str(value))
    except orjson.JSONDecodeError:
        return str(value)
    return orjson.Fragment(shown_json(str(value)))


def _dynamic(non_finite: NonFinite, value: object) -> object:
    """A value of a type of its own, which Spark has as a struct of the name of this type, the value's text and its
    JSON. An expression that made the value gives no JSON."""
    kind, text, written = map(str, items_of(value))
    if written != "None":
        return orjson.Fragment(written)
    if kind.startswith("Float"):
        return _float(non_finite, float(text))
    if kind == "Bool":
        return text == "true"
    return orjson.Fragment(text) if kind.startswith(("Int", "UInt")) else text


def _plain(non_finite: NonFinite, value: object) -> object:
    """Text, booleans, and states of aggregate functions, by their Python type."""
    match value:
        case bool() | str():
            return value
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case int():
            return _integer(value)
        case float():
            return _float(non_finite, value)
        case Decimal():
            return _decimal(value)
        case Mapping():
            return {key_text(_plain(non_finite, k)): _plain(non_finite, v) for k, v in value.items()}
        case list() | tuple():
            return [None if each is None else _plain(non_finite, each) for each in value]
        case _:
            return str(value)
