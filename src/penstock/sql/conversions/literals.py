"""Text literals beside dates, times, UUIDs, enums, IP addresses and integers, read as literals of that type.

In: two values that are compared. Out: the same, with the literal converted. Invariant: a text that is no value of the
type is refused, as in ClickHouse.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from zoneinfo import ZoneInfo

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.dates import from_wall_clock, from_written_clock, zone_of
from penstock.sql.expr.ip_addresses import ip_literal_digits, ipv6_text, normalize_ipv4
from penstock.sql.expr.spark_types import FINE_TIME, is_fine_time
from penstock.sql.expr.typed import TypedSql, fine_from_timestamp, integer, typed_sql
from penstock.sql.spark_text import string_literal

_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,9})?)?")
_WITH_ZONE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,9})?)? ?(Z|[+-]\d\d:?\d\d)")

_LENGTH_OF_DAY = len("2024-02-29")


def adapt_literals(tr: Translator, node: exp.Expr, left: TypedSql, right: TypedSql) -> tuple[TypedSql, TypedSql]:
    """The two values, with a text literal read as a literal of the other type. Raises Refused if it is none."""
    if isinstance(left.constant, str) and not isinstance(right.constant, str):
        return adapt_literal(tr, node, left, right.type), right
    if isinstance(right.constant, str) and not isinstance(left.constant, str):
        return left, adapt_literal(tr, node, right, left.type)
    return left, right


def adapt_literal(tr: Translator, node: exp.Expr, value: TypedSql, of: Type) -> TypedSql:
    """A text literal as a literal of another type; any other value unchanged. Raises Refused."""
    if type(t.unwrap_type(of)) not in _PARSERS or not isinstance(value.constant, str):
        return value
    if isinstance(t.unwrap_type(of), t.Date) and len(value.constant) > _LENGTH_OF_DAY:
        message = f"{value.sql} is not a value of {t.unwrap_type(of)}: it has more than a day"
        raise tr.refusal(node, "invalid-literal", message, f"write '{value.constant.strip()[:_LENGTH_OF_DAY]}'")
    found = parse_literal(value.constant, t.unwrap_type(of))
    if found is None:
        message = f"{value.sql} is not a value of {t.unwrap_type(of)}"
        raise tr.refusal(node, "invalid-literal", message, literal_hint(value.constant, t.unwrap_type(of)))
    return found


def literal_hint(text: str, of: Type) -> str | None:
    """How a value of a type (without Nullable) is written, or which one a text may stand for."""
    match of:
        case t.Enum():
            return did_you_mean(text, [name for name, _ in of.values])
        case t.Date():
            return "a day is written '2024-01-31'"
        case t.DateTime() | t.DateTime64():
            digits = "64" if isinstance(of, t.DateTime64) else ""
            if _WITH_ZONE.fullmatch(text.strip()):
                return f"parseDateTime{digits}BestEffort({string_literal(text)}) reads a time with a zone"
            return f"a time is written '2024-01-31 23:59:59{'.999' if digits else ''}'"
        case _:
            return None


def parse_literal(text: str, of: Type) -> TypedSql | None:
    """A text as a literal of a type (without Nullable); None if it is no value of the type, or the type has no
    literals."""
    from_text = _PARSERS.get(type(of))
    try:
        return from_text(text, of) if from_text is not None else None
    except ValueError:
        return None


def _parse_date(text: str, of: Type) -> TypedSql:
    if not _MOMENT.fullmatch(text.strip()):
        raise ValueError(text)
    day = date.fromisoformat(text.strip()[:10])
    if isinstance(of, t.Date) and not of.wide:
        day = min(max(day, date(1970, 1, 1)), date(2149, 6, 6))
    return typed_sql(f"DATE'{day.isoformat()}'", t.Date())


def _parse_time(text: str, of: Type) -> TypedSql:
    if not _MOMENT.fullmatch(text.strip()):
        raise ValueError(text)
    if isinstance(of, t.DateTime64) and is_fine_time(of):
        return _parse_fine_time(text.strip(), of)
    moment = datetime.fromisoformat(text.strip())
    if moment.microsecond and not isinstance(of, t.DateTime64):
        raise ValueError(text)
    digits = of.precision if isinstance(of, t.DateTime64) else 0
    moment = moment.replace(microsecond=moment.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits))
    if isinstance(of, t.DateTime) and zone_of(of) is None:
        moment = min(max(moment, datetime(1970, 1, 1)), datetime(2106, 2, 7, 6, 28, 15))
    elif isinstance(of, t.DateTime) and not date(1970, 1, 2) < moment.date() < date(2106, 2, 7):
        raise ValueError(text)
    sql = f"TIMESTAMP'{moment.isoformat(sep=' ')}'"
    return typed_sql((from_written_clock if is_skipped(moment, zone_of(of)) else from_wall_clock)(sql, zone_of(of)), of)


def _parse_fine_time(text: str, of: t.DateTime64) -> TypedSql:
    """The second as a literal of its own, and the digits after the point that the type has."""
    second, _, fraction = text.partition(".")
    moment = _parse_time(second, t.DateTime64(0, of.zone))
    digits = fraction[: of.precision].ljust(9, "0")
    return typed_sql(f"CAST({fine_from_timestamp(moment.sql)} + 0.{digits}BD AS {FINE_TIME})", of)


def is_skipped(moment: datetime, zone: str | None) -> bool:
    """Whether the change to summer time skips this time of the zone's clock."""
    if zone is None:
        return False
    known = moment.replace(tzinfo=ZoneInfo(zone))
    return known.astimezone(timezone.utc).astimezone(known.tzinfo).replace(tzinfo=None) != moment


def _parse_uuid(text: str, of: Type) -> TypedSql:
    return typed_sql(f"'{uuid.UUID(text)}'", t.UUID())


def _parse_ipv4(text: str, of: Type) -> TypedSql:
    return typed_sql(f"'{normalize_ipv4(text)}'", t.IPv4())


def _parse_ipv6(text: str, of: Type) -> TypedSql:
    return typed_sql(ipv6_text(f"'{ip_literal_digits(text)}'"), t.IPv6())


def _parse_enum(text: str, of: Type) -> TypedSql:
    if not isinstance(of, t.Enum) or text not in dict(of.values):
        raise ValueError(text)
    return typed_sql(string_literal(text), of)


def _parse_integer(text: str, of: Type) -> TypedSql:
    return integer(int(text))


_PARSERS: Mapping[type[Type], Callable[[str, Type], TypedSql]] = {
    t.Date: _parse_date,
    t.DateTime: _parse_time,
    t.DateTime64: _parse_time,
    t.UUID: _parse_uuid,
    t.Enum: _parse_enum,
    t.Int: _parse_integer,
    t.IPv4: _parse_ipv4,
    t.IPv6: _parse_ipv6,
}
