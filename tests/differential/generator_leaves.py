"""The parts that random queries are built from: columns, literals, and the arguments that some functions need.

`LEAVES` by kind, `ARGUMENTS` by function; `UNSTABLE` names functions whose value depends on the time or on the order of
the rows. `@` stands for the prefix of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.sql.functions.function import Kind

_INTEGERS = ("@u8", "@u16", "@i8", "@i32", "@i64", "@ni", "@id", "0", "1", "-1", "7", "255", "-128", "1000000", "NULL")
_FLOATS = ("@f", "@nf", "@f32", "1.5", "-0.5", "0.1", "1e10", "nan", "inf")
_NUMBERS = (*_INTEGERS, *_FLOATS, "@dec", "@u64", "@b", "9223372036854775807")
_STRINGS = (
    "@s",
    "@ns",
    "@lc",
    "@num",
    "@url",
    "@js",
    "''",
    "'a'",
    "'Hello World'",
    "'été'",
    "'日本'",
    "'12'",
    "'a,b'",
    "'%'",
    "'\\\\'",
)
_TIMES = (
    "@d",
    "@t",
    "@t3",
    "@nt",
    "toDate('2024-03-31')",
    "toDateTime('2024-10-27 01:30:00')",
    "toDateTime64('2024-02-29 12:00:00.123', 3)",
    "toDateTime('2024-03-10 07:30:00', 'America/New_York')",
)
_ARRAYS = (
    "@arr",
    "@sarr",
    "[1, 2, 3]",
    "['a', 'b', 'a']",
    "[1, NULL, 3]",
    "[1.5, -2.5]",
    "[toDate('2024-01-01')]",
    "arrayMap(x -> x, @arr)",
)

LEAVES: Mapping[Kind, Sequence[str]] = {
    "integer": _INTEGERS,
    "float": _FLOATS,
    "number": _NUMBERS,
    "string": _STRINGS,
    "text": _STRINGS,
    "json": _STRINGS,
    "time": _TIMES,
    "array": _ARRAYS,
    "map": ("@m", "map('a', 1, 'b', 2)", "map(1, 'x')"),
    "constant": ("1", "2", "0", "-1", "'a'", "','", "'UTC'", "'Europe/Berlin'", "3"),
    "step": ("'a'", "'b'", "1", "-1", "0", "@s", "@u8", "concat('', 'e')"),
    "any": (*_NUMBERS, *_STRINGS, *_TIMES, *_ARRAYS, "@m", "(1, 'a')"),
    "bitmap": ("bitmapBuild(@arr)", "bitmapBuild([3, 1, 2, 200])", "bitmapBuild(range(@u8))"),
}

_ZONES = ("'UTC'", "'America/New_York'", "'Europe/Berlin'", "'Asia/Kolkata'")
_JSON = tuple(("@js", key) for key in ("'a'", "'b'", "'c'", "'e'", "'f'", "'zz'", "1", "lower('B')", "@id"))
_PATTERNS = ("'l+'", "'[a-z]'", "'^H'", "'(o)(.)'", "'W.r'", "'\\\\d+'", "'é'")
ARGUMENTS: Mapping[str, Sequence[Sequence[str]]] = {
    **dict.fromkeys(
        (
            "JSONExtractString",
            "JSONExtractInt",
            "JSONExtractUInt",
            "JSONExtractFloat",
            "JSONExtractBool",
            "JSONExtractRaw",
            "JSONHas",
            "JSONLength",
            "JSONExtractArrayRaw",
        ),
        _JSON,
    ),
    "JSONExtract": tuple(
        (*path, of) for path in _JSON for of in ("'String'", "'Int64'", "'Array(Int32)'", "'Nullable(Float64)'")
    ),
    "toTimeZone": tuple((time, zone) for time in ("@t", "@t3", "@nt") for zone in _ZONES),
    "formatDateTime": tuple((time, f) for time in _TIMES for f in ("'%F %T'", "'%d/%m/%y'", "'%H:%i'", "'%j %u'")),
    "splitByChar": (("','", "@s"), ("' '", "@s"), ("'b'", "@lc")),
    "splitByRegexp": tuple((p, "@s") for p in _PATTERNS),
    **dict.fromkeys(("match", "extract", "extractAll"), tuple(("@s", p) for p in _PATTERNS)),
    **dict.fromkeys(
        ("replaceRegexpAll", "replaceRegexpOne"),
        tuple(("@s", p, r) for p in _PATTERNS for r in ("'<\\\\0>'", "'_'", "''")),
    ),
    **dict.fromkeys(
        ("multiSearchAny", "multiSearchAnyCaseInsensitive", "multiSearchFirstIndex", "multiSearchFirstIndexUTF8"),
        (("@s", "['or', 'é']"), ("@ns", "['x']"), ("@s", "['HELLO', '']")),
    ),
    "extractURLParameter": (("@url", "'q'"), ("@url", "'r'"), ("@url", "'zz'")),
    "range": (("@u8 % 5",), ("3",), ("1", "@u8 % 9"), ("0", "10", "3")),
    "repeat": (("@s", "2"), ("@lc", "@u8 % 3"), ("'ab'", "0"), ("'ab'", "-1")),
    "space": (("3",), ("@u8 % 4",)),
    "toFixedString": (("'ab'", "2"), ("'ab'", "5")),
    "arrayElement": (("@arr", "1"), ("@arr", "-1"), ("@sarr", "@u8"), ("@m", "'a'"), ("@arr", "@i8")),
    "arraySlice": (("@arr", "2"), ("@arr", "1", "2"), ("@sarr", "-2"), ("@sarr", "-1", "1")),
    **dict.fromkeys(
        ("arrayRotateLeft", "arrayRotateRight", "arrayShiftLeft", "arrayShiftRight"),
        (("@arr", "@i8"), ("@sarr", "1"), ("[1, NULL]", "@id"), ("@arr", "-2")),
    ),
    "arrayResize": (("@arr", "@i8 % 7"), ("@sarr", "3"), ("[1]", "@id", "@ni"), ("@arr", "-4", "7")),
    "arrayWithConstant": (("@u8 % 4", "@s"), ("2", "@ni"), ("0", "@arr")),
    "simpleJSONExtractString": (("replaceAll(@js, ': ', ':')", "'a'"), ("@js", "'a'")),
    "simpleJSONExtractInt": (("replaceAll(@js, ': ', ':')", "'e'"), ("@js", "'a'")),
    "JSON_VALUE": (("@js", "'$.a'"), ("@js", "'$.c[2].d'"), ("@js", "'$.f'"), ("@js", "'$[1]'"), ("@s", "'$'")),
    "JSON_EXISTS": (("@js", "'$.a'"), ("@js", "'$.c[9]'")),
    "JSONKey": (("@js", "1"), ("@js", "-1"), ("@js", "'c'", "3", "1")),
    "JSONType": _JSON,
    "JSONExtractKeys": (("@js",), ("@js", "'c'", "3")),
    "JSONExtractKeysAndValues": (("@js", "'String'"), ("@js", "'Int64'"), ("@js", "'Float64'"), ("@js", "1", "'Int8'")),
    "mapContainsKeyLike": (("@m", "'a%'"),),
    "mapFromArrays": (("['a', 'b']", "[@u8, 2]"), ("[1]", "[@s]")),
    "has": (("@arr", "1"), ("@sarr", "'a'"), ("[1, NULL]", "NULL"), ("@arr", "@ni")),
    "indexOf": (("@arr", "1"), ("@sarr", "@lc")),
    **{
        f"toDecimal{bits}{form}": tuple(
            (value, scale) for value in ("@i32", "@num", "@f32", "'1.25'") for scale in ("0", "2")
        )
        for bits in (32, 64, 128)
        for form in ("", "OrNull", "OrZero", "OrDefault")
    },
    **{
        f"toStartOf{unit}": tuple((time,) for time in _TIMES)
        for unit in ("Day", "Hour", "Minute", "Month", "Year", "Quarter")
    },
    "makeDate32": (("2024", "60"), ("1900", "1"), ("2024", "2", "29")),
    "leftPad": (("@s", "8"), ("@s", "3", "'*'"), ("@lc", "@u8 % 5", "'xy'")),
    "rightPad": (("@s", "8"), ("@s", "3", "'*'"), ("@lc", "@u8 % 5", "'xy'")),
}

BITMAPS = frozenset(
    {
        "bitmapBuild",
        "bitmapAnd",
        "bitmapOr",
        "bitmapXor",
        "bitmapAndnot",
        "bitmapSubsetInRange",
        "bitmapSubsetLimit",
        "subBitmap",
    }
)
"""Functions whose results are states, which only other functions read."""
UNSTABLE = BITMAPS | frozenset(
    {
        "bitmapToArray",
        "sumKahan",
        "exponentialMovingAverage",
        "rankCorr",
        "MD5",
        "sipHash128",
        "geoDistance",
        "greatCircleAngle",
        "greatCircleDistance",
        "SHA1",
        "SHA224",
        "SHA256",
        "SHA384",
        "SHA512",
        "IPv6StringToNum",
        "UUIDStringToNum",
        "now",
        "now64",
        "today",
        "yesterday",
        "rand",
        "rand32",
        "rand64",
        "randCanonical",
        "generateUUIDv4",
        "generateUUIDv7",
        "randConstant",
        "randUniform",
        "any",
        "anyLast",
        "groupArray",
        "groupUniqArray",
        "anyHeavy",
        "first_value",
        "last_value",
        "groupConcat",
        "sequenceCount",
        "sequenceMatch",
        "argAndMin",
        "argAndMax",
        "argMin",
        "boundingRatio",
        "argMax",
        "topK",
        "approx_top_k",
        "approx_top_sum",
        "nowInBlock",
        "multiMatchAllIndices",
        "timeZone",
        "serverTimezone",
        "UTCTimestamp",
        "curdate",
    }
)
