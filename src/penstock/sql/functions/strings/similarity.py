"""Similarity of strings: editDistance, jaroSimilarity, byteHammingDistance, soundex, stringBytesUniq

Distances and similarities are of bytes; only the functions with UTF8 in their name count characters.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import bytes_as_characters
from penstock.sql.functions.function import FLOAT64, STRING, UINT16, UINT64, Function, template_function

_EDIT_DISTANCE_UTF8 = (
    "if({0} = '' OR {1} = '', octet_length({0}) + octet_length({1}), levenshtein({0}, {1}))"  # from '' bytes count
)
_EDIT_DISTANCE = f"levenshtein({bytes_as_characters('{0}')}, {bytes_as_characters('{1}')})"


def _soundex(values: Sequence[TypedSql]) -> TypedSql:
    """Only ASCII letters count. H and W separate letters as vowels do."""

    def formula(v: str) -> str:
        parted = f"concat(left({v}, 1), translate(substring({v}, 2), 'hwHW', 'aaaa'))"
        return f"if({v} = '', '0000', soundex({parted}))"

    letters = f"regexp_replace({values[0].sql}, '[^A-Za-z]', '')"
    return typed_sql(bind_if_long(letters, formula), nullable_if_any(STRING, list(values)))


def _split_bytes(value: str) -> str:
    return f"split({bytes_as_characters(value)}, '')"


def _byte_hamming_distance(values: Sequence[TypedSql]) -> TypedSql:
    """The number of positions at which bytes differ; bytes beyond the shorter string count as different."""
    a, b = (_split_bytes(value.sql) for value in values)
    sql = f"size(filter(zip_with({a}, {b}, (` x`, ` y`) -> ` x` <=> ` y`), ` z` -> NOT ` z`))"
    tests = " OR ".join(f"{value.sql} IS NULL" for value in values if value.nullable)
    return TypedSql(f"if({tests}, NULL, {sql})" if tests else sql, nullable_if_any(UINT64, list(values)), "INT")


def _string_bytes_uniq(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0].sql
    count = f"if({value} = '', 0, size(array_distinct({_split_bytes(value)})))"
    sql = f"if({value} IS NULL, NULL, {count})" if values[0].nullable else count
    return typed_sql(sql, nullable_if_any(UINT16, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    Function("soundex", (1, 1), ("text",), _soundex),
    Function("byteHammingDistance", (2, 2), ("text",), _byte_hamming_distance),
    Function("stringBytesUniq", (1, 1), ("text",), _string_bytes_uniq),
    template_function("damerauLevenshteinDistance", "text text", "penstock_damerau({0}, {1})", UINT64, "BIGINT"),
    template_function("jaroSimilarity", "text text", "penstock_jaro({0}, {1})", FLOAT64),
    template_function("jaroWinklerSimilarity", "text text", "penstock_jaro_winkler({0}, {1})", FLOAT64),
    template_function("editDistance", "text text", _EDIT_DISTANCE, UINT64, "INT"),
    template_function("editDistanceUTF8", "text text", _EDIT_DISTANCE_UTF8, UINT64, "INT"),
)
ALIASES: dict[str, str] = {
    "mismatches": "byteHammingDistance",
    "levenshteinDistance": "editDistance",
    "levenshteinDistanceUTF8": "editDistanceUTF8",
}
ANY_CASE: tuple[str, ...] = ("soundex",)
