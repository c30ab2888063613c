"""Every scalar function there is, by name.

In: the families' rows. Out: `FUNCTIONS`, `function_named`. Called by calls and the docs. Invariant: a
name stands once; some names are ClickHouse's in any case.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.sql.functions import (
    addresses,
    array_edits,
    array_norms,
    array_numbers,
    array_parts,
    array_sets,
    arrays,
    bits,
    choices,
    conditions,
    conversions,
    curves,
    date_changes,
    date_formats,
    date_numbers,
    date_parts,
    datetimes,
    distances,
    division,
    divisors,
    encodings,
    folded_searches,
    geohash,
    hashes,
    ipv6,
    json,
    json_objects,
    json_simple,
    json_texts,
    maps,
    maths,
    number_limits,
    number_texts,
    operators,
    parse_formats,
    parsing,
    readable,
    regexps,
    reinterpret,
    rounding,
    searches,
    splits,
    strings,
    text_edits,
    text_formats,
    text_tokens,
    url_queries,
    urls,
    weeks,
)
from penstock.sql.functions.function import Function

FAMILIES = (
    conversions,
    conditions,
    operators,
    maths,
    strings,
    datetimes,
    arrays,
    array_edits,
    array_sets,
    array_parts,
    array_numbers,
    array_norms,
    maps,
    json,
    json_objects,
    json_simple,
    json_texts,
    urls,
    regexps,
    searches,
    folded_searches,
    text_tokens,
    text_edits,
    splits,
    encodings,
    text_formats,
    hashes,
    divisors,
    readable,
    geohash,
    distances,
    addresses,
    ipv6,
    url_queries,
    date_formats,
    date_parts,
    date_changes,
    date_numbers,
    weeks,
    bits,
    parsing,
    choices,
    division,
    rounding,
    curves,
    number_limits,
    number_texts,
    reinterpret,
    parse_formats,
)

FUNCTIONS: Mapping[str, Function] = {row.name: row for family in FAMILIES for row in family.FUNCTIONS}
_ALIASES: Mapping[str, str] = {alias: name for family in FAMILIES for alias, name in family.ALIASES.items()}
_ANY_CASE: Mapping[str, str] = {name.lower(): name for family in FAMILIES for name in family.ANY_CASE}


def function_named(name: str) -> Function | None:
    """The row of a name."""
    exact = _ALIASES.get(name, name)
    if exact in FUNCTIONS:
        return FUNCTIONS[exact]
    spelled = _ANY_CASE.get(name.lower())
    return FUNCTIONS[_ALIASES.get(spelled, spelled)] if spelled is not None else None


def function_names() -> tuple[str, ...]:
    """Every name, with the aliases."""
    return (*FUNCTIONS, *_ALIASES)
