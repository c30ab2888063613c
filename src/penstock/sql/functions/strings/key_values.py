"""Pairs of keys and values in a text: extractKeyValuePairs

The pairs are found by a Java function of ours. A key that comes twice is an error, as in every map that is made at run
time: Spark's maps have each key once.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.spark_types import value_default
from penstock.sql.expr.typed import TypedSql, typed_sql
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.function import BadArguments, Function
from penstock.sql.spark_text import string_literal

_WORDS = ("the delimiter of key and value", "the pair delimiters", "the quoting character", "the strategy")
_DEFAULTS = (":", " ,;", '"', "PROMOTE")
_STRATEGIES = ("INVALID", "ACCEPT", "PROMOTE")
"""What a quote inside of a key or value without quotes does. It begins the key or value anew (PROMOTE) unless the query
says otherwise, as from ClickHouse 26.9 on; older ones end the pair (INVALID)."""
_MOST_PAIR_DELIMITERS = 8


def _extract_pairs(values: Sequence[TypedSql]) -> TypedSql:
    given = tuple(literal_string(value, word) for value, word in zip(values[1:], _WORDS, strict=False))
    delimiter, ends, quote, strategy = settings = (*given, *_DEFAULTS[len(given) :])
    if not all(len(sign) == 1 and sign.isascii() for sign in (delimiter, quote)):
        raise BadArguments(f"{_WORDS[0]} and {_WORDS[2]} are one ASCII character each")
    if not ends.isascii() or not 0 < len(ends) <= _MOST_PAIR_DELIMITERS:
        raise BadArguments(f"{_WORDS[1]} are one to {_MOST_PAIR_DELIMITERS} ASCII characters")
    if delimiter == quote or delimiter in ends or quote in ends:
        raise BadArguments("the delimiters and the quoting character must differ")
    if strategy.upper() not in _STRATEGIES:
        raise BadArguments(f"the strategy is one of {', '.join(_STRATEGIES)}")
    listed = ", ".join(string_literal(each) for each in (*settings[:3], strategy.upper()))
    found = f"map_from_entries(penstock_key_values({values[0].sql}, {listed}))"
    of = t.Map(t.String(), t.String())
    return typed_sql(f"coalesce({found}, {value_default(of)})" if values[0].nullable else found, of)


FUNCTIONS: tuple[Function, ...] = (
    Function("extractKeyValuePairs", (1, 5), ("text", "constant"), _extract_pairs, strict=False),
)
ALIASES: dict[str, str] = {"str_to_map": "extractKeyValuePairs", "mapFromString": "extractKeyValuePairs"}
ANY_CASE: tuple[str, ...] = ("str_to_map",)
