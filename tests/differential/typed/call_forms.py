# ruff: noqa: E501
"""The ways to write a call: a text with holes for its arguments, for each function, special form and aggregate.

Out: `Form`s that nobody has tried yet (`signatures` tries them). The calls of scalar functions come from the compiler's
closed table; what a special form takes is syntax, and stands here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from random import Random

from tests.differential.generator_leaves import ARGUMENTS, BITMAPS, UNSTABLE

from penstock.sql.aggregates.aggregate import Aggregate
from penstock.sql.aggregates.table import AGGREGATES
from penstock.sql.functions.function import Function, Kind
from penstock.sql.functions.table import FUNCTIONS

_COLUMN = re.compile(r"@(\w+)")
_OF_T = {"arr": "ai", "sarr": "as_", "ni": "ni32", "f": "f64", "dec": "d9"}
"""Columns of the older table, by those of the same type here."""
_CONSTANTS = ("1", "'a'", "'UTC'", "','", "'day'", "3", "'%F %T'", "'[a-z]+'", "['a', 'é']", "'$.a'", "'String'", "0.5")
_TEXTS = ("s", "'l+'", "'a'", "['a', 'é']", "'%F %T'", "fs", "js", "url", "mo", "num", "uu", "ip4", "ip6", "e8")
_CANDIDATES: Mapping[Kind, Sequence[str]] = {
    "integer": ("i32", "u8", "2", "u64"),
    "float": ("f64", "0.5"),
    "number": ("i32", "f64", "u8", "2", "d9"),
    "string": _TEXTS,
    "text": _TEXTS,
    "bytes": _TEXTS,
    "json": ("js", *_TEXTS),
    "time": ("t", "d", "t3", "dd"),
    "array": ("ai", "as_", "af", "aa", "at", "ani"),
    "map": ("m", "mn", "mi"),
    "constant": _CONSTANTS,
    "step": ("'a'", "1", "s", "i32"),
    "bitmap": ("bitmapBuild(ai)", "bitmapBuild([1, 2, 200])", "bitmapBuild([toUInt64(7)])", "bitmapBuild(range(u8))"),
    "any": ("i32", "s", "ai", "f64", "d", "t", "m", "u8", "'a'", "2", "as_", "tu", "js", "mo", "url"),
}
_MOST_TRIED = 400


@dataclass(frozen=True)
class Form:
    """A call: its text has `{0}`, `{1}` … where arguments go. `first` are columns to begin the trials with."""

    name: str
    text: str
    first: tuple[str, ...]
    aggregate: bool = False

    def call(self, arguments: Sequence[str]) -> str:
        return self.text.format(*arguments)


def _form(name: str, text: str, *first: str) -> Form:
    return Form(name, text, first)


HEXED = ("MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512", "sipHash128", "IPv6StringToNum", "UUIDStringToNum")
"""Their results are bytes, which do not compare as text."""
OF_CHANCE = (
    UNSTABLE
    - frozenset(HEXED)
    - BITMAPS
    - {"bitmapToArray"}
    - {"greatCircleDistance", "greatCircleAngle", "geoDistance"}
)


def function_forms(name: str) -> Iterator[Form]:
    """Calls of a scalar function that may compile, those of other lengths and with other constants among them."""
    row = FUNCTIONS[name]
    for arguments in _of_arguments(row):
        parts, first = [], []
        for argument in arguments:
            if re.fullmatch(r"[a-z_]\w*", argument) and argument not in ("nan", "inf"):
                parts.append(f"{{{len(first)}}}")
                first.append(argument)
            else:
                parts.append(argument.replace("{", "{{").replace("}", "}}"))
        call = f"{name}({', '.join(parts)})"
        yield Form(name, _comparable(name, call), tuple(first))


def _comparable(name: str, call: str) -> str:
    """A call with functions around it of which both engines give the same text."""
    if name in HEXED:
        return f"hex({call})"
    array = f"bitmapToArray({call})" if name in BITMAPS else call
    return f"arraySort({array})" if name in BITMAPS or name == "bitmapToArray" else call


def _of_arguments(row: Function) -> Iterator[Sequence[str]]:
    for given in ARGUMENTS.get(row.name, ()):
        yield [_COLUMN.sub(lambda found: _OF_T.get(found.group(1), found.group(1)), each) for each in given]
    low, high = row.arity
    for many in range(low, min(high, low + 2) + 1):
        kinds = [row.takes[min(place, len(row.takes) - 1)] for place in range(many)]
        choices = list(islice(product(*(_CANDIDATES[kind] for kind in kinds)), 200_000))
        Random(row.name).shuffle(choices)
        yield from choices[:_MOST_TRIED]


_ENDINGS = (
    "",
    "If",
    "OrNull",
    "OrDefault",
    "Distinct",
    "IfOrNull",
    "OrNullIf",
    "OrDefaultIf",
    "Array",
    "ForEach",
    "State",
)
_PARAMETERS = ("", "(0.5)", "(0.9, 0.1)", "(2)", "(3)", "(100)", "(10, 2)", "(9, 'strict_order')")
_OWN_PARAMETERS = {"quantileGK": ("(100, 0.5)", "(99, 0.1)"), "quantilesGK": ("(100, 0.5, 0.9)",)}
"""An accuracy of a few is an answer of any rank ("within 1/accuracy of rank")."""


def aggregate_forms(name: str) -> Iterator[Form]:
    """Calls of an aggregate with each combinator."""
    row = AGGREGATES[name]
    for ending, parameters in product(_ENDINGS, _OWN_PARAMETERS.get(name, _PARAMETERS)):
        for many in range(row.arity[0], min(row.arity[1], row.arity[0] + 1) + 1):
            for first in _aggregated(row, many, of_arrays=ending in ("Array", "ForEach")):
                yield _aggregate_form(name, ending, parameters, first)


def _aggregate_form(name: str, ending: str, parameters: str, first: tuple[str, ...]) -> Form:
    holes = ", ".join(f"{{{place}}}" for place in range(len(first)))
    test = (", " if holes else "") + "u8 > 3" if "If" in ending else ""
    call = f"{name}{ending}{parameters}({holes}{test})"
    if ending == "State":
        call = f"finalizeAggregation({call})"
    return Form(name + (f"-{ending}" if ending else ""), call, first, aggregate=True)


def _aggregated(row: Aggregate, many: int, *, of_arrays: bool) -> Iterator[tuple[str, ...]]:
    if of_arrays:
        yield ("ai",) * many
        yield ("as_",) * many
        return
    yield from (("i32",) * many, ("s",) * many, ("ai",) * many, ("m",) * many, ("f64",) * many, ("ai", "ai")[:many])
    if row.name in ("retention", "quantileTiming", "quantilesTiming"):
        yield ("b" if row.name == "retention" else "u16",) * max(many, 1)
    if many == 2:
        yield from (("i32", "u8"), ("s", "i32"), ("t", "u8"), ("as_", "ai"), ("u32", "u32"))
    if many > 2:
        yield ("t", *("b",) * (many - 1))


_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "<=>", "IS DISTINCT FROM", "AND", "OR")
_BY_NAME = {
    "=": "equals",
    "!=": "notEquals",
    "<": "less",
    "<=": "lessOrEquals",
    ">": "greater",
    ">=": "greaterOrEquals",
}
_BY_NAME |= {"+": "plus", "-": "minus", "*": "multiply", "/": "divide", "%": "modulo", "AND": "and", "OR": "or"}
_BY_NAME |= {"<=>": "isNotDistinctFrom", "IS DISTINCT FROM": "isDistinctFrom"}
_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_CASTS = ("String", "Nullable(Int32)", "Int64", "UInt8", "Float32", "Float64", "Decimal(18, 3)", "Date", "Date32")
_CASTS += ("DateTime", "DateTime64(3)", "Nullable(String)", "Array(String)", "Array(Nullable(Float64))", "UUID", "IPv4")
_CASTS += ("Nullable(Float64)", "Bool", "LowCardinality(String)", "Map(String, String)", "FixedString(9)", "UInt64")
_TESTS = ("x = x", "x IS NULL", "x > {1}", "toString(x) > '1'", "x != {1}")
_BODIES = ("x", "(x, x)", "toString(x)", "x = {1}", "[x]", "if(x = {1}, x, {1})")
_LAMBDAS = ("arrayFilter", "arrayExists", "arrayAll", "arrayCount", "arrayFirstIndex", "arrayLastIndex", "arrayFirst")
_LAMBDAS += ("arrayFirstOrNull", "arrayLast", "arrayLastOrNull", "arraySplit", "arrayReverseSplit", "arrayFill")
_OF_BODIES = (
    "arrayMap",
    "arraySort",
    "arrayReverseSort",
    "arrayMin",
    "arrayMax",
    "arraySum",
    "arrayAvg",
    "arrayCumSum",
)
_OF_ARRAYS = ("arraySum", "arrayAvg", "arrayMin", "arrayMax", "arrayProduct", "arraySort", "arrayReverseSort")
_OF_ARRAYS += ("arrayDifference", "arrayCumSum", "arrayCumSumNonNegative", "arrayExists", "arrayCount", "arrayAll")
_OF_TUPLES = (
    "tuplePlus",
    "tupleMinus",
    "tupleMultiply",
    "tupleConcat",
    "tupleHammingDistance",
    "tupleDivide",
    "tupleModulo",
)
_REDUCED = ("sum", "avg", "min", "max", "count", "uniqExact", "median", "stddevPop", "quantile(0.5)", "sumOrNull")

_MADE_OF: tuple[tuple[str, str, str], ...] = (
    ("gcd", "gcd({0} + 1, 12)", "u16"),
    ("lcm", "lcm({0} + 1, 12)", "u8"),
    ("arrayShingles", "arrayShingles(arrayConcat({0}, [1, 2]), 2)", "ai"),
    ("cosineDistance", "cosineDistance(arrayConcat({0}, [1, 2]), [1])", "ai"),
    ("cosineDistance", "cosineDistance([{0}, 1], [2, 3])", "i8"),
    ("extractKeyValuePairs", "extractKeyValuePairs(concat('a:', {0}))", "s"),
    ("formatDateTimeInJodaSyntax", "formatDateTimeInJodaSyntax({0}, 'yyyy-MM-dd HH:mm:ss a EEE D')", "t"),
    ("fromUnixTimestampInJodaSyntax", "fromUnixTimestampInJodaSyntax({0}, 'yyyy-MM-dd HH:mm:ss')", "i32"),
    ("mapContainsValueLike", "mapContainsValueLike(map('q', {0}), '%l%')", "s"),
    ("mapExtractValueLike", "mapExtractValueLike(map('q', {0}), '%l%')", "s"),
    ("parseDateTime", "parseDateTime(formatDateTime({0}, '%Y-%m-%d %H:%i:%S'), '%Y-%m-%d %H:%i:%S')", "t"),
    ("parseDateTime64", "parseDateTime64(formatDateTime({0}, '%Y-%m-%d %H:%i:%S.%f'), '%Y-%m-%d %H:%i:%S.%f')", "t6"),
    *((f"parseDateTime{each}BestEffort", f"parseDateTime{each}BestEffort(toString({{0}}))", "t") for each in ("", "32", "64")),
    ("parseDateTime64BestEffortUS", "parseDateTime64BestEffortUS(toString({0}))", "t3"),
    *((f"parseDateTime64InJodaSyntax{each}", f"parseDateTime64InJodaSyntax{each}(toString({{0}}), 'yyyy-MM-dd HH:mm:ss.SSS')", "t3") for each in ("", "OrNull", "OrZero")),
    *((f"parseDateTimeInJodaSyntax{each}", f"parseDateTimeInJodaSyntax{each}(toString({{0}}), 'yyyy-MM-dd HH:mm:ss')", "t") for each in ("", "OrNull", "OrZero")),
    ("throwIf", "throwIf({0} IN (77))", "u8"),
    ("timestamp", "timestamp(toString({0}))", "t"),
    ("toModifiedJulianDay", "toModifiedJulianDay(toString({0}))", "d"),
    ("tupleIntDivByNumber", "tupleIntDivByNumber(({0}, {0}), 7)", "i32"),
    *((name, f"{name}({inverse}({{0}}))", "s") for name, inverse in (("unbin", "bin"), ("base64Decode", "base64Encode"), ("base64URLDecode", "base64URLEncode"))),
    ("IPv4StringToNum", "IPv4StringToNum(toString({0}))", "ip4"),
    ("IPv6StringToNum", "hex(IPv6StringToNum(toString({0})))", "ip6"),
    ("IPv6NumToString", "IPv6NumToString(IPv6StringToNum(toString({0})))", "ip6"),
    ("IPv6CIDRToRange", "IPv6CIDRToRange({0}, 32)", "ip6"),
    ("isIPAddressInRange", "isIPAddressInRange(toString({0}), '10.0.0.0/8')", "ip4"),
    ("UUIDNumToString", "UUIDNumToString(UUIDStringToNum(toString({0})))", "uu"),
    ("UUIDToNum", "hex(UUIDToNum({0}))", "uu"),
    ("UUIDv7ToDateTime", "UUIDv7ToDateTime({0})", "uu"),
    *((f"toInterval{unit.title()}", f"({{0}} + toInterval{unit.title()}({{1}}))", "t") for unit in (*_UNITS, "MICROSECOND", "MILLISECOND")),
    *((name, f"{name}({{0}}, '(l)(.)')", "s") for name in ("extractAllGroupsHorizontal", "extractAllGroupsVertical", "extractGroups")),
    *((name, f"{name}({{0}}, ['^H', 'l+', 'é'])", "s") for name in ("multiMatchAny", "multiMatchAnyIndex")),
    *((f"multiSearch{each}CaseInsensitiveUTF8", f"multiSearch{each}CaseInsensitiveUTF8({{0}}, ['h', 'É'])", "s") for each in ("AllPositions", "Any", "FirstIndex", "FirstPosition")),
    ("mapPopulateSeries", "mapPopulateSeries(map({0}, 1, {0} + 3, 2))", "u8"),
    ("pointInEllipses", "pointInEllipses({0}, 1., 0., 0., 2., 3.)", "f64"),
    ("timeSlots", "timeSlots({0}, toUInt32(1500), 600)", "t"),
    ("timezoneOf", "timezoneOf({0})", "t"),
    *(("transform", f"transform({{0}}, {what})", first) for what, first in (("[1, 3], [10, 20], 7", "i32"), ("['a', 'é'], ['x', 'y'], 'z'", "s"), ("[1, 7], [70, 80]", "u8"))),
)  # fmt: skip
"""Calls of functions that fail for most values, or take an argument of few forms."""

SPECIAL: tuple[Form, ...] = (
    *(_form(_BY_NAME[sign], f"({{0}} {sign} {{1}})", "i32", "u8") for sign in _OPERATORS),
    *(_form("equals", f"(({{0}}, {{1}}) {sign} ({{2}}, {{3}}))", "i32", "s", "ni32", "ns") for sign in _OPERATORS[:6]),
    *(_form("equals", f"([{{0}}] {sign} [{{1}}])", "i32", "ni32") for sign in _OPERATORS[:6]),
    _form("in", "({0} IN ({1}, {0}, NULL))", "i32", "3"),
    *(_form("in", f"({{0}} IN ({values}))", first) for values, first in (("1, 7, NULL", "i32"), ("'a', 'é', ''", "s"), ("NULL, 0.1, nan", "f64"), ("'2024-02-29', '1970-01-01'", "d"))),
    _form("notIn", "({0} NOT IN (1, 7))", "i32"),
    _form("in", "(({0}, {1}) IN ((1, 'a'), (NULL, 'x'), (7, NULL)))", "i32", "s"),
    _form("notIn", "(({0}, {1}) NOT IN ((1, 1), (NULL, 7)))", "i32", "u8"),
    _form("and", "({0} BETWEEN {1} AND {2})", "i32", "u8", "i8"),
    _form("not", "(NOT {0})", "b"),
    _form("xor", "xor({0}, {1})", "b", "u8"),
    _form("negate", "(-{0})", "i32"),
    _form("isNull", "({0} IS NULL)", "i32"),
    *(_form("like", f"({{0}} {word} '{pattern}')", "s") for word in ("LIKE", "ILIKE", "NOT LIKE") for pattern in ("%l_%", "_", "É%", "", "%\\\\_%")),
    _form("like", "({0} LIKE {1})", "s", "lc"),
    _form("concat", "({0} || {1})", "s", "lc"),
    _form("if", "if({0}, {1}, {2})", "b", "i32", "i32"),
    _form("if", "if({0}, {1}, {2})", "nb", "s", "s"),
    _form("if", "if({0}, {1}, NULL)", "u8", "i32"),
    _form("multiIf", "multiIf({0}, {1}, {2}, {3}, {1})", "b", "i32", "nb", "i32"),
    _form("if", "CASE {0} WHEN {1} THEN {2} WHEN NULL THEN {3} ELSE {2} END", "ni32", "i32", "s", "s"),
    _form("if", "CASE WHEN {0} THEN {1} END", "b", "s"),
    _form("nullIf", "nullIf({0}, {1})", "i32", "i32"),
    _form("tuple", "({0}, {1})", "i32", "s"),
    *(_form("tupleElement", f"{{0}}.{step}", "tu") for step in ("1", "2")),
    _form("tupleElement", "tupleElement({0}, 'a')", "tn"),
    *(_form(name, f"{name}({{0}}, {{1}})", "tu", "tu") for name in _OF_TUPLES),
    _form("tuplePlus", "tuplePlus(({0}, {1}), ({2}, {3}))", "i32", "f64", "u8", "i32"),
    *(_form(f"{name}ByNumber", f"{name}ByNumber(({{0}}, {{1}}), {{2}})", "i32", "f64", "u8") for name in ("tupleMultiply", "tupleDivide", "tupleIntDiv", "tupleModulo")),
    _form("tupleNegate", "tupleNegate(({0}, {1}))", "i32", "f64"),
    _form("tupleNames", "tupleNames({0})", "tn"),
    _form("tupleToNameValuePairs", "tupleToNameValuePairs({0})", "tu"),
    *(_form("cast", f"CAST({{0}} AS {of})", "i32" if of[0] in "IUFDN" else "s") for of in _CASTS),
    *(_form(f"accurateCast{way}", f"accurateCast{way}({{0}}, '{of}')", "num") for way in ("", "OrNull", "OrDefault") for of in ("Int8", "UInt64", "Float32", "Date", "Int64")),
    *(_form("plus", f"({{0}} {sign} INTERVAL {many} {unit})", "t") for sign, many in (("+", 3), ("-", 7)) for unit in _UNITS),
    _form("plus", "({0} + INTERVAL {1} MONTH)", "t", "i8"),
    *(_form("toStartOfInterval", f"toStartOfInterval({{0}}, INTERVAL {many} {unit})", "t") for many in (1, 3, 4, 7, 100) for unit in _UNITS),
    *(_form(name, f"{name}('{unit.lower()}', {{0}}, {{1}})", "t", "t") for name in ("dateDiff", "age") for unit in _UNITS),
    *(_form("dateTrunc", f"dateTrunc('{unit.lower()}', {{0}})", "t") for unit in _UNITS),
    *(_form("dateAdd", f"dateAdd({unit}, {{1}}, {{0}})", "t", "i8") for unit in _UNITS),
    *(_form(name, f"{name}({{0}}, {{1}})", "i32", "u8") for name in ("intDiv", "modulo", "divide", "plus", "minus", "multiply")),
    *(_form(name, f"{name}(x -> {test}, {{0}})", *("ai", "i32")[: 2 if "{1}" in test else 1]) for name in _LAMBDAS for test in _TESTS),
    *(_form(name, f"{name}(x -> {body}, {{0}})", *("ai", "i32")[: 2 if "{1}" in body else 1]) for name in _OF_BODIES for body in _BODIES),
    *(_form(name, f"{name}({{0}})", "ai") for name in _OF_ARRAYS),
    _form("arrayMap", "arrayMap((x, y) -> (x, y), {0}, {0})", "ai"),
    _form("arrayFold", "arrayFold((acc, x) -> acc + x, {0}, toInt64(0))", "ai"),
    *(_form("arrayReduce", f"arrayReduce('{name}', {{0}})", "ai") for name in _REDUCED),
    *(_form("mapFilter", f"mapFilter((k, v) -> {test}, {{0}})", "m") for test in ("v IS NULL", "k > 'a'", "v = v")),
    *(_form(name, f"{name}({{0}})", "m") for name in ("mapSort", "mapReverseSort")),
    _form("mapApply", "mapApply((k, v) -> (k, toString(v)), {0})", "m"),
    *(_form(name, f"{name}((k, v) -> v IS NULL, {{0}})", "mn") for name in ("mapExists", "mapAll")),
    _form("toTypeName", "toTypeName({0})", "i32"),
    _form("dotProduct", "dotProduct({0}, {1})", "ai", "af"),
    _form("sqr", "sqr({0})", "i32"),
    *(_form("map", text, "s", "i32") for text in ("map({0}, {1})", "map({0}, {1}, 'q', {1})", "map({0}, {1})['a']")),
    _form("array", "[{0}, {1}]", "i32", "i32"),
    _form("array", "[{0}, NULL, {1}]", "i32", "i32"),
    _form("arrayElement", "{0}[{1}]", "ai", "i8"),
    _form("arrayElement", "[{0}, {1}][9]", "i32", "i32"),
    *(_form(name, text, first, *(("i8",) if "{1}" in text else ())) for name, text, first in _MADE_OF),
)  # fmt: skip
