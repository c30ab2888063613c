"""Every scalar function there is, by name.

In: the families' rows. Out: `FUNCTIONS`, `function_named`. Called by calls and the docs. Invariant: a
name stands once; some names are ClickHouse's in any case.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.sql.functions import conditions, conversions, maps, reinterpret
from penstock.sql.functions.arrays import elements, numeric, reshape, sets
from penstock.sql.functions.dates import (
    change_part,
    datetimes,
    format_codes,
    parse_best_effort,
    parts_and_numbers,
    weeks,
)
from penstock.sql.functions.function import Function
from penstock.sql.functions.geo import distances, geohash
from penstock.sql.functions.hashes import hash_functions
from penstock.sql.functions.json import extract, simple_json, to_json_string
from penstock.sql.functions.network import ip_addresses, urls
from penstock.sql.functions.numbers import bits, division, limits_and_buckets, math, readable
from penstock.sql.functions.strings import (
    basics,
    case_insensitive_search,
    encodings,
    format_concat,
    regexps,
    search,
    split,
)

FAMILIES = (
    conversions,
    conditions,
    format_concat,
    math,
    basics,
    datetimes,
    elements,
    reshape,
    sets,
    numeric,
    maps,
    extract,
    simple_json,
    to_json_string,
    urls,
    regexps,
    search,
    case_insensitive_search,
    split,
    encodings,
    hash_functions,
    division,
    readable,
    geohash,
    distances,
    ip_addresses,
    format_codes,
    parts_and_numbers,
    change_part,
    weeks,
    bits,
    parse_best_effort,
    limits_and_buckets,
    reinterpret,
)

FUNCTIONS: Mapping[str, Function] = {row.name: row for family in FAMILIES for row in family.FUNCTIONS}
_ALIASES: Mapping[str, str] = {alias: name for family in FAMILIES for alias, name in family.ALIASES.items()}
_ANY_CASE: Mapping[str, str] = {name.lower(): name for family in FAMILIES for name in family.ANY_CASE}


def find_function(name: str) -> Function | None:
    """The row of a name."""
    exact = _ALIASES.get(name, name)
    if exact in FUNCTIONS:
        return FUNCTIONS[exact]
    spelled = _ANY_CASE.get(name.lower())
    return FUNCTIONS[_ALIASES.get(spelled, spelled)] if spelled is not None else None


def function_names() -> tuple[str, ...]:
    """Every name, with the aliases."""
    return (*FUNCTIONS, *_ALIASES)
