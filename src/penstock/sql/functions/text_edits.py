"""Texts put over others, turned around, compared byte by byte, and by their sound.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: bytes stay what they are,
valid or not; only the names with UTF8 count characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.sql.functions.function import STRING, UINT16, UINT64, BadArguments, Function
from penstock.sql.functions.text_arguments import as_bytes, byte_text, constant_number, constant_text
from penstock.sql.let import let
from penstock.sql.typed import Typed, null_if_any, typed
from penstock.sql.value_types import text_literal

_MOST = 2**30


def single(value: str) -> str:
    """A text in which each byte is a character."""
    return f"decode({as_bytes(value)}, 'ISO-8859-1')"


def _overlay(name: str) -> Function:
    """A place below zero counts from the end, 0 is the end; without a length the new text's own is cut out."""
    by_bytes = not name.endswith("UTF8")
    size = "octet_length" if by_bytes else "char_length"

    def part(sql: str, start: str, length: str) -> str:
        cut = f"substring({as_bytes(sql) if by_bytes else sql}, {start}{length})"
        return byte_text(cut) if by_bytes else cut

    def build(values: Sequence[Typed]) -> Typed:
        place = constant_number(values[2], f"the place of `{name}`")
        given = constant_number(values[3], f"the length of `{name}`") if len(values) > 3 else -1
        if max(abs(place), given) > _MOST:
            raise BadArguments(f"a place or length of `{name}` is too great")
        new = values[1].sql
        length = f"{size}({new})" if given < 0 else str(given)

        def formula(v: str) -> str:
            before = {0: f"{size}({v})"}.get(place, f"greatest({size}({v}) + {place}, 0)")
            kept = str(place - 1) if place > 0 else before
            head = part(v, "1", f", {kept}")
            return f"concat({head}, {new}, {part(v, f'{kept} + {length} + 1', '')})"

        return typed(let(values[0].sql, formula), null_if_any(STRING, list(values)))

    return Function(name, (3, 4), ("text", "text", "constant", "constant"), build)


def _soundex(values: Sequence[Typed]) -> Typed:
    """By ASCII letters only; H and W part letters as vowels do."""

    def formula(v: str) -> str:
        parted = f"concat(left({v}, 1), translate(substring({v}, 2), 'hwHW', 'aaaa'))"
        return f"if({v} = '', '0000', soundex({parted}))"

    letters = f"regexp_replace({values[0].sql}, '[^A-Za-z]', '')"
    return typed(let(letters, formula), null_if_any(STRING, list(values)))


def _bytes_of(value: str) -> str:
    return f"split({single(value)}, '')"


def _distance(values: Sequence[Typed]) -> Typed:
    """How many bytes differ; those that only one of the texts has do."""
    a, b = (_bytes_of(value.sql) for value in values)
    sql = f"size(filter(zip_with({a}, {b}, (` x`, ` y`) -> ` x` <=> ` y`), ` z` -> NOT ` z`))"
    tests = " OR ".join(f"{value.sql} IS NULL" for value in values if value.nullable)
    return Typed(f"if({tests}, NULL, {sql})" if tests else sql, null_if_any(UINT64, list(values)), "INT")


def _reversed(values: Sequence[Typed]) -> Typed:
    sign = constant_text(values[1], "the separator") if len(values) > 1 else "."
    if not sign:
        raise BadArguments("the separator of `reverseBySeparator` is empty", "reverse")
    joined = text_literal(sign.encode().decode("latin-1"))
    pattern = text_literal(re.escape(sign.encode().decode("latin-1")))
    parts = f"reverse(split({single(values[0].sql)}, {pattern}))"
    return typed(byte_text(f"encode(array_join({parts}, {joined}), 'ISO-8859-1')"), null_if_any(STRING, [values[0]]))


def _different_bytes(values: Sequence[Typed]) -> Typed:
    value = values[0].sql
    count = f"if({value} = '', 0, size(array_distinct({_bytes_of(value)})))"
    sql = f"if({value} IS NULL, NULL, {count})" if values[0].nullable else count
    return typed(sql, null_if_any(UINT16, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    _overlay("overlay"),
    _overlay("overlayUTF8"),
    Function("soundex", (1, 1), ("text",), _soundex),
    Function("byteHammingDistance", (2, 2), ("text",), _distance),
    Function("reverseBySeparator", (1, 2), ("text", "constant"), _reversed),
    Function("stringBytesUniq", (1, 1), ("text",), _different_bytes),
)
ALIASES = {
    "mismatches": "byteHammingDistance",
    "concatAssumeInjective": "concat",
    "concatWithSeparatorAssumeInjective": "concatWithSeparator",
    "isValidASCII": "isASCII",
}
ANY_CASE = ("overlay", "soundex")
