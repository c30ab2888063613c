"""The closed table of all scalar functions, by name.

`FAMILIES` lists the modules of functions in the order of docs/sql-functions.md. Each has FUNCTIONS (its rows),
ALIASES (other names of rows) and ANY_CASE (names that ClickHouse takes in upper and lower case). A name stands in one
family only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from penstock.sql.functions import bitmaps, conditions, conversions, maps, reinterpret, uuids
from penstock.sql.functions.arrays import elements, numeric, reshape, sets
from penstock.sql.functions.dates import (
    best_effort_times,
    change_part,
    day_numbers,
    format_codes,
    format_letters,
    intervals,
    make_date,
    parse_codes,
    parts,
    time_zones,
    unit_starts,
    unix_time,
    weeks,
)
from penstock.sql.functions.function import Function
from penstock.sql.functions.geo import distances, geohash
from penstock.sql.functions.hashes import hash_family, hash_functions
from penstock.sql.functions.json import documents, extract, simple_json, to_json_string
from penstock.sql.functions.network import ip_addresses, urls
from penstock.sql.functions.numbers import bits, integers, math, random, readable, rounding
from penstock.sql.functions.strings import (
    case_insensitive_search,
    encodings,
    format_concat,
    format_places,
    key_values,
    regexps,
    search,
    similarity,
    split,
    substrings,
    transformations,
)

FAMILIES = (
    conversions,
    reinterpret,
    conditions,
    math,
    rounding,
    integers,
    bits,
    random,
    readable,
    substrings,
    transformations,
    format_concat,
    format_places,
    split,
    key_values,
    search,
    case_insensitive_search,
    regexps,
    similarity,
    encodings,
    unix_time,
    parts,
    unit_starts,
    weeks,
    intervals,
    make_date,
    change_part,
    day_numbers,
    time_zones,
    format_codes,
    parse_codes,
    format_letters,
    best_effort_times,
    elements,
    reshape,
    sets,
    numeric,
    bitmaps,
    maps,
    extract,
    documents,
    simple_json,
    to_json_string,
    urls,
    ip_addresses,
    uuids,
    hash_functions,
    geohash,
    distances,
)

FUNCTIONS: Mapping[str, Function] = {row.name: row for family in FAMILIES for row in family.FUNCTIONS}
_ALIASES: Mapping[str, str] = {alias: name for family in FAMILIES for alias, name in family.ALIASES.items()}
_ANY_CASE: Mapping[str, str] = {name.lower(): name for family in FAMILIES for name in family.ANY_CASE}


def find_function(name: str) -> Function | None:
    """The function of a name or an alias, None if there is none."""
    exact = _ALIASES.get(name, name)
    if exact in FUNCTIONS:
        return FUNCTIONS[exact]
    spelled = _ANY_CASE.get(name.lower())
    return FUNCTIONS[_ALIASES.get(spelled, spelled)] if spelled is not None else None


def function_names() -> tuple[str, ...]:
    """Every name, aliases included."""
    return (*FUNCTIONS, *_ALIASES)


JsonUse: TypeAlias = Literal["as it is", "by a function"]
_READ_TEXTS = ("least", "greatest", "transform", "arrayStringConcat")
_JSON_USES: Mapping[str, JsonUse] = {
    **{row.name: "as it is" for family in (conditions, elements, extract) for row in family.FUNCTIONS},
    **dict.fromkeys(("length", "empty", "notEmpty"), "as it is"),  # of an array of documents
    **{row.name: "by a function" for family in (conversions, documents, to_json_string) for row in family.FUNCTIONS},
}


def json_use(name: str) -> JsonUse | None:
    """How a function takes a JSON document: as it is stored, or by a function that Spark runs in Python; None if it
    takes none."""
    return None if name in _READ_TEXTS else _JSON_USES.get(name)


FineTimeUse: TypeAlias = Literal["as it is", "in microseconds"]
_TAKE_FINE_TIMES = (conditions, conversions, intervals, elements, reshape, sets, maps)
"""Families whose functions keep all digits of a time."""
_READ_MICROSECONDS = (parts, unit_starts, weeks, day_numbers)
"""Families whose results do not depend on what is below a microsecond."""
_FINE_TIME_USES: Mapping[str, FineTimeUse] = {
    **{row.name: "as it is" for family in _TAKE_FINE_TIMES for row in family.FUNCTIONS},
    **{row.name: "in microseconds" for family in _READ_MICROSECONDS for row in family.FUNCTIONS},
    **{family.name: "as it is" for family in hash_family.FAMILIES},
    **dict.fromkeys(("toUnixTimestamp64Nano", "toJSONString", "toTimeZone"), "as it is"),
    **dict.fromkeys(("toStartOfSecond", "toStartOfMillisecond", "toStartOfMicrosecond"), "as it is"),
    **dict.fromkeys(("toUnixTimestamp", "toUnixTimestamp64Second"), "in microseconds"),
    **dict.fromkeys(("toUnixTimestamp64Milli", "toUnixTimestamp64Micro", "formatDateTime"), "in microseconds"),
}


def fine_time_use(name: str) -> FineTimeUse | None:
    """How a function takes a time of more than six digits; None if it does not."""
    return _FINE_TIME_USES.get(name)
