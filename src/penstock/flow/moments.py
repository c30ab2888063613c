"""One JSON value → a date or a time, as columns store them.

In: a number, or a text with or without an offset. Out: days or microseconds since 1970; `Unfit` says why not. Called
by `values`. Invariant: a text without an offset is in the column's zone.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo

from penstock.flow.unfit import Number, Unfit, shown
from penstock.model import types as t

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_SECONDS = re.compile(r"(-?\d+)(?:\.(\d+))?", re.ASCII)


def date(value: object, of: t.Date) -> int:
    """Days since 1970, of a number of them or a text. Raises Unfit."""
    low, high = (-25567, 120529) if of.wide else (0, 65535)
    if type(value) is int:
        days = value
    else:
        moment = _micros(value, None)
        days = moment // 86_400_000_000
    if low <= days <= high:
        return days
    raise Unfit(f"{shown(value)} is outside {of}")


def moment(value: object, precision: int, zone: str | None, seconds: tuple[int, int]) -> int:
    """Microseconds since 1970, cut to the digits of `precision`; `seconds` is the range of the type. Raises Unfit."""
    micros = _unix(value, precision) if isinstance(value, (int, Number)) else _micros(value, zone)
    unit = 10 ** (6 - precision)
    micros -= micros % unit
    if seconds[0] <= micros // 1_000_000 <= seconds[1]:
        return micros
    raise Unfit(f"{shown(value)} is outside what the type holds")


def _unix(value: object, precision: int) -> int:
    """Whole numbers count units of the type's precision, as ClickHouse reads them; numbers with a
    point count seconds."""
    if isinstance(value, bool):
        raise Unfit(f"{shown(value)} is not a time")
    if isinstance(value, int):
        return value * 10 ** (6 - precision)
    exact = Decimal(str(value))
    if exact.adjusted() > 12:
        raise Unfit(f"{shown(value)} is outside what the type holds")
    return math.floor(exact * 1_000_000)


def _micros(value: object, zone: str | None) -> int:
    if not isinstance(value, str):
        raise Unfit(f"{shown(value)} is not a time")
    return _parse_moment(value, zone)


@lru_cache(maxsize=8192)
def _parse_moment(text: str, zone: str | None) -> int:
    """Microseconds since 1970 of a text such as 2013-01-01 10:00:00, 2013-01-01T10:00:00.123Z, a
    day, or seconds since 1970. A text without an offset is in `zone` (None: UTC)."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return _parse_seconds(text)
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    try:
        local = dt.datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
        micros = int((fraction or "0")[:6].ljust(6, "0"))
        aware = local.replace(tzinfo=_offset(offset, zone))
    except ValueError as error:
        raise Unfit(f"{shown(text)} is not a time: {error}") from None
    return (aware - _EPOCH) // dt.timedelta(microseconds=1) + micros


def _parse_seconds(text: str) -> int:
    found = _SECONDS.fullmatch(text.strip())
    if found is None or not 9 <= len(found.group(1).lstrip("-")) <= 11:
        raise Unfit(f"{shown(text)} is not a time (expected YYYY-MM-DD hh:mm:ss)")
    return math.floor(Decimal(text.strip()) * 1_000_000)


def _offset(offset: str | None, zone: str | None) -> dt.tzinfo:
    if offset is None:
        return ZoneInfo(zone) if zone else dt.timezone.utc
    if offset == "Z":
        return dt.timezone.utc
    sign = -1 if offset[0] == "-" else 1
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return dt.timezone(sign * dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
