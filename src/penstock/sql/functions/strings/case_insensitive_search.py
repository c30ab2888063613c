"""Case-insensitive search beyond ASCII: positionCaseInsensitiveUTF8, multiSearchAnyCaseInsensitiveUTF8

The needles must be literals. Only the letters of the needles are folded in the haystack, each to the one other letter
that ClickHouse takes for it; a needle with a letter of several cases is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import TypedSql, replace_sql, text
from penstock.sql.functions.arguments import literal_string, literal_strings
from penstock.sql.functions.function import BadArguments, Function, Kind
from penstock.sql.functions.strings import search, substrings
from penstock.sql.spark_text import string_literal

_CASE_SENSITIVE_FUNCTIONS = {row.name: row for row in (*search.FUNCTIONS, *substrings.FUNCTIONS)}
_FOLDABLE_RANGES = ((0x00, 0x17F), (0x391, 0x3C9), (0x400, 0x45F))
_AMBIGUOUS_LETTERS = "ıſµßŉİĸΣσςΘθΙιΜμ"
_LOOKALIKE_CAPITALS = {"k": "\u212a", "å": "\u212b", "ω": "\u2126"}
"""The signs of Kelvin, Ångström and Ohm: ClickHouse sometimes takes them for capitals, so they raise an error."""


def _lower_letter(sign: str) -> str:
    """The lower-case letter of a needle's letter. Raises BadArguments for a letter with several counterparts."""
    small, large = sign.lower(), sign.upper()
    if small == large:
        return sign
    known = any(low <= ord(sign) <= high for low, high in _FOLDABLE_RANGES) and sign not in _AMBIGUOUS_LETTERS
    if not known or len(small) > 1 or len(large) > 1 or sign not in (small, large):
        raise BadArguments(f"the case of `{sign}` is not known here", "lowerUTF8 on both sides")
    return small


def _lower_needle_letters(value: TypedSql, needles: Iterable[str]) -> TypedSql:
    """The haystack with the letters of the needles in lower case."""
    letters = sorted({each for each in "".join(needles) if each.upper() != each})
    if not letters:
        return value
    large = string_literal("".join(each.upper() for each in letters))
    signs = "".join(_LOOKALIKE_CAPITALS[each] for each in letters if each in _LOOKALIKE_CAPITALS)

    def formula(v: str) -> str:
        folded = f"translate({v}, {large}, {string_literal(''.join(letters))})"
        return f"if({v} RLIKE '[{signs}]', raise_error('the case of {signs} is not defined'), {folded})"

    plain = f"translate({value.sql}, {large}, {string_literal(''.join(letters))})"
    return replace_sql(value, bind_if_long(value.sql, formula) if signs else plain)


def _lower_needle(needle: str) -> str:
    return "".join(map(_lower_letter, needle))


def _single_needle_function(name: str, of: str, arity: tuple[int, int] = (2, 2)) -> Function:
    """The function `of` on lower-cased strings, with one literal needle."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        needle = _lower_needle(literal_string(values[1], f"the needle of `{name}`"))
        return _CASE_SENSITIVE_FUNCTIONS[of].build(
            [_lower_needle_letters(values[0], needle), text(needle), *values[2:]]
        )

    takes: tuple[Kind, ...] = ("text", "constant", "integer")
    return Function(name, arity, takes, build)


def _needle_array_function(name: str, of: str) -> Function:
    """The function `of` on lower-cased strings, with an array of literal needles."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        needles = [_lower_needle(str(each.constant)) for each in literal_strings(values[1], f"what `{name}` looks for")]
        listed = replace(values[1], sql=f"array({', '.join(map(string_literal, needles))})")
        return _CASE_SENSITIVE_FUNCTIONS[of].build([_lower_needle_letters(values[0], needles), listed])

    return Function(name, (2, 2), ("text", "array"), build)


FUNCTIONS: tuple[Function, ...] = (
    _single_needle_function("positionCaseInsensitiveUTF8", "positionUTF8", (2, 3)),
    _single_needle_function("countSubstringsCaseInsensitiveUTF8", "countSubstrings"),
    _single_needle_function("startsWithCaseInsensitiveUTF8", "startsWithUTF8"),
    _single_needle_function("endsWithCaseInsensitiveUTF8", "endsWithUTF8"),
    _needle_array_function("multiSearchAnyCaseInsensitiveUTF8", "multiSearchAnyUTF8"),
    _needle_array_function("multiSearchFirstIndexCaseInsensitiveUTF8", "multiSearchFirstIndexUTF8"),
    _needle_array_function("multiSearchFirstPositionCaseInsensitiveUTF8", "multiSearchFirstPositionUTF8"),
    _needle_array_function("multiSearchAllPositionsCaseInsensitiveUTF8", "multiSearchAllPositionsUTF8"),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
