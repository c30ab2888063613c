"""A made value for a column, as JSON has it in a posted row.

In: a column's name and type, and the row's source of random numbers. Out: a value of JSON. Invariants: landing accepts
the value for the type, exactly; the same numbers give the same value.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import dataclass
from random import Random
from uuid import UUID
from zoneinfo import ZoneInfo

from penstock.cli.commands.project_tests.plausible_texts import (
    DOCUMENTS,
    POOL,
    example_ipv4,
    example_ipv6,
    is_identity,
    plausible_document,
    plausible_text,
    words_of_column,
)
from penstock.model import types as t

NULL_SHARE = 0.1
_FRACTIONS: dict[str, tuple[float, float]] = {
    "lat": (-90, 90),
    "latitude": (-90, 90),
    "lon": (-180, 180),
    "lng": (-180, 180),
    "longitude": (-180, 180),
    "rate": (0, 1),
    "ratio": (0, 1),
    "share": (0, 1),
    "probability": (0, 1),
    "percent": (0, 100),
    "percentage": (0, 100),
    "temperature": (-20, 40),
}
_WHOLE: dict[str, tuple[int, int]] = {
    "age": (18, 90),
    "bytes": (100, 1_000_000),
    "duration": (1, 5000),
    "latency": (1, 5000),
    "ms": (1, 5000),
    "quantity": (1, 10),
    "size": (100, 1_000_000),
}
"""The least and the greatest number by a word of the column's name."""
_STATUSES = (200, 200, 200, 201, 301, 400, 404, 500)
_PARTS_OF_TIME = ("year", "month", "day", "hour", "minute")
_TIMES = ("at", "time", "timestamp", "ts", "date", "datetime", "ms", "epoch")


@dataclass(frozen=True, slots=True)
class RowDraw:
    """What the values of one row are drawn from."""

    number: int
    """Of the row, from 0."""
    random: Random
    moment: dt.datetime
    """The time of the row; its columns have times a little before it."""


def mock_value(name: str, of: t.Type, draw: RowDraw) -> object:
    """A value that is not null."""
    match of:
        case t.Nullable(inner) | t.LowCardinality(inner) | t.SimpleAggregateFunction(_, inner):
            return mock_value(name, inner, draw)
        case t.Array(inner):
            return [_element(name, inner, draw) for _ in range(draw.random.randint(0, 3))]
        case t.Tuple(fields):
            return _tuple(name, fields, draw)
        case t.Map(key, inner):
            keys = (_key(mock_value(name, key, draw)) for _ in range(draw.random.randint(0, 3)))
            return {each: _element(name, inner, draw) for each in keys}
        case t.Json(paths):
            return _document(paths, draw)
        case t.Date() | t.DateTime() | t.DateTime64():
            return _time(of, draw)
        case _:
            return _scalar(name, of, draw)


def _scalar(name: str, of: t.Type, draw: RowDraw) -> object:
    random = draw.random
    match of:
        case t.Int():
            return _integer(name, of, draw)
        case t.Float():
            low, high = _bounds_of_fraction(name)
            return round(random.uniform(low, high), 2)
        case t.Decimal(precision, scale):
            return _decimal(precision, scale, random)
        case t.Bool():
            return random.random() < 0.5
        case t.UUID():
            return str(UUID(int=random.getrandbits(128), version=4))
        case t.FixedString(length):
            return _fixed_text(name, length, random)
        case t.Enum(_, values):
            return random.choice(values)[0]
        case _:
            return _text(name, of, random)


def _text(name: str, of: t.Type, random: Random) -> str:
    match of:
        case t.IPv4():
            return example_ipv4(random)
        case t.IPv6():
            return example_ipv6(random)
        case _ if words_of_column(name)[-1:] and words_of_column(name)[-1] in DOCUMENTS:
            return json.dumps(plausible_document(random))
        case _:
            return plausible_text(name, random)


def _element(name: str, of: t.Type, draw: RowDraw) -> object:
    is_null = t.is_nullable(of) and draw.random.random() < NULL_SHARE
    return None if is_null else mock_value(name, of, draw)


def _tuple(name: str, fields: tuple[tuple[str | None, t.Type], ...], draw: RowDraw) -> object:
    values = [_element(field or name, of, draw) for field, of in fields]
    names = [field for field, _ in fields]
    return dict(zip(names, values, strict=True)) if all(names) else values


def _key(value: object) -> str:
    """A value as the key of an object."""
    return value if isinstance(value, str) else json.dumps(value)


def _document(paths: tuple[tuple[str, t.Type], ...], draw: RowDraw) -> dict[str, object]:
    """A document with a value at each path that has a type."""
    if not paths:
        return plausible_document(draw.random)
    made: dict[str, object] = {}
    for path, of in paths:
        inner, keys = made, path.split(".")
        for key in keys[:-1]:
            found = inner.setdefault(key, {})
            if not isinstance(found, dict):  # another path ends on the way
                break
            inner = found
        else:
            inner.setdefault(keys[-1], _element(keys[-1], of, draw))
    return made


def _integer(name: str, of: t.Int, draw: RowDraw) -> int:
    words = words_of_column(name)
    if of.bits >= 32 and _is_moment(words, of):
        seconds = draw.moment.timestamp()
        return int(seconds * 1000) if of.bits == 64 else min(int(seconds), of.high)
    return min(max(_small_integer(words, of, draw), of.low), of.high)


def _is_moment(words: tuple[str, ...], of: t.Int) -> bool:
    """Whether a number is a point in time: `sent_ms`, and not `duration_ms`. Milliseconds since 1970 have 64 bits."""
    *others, last = words or ("",)
    return last in _TIMES and not (last == "ms" and of.bits < 64) and not any(each in _WHOLE for each in others)


def _small_integer(words: tuple[str, ...], of: t.Int, draw: RowDraw) -> int:
    random = draw.random
    if words == ("id",):
        return draw.number + 1
    if is_identity(words):
        return random.randint(1, POOL)
    if words and words[-1] in _PARTS_OF_TIME:
        return int(getattr(draw.moment, words[-1]))
    if of.bits > 8 and words and words[-1] in ("status", "code"):
        return random.choice(_STATUSES)
    if of.bits == 8 and words and words[0] in ("is", "has", "was"):
        return random.randint(0, 1)
    low, high = next((_WHOLE[word] for word in reversed(words) if word in _WHOLE), (1, 100))
    return random.randint(low, high)


def _bounds_of_fraction(name: str) -> tuple[float, float]:
    words = words_of_column(name)
    return next((_FRACTIONS[word] for word in reversed(words) if word in _FRACTIONS), (1, 500))


def _decimal(precision: int, scale: int, random: Random) -> object:
    """A number that JSON and everything that reads it hold exactly; as text where a program may round it."""
    units = random.randrange(1, min(10**precision, 1000 * 10**scale))
    if scale == 0:
        return units
    digits = str(units).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}"
    return float(text) if precision <= 15 else text


def _fixed_text(name: str, length: int, random: Random) -> str:
    """A text of this many bytes: one of the name's if it has as many, else hexadecimal digits."""
    text = plausible_text(name, random)
    return text if len(text.encode()) == length else "".join(random.choice("0123456789abcdef") for _ in range(length))


def _time(of: t.Date | t.DateTime | t.DateTime64, draw: RowDraw) -> str:
    """A time of the row as text, in the zone of its type."""
    zone = None if isinstance(of, t.Date) else of.zone
    moment = draw.moment.astimezone(ZoneInfo(zone) if zone else dt.timezone.utc)
    if isinstance(of, t.Date):
        return moment.strftime("%Y-%m-%d")
    text = moment.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(of, t.DateTime) or of.precision == 0:
        return text
    fraction = math.floor(draw.random.random() * 10**of.precision)
    return f"{text}.{fraction:0{of.precision}d}"
