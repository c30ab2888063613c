"""How functions take values whose types are only known for each row (Dynamic, the paths of JSON columns).

In: a function's name. Out: `DynamicUse`, or None for a function that takes no such value here. Invariant: the result is
Dynamic exactly where it is in ClickHouse, whose functions give `Nullable(T)` where T does not depend on the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.functions import conversions

DynamicUse: TypeAlias = Literal["as it is", "as a String", "as its text", "its length", "by its type", "to Dynamic"]
""""as a String": only a String; "as its text": as `toString` writes it; "by its type": a result of one type, by the
type that the row has; "to Dynamic": a result whose type is only known for each row too."""
_AS_IT_IS = (
    *(row.name for row in conversions.FUNCTIONS if row.name not in ("toNullable", "toLowCardinality")),
    *("isNull", "isNotNull", "toTypeName", "dynamicType", "dynamicElement", "coalesce", "ifNull", "assumeNotNull"),
)
_AS_A_STRING = (
    *("lower", "upper", "lowerUTF8", "upperUTF8", "lengthUTF8", "substring", "substringUTF8", "base64Encode"),
    *("startsWith", "endsWith", "match", "extract", "replaceAll", "replaceOne", "replaceRegexpAll", "replaceRegexpOne"),
    *("position", "positionCaseInsensitive", "positionUTF8", "countSubstrings", "hasToken"),
    *("domain", "domainWithoutWWW", "topLevelDomain", "protocol", "path", "queryString", "fragment"),
    *("extractURLParameter", "cutQueryString", "cutURLParameter", "decodeURLComponent", "isValidUTF8"),
    *("left", "right", "leftUTF8", "rightUTF8", "leftPad", "rightPad", "leftPadUTF8", "rightPadUTF8", "repeat"),
    *("encodeURLComponent", "encodeURLFormComponent", "decodeURLFormComponent", "base64Decode", "tryBase64Decode"),
    *("pathFull", "queryStringAndFragment", "cutWWW", "cutFragment", "cutQueryStringAndFragment", "initcap"),
    *("startsWithUTF8", "endsWithUTF8", "countMatches", "CRC32"),
)
_AS_ITS_TEXT = ("concat", "format", "concatWithSeparator")
_BY_ITS_TYPE = (
    *("sqrt", "cbrt", "exp", "log", "log2", "log10", "pow", "isNaN", "isFinite", "isInfinite"),
    *("toYear", "toQuarter", "toMonth", "toDayOfMonth", "toDayOfWeek", "toDayOfYear", "toHour", "toMinute", "toSecond"),
    *("toISOWeek", "toWeek", "toYYYYMM", "toYYYYMMDD", "toYYYYMMDDhhmmss", "monthName", "dateName"),
    *("formatReadableSize", "formatReadableQuantity", "formatReadableTimeDelta"),
)
_INT64_RESULTS = ("toYear", "toQuarter", "toMonth", "toDayOfMonth", "toHour", "toMinute", "toSecond", "toISOWeek")
"""Functions whose results of Dynamic values ClickHouse makes Int64, though they are smaller of values with a type."""
_TO_DYNAMIC = (
    *("abs", "sign", "round", "floor", "ceil", "trunc", "negate", "trimBoth", "trimLeft", "trimRight", "reverse"),
    *("toStartOfSecond", "toStartOfMinute", "toStartOfFiveMinutes", "toStartOfTenMinutes", "toStartOfFifteenMinutes"),
    *("toStartOfHour", "toStartOfDay", "toStartOfWeek", "toStartOfMonth", "toStartOfQuarter", "toStartOfYear"),
    *("toMonday", "toLastDayOfMonth", "formatDateTime", "parseDateTimeBestEffort", "parseDateTimeBestEffortOrNull"),
    *("addSeconds", "addMinutes", "addHours", "addDays", "addWeeks", "addMonths", "addQuarters", "addYears"),
    *("subtractSeconds", "subtractMinutes", "subtractHours", "subtractDays", "subtractWeeks", "subtractMonths"),
    *("subtractQuarters", "subtractYears", "fromUnixTimestamp64Milli", "intDivOrZero"),
)
_USES: Mapping[str, DynamicUse] = {
    **dict.fromkeys(_AS_IT_IS, "as it is"),
    **dict.fromkeys(_AS_A_STRING, "as a String"),
    **dict.fromkeys(_AS_ITS_TEXT, "as its text"),
    **dict.fromkeys(("length", "empty", "notEmpty"), "its length"),
    **dict.fromkeys(_BY_ITS_TYPE, "by its type"),
    **dict.fromkeys(_TO_DYNAMIC, "to Dynamic"),
}


def wider_result(name: str) -> Type | None:
    """The type of a function's result of Dynamic values, where it is not the one that it has of other values."""
    return t.Int(64) if name in _INT64_RESULTS else None


def dynamic_use(name: str) -> DynamicUse | None:
    """How a function takes a value whose type is only known for each row; None if it takes none."""
    return _USES.get(name)
