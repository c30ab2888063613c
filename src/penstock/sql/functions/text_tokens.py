"""Whole words and scattered letters in texts: hasToken, hasSubsequence and their kin.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a needle is a literal; a
word is made of ASCII letters and digits and of all that is not ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.function import UINT8, BadArguments, Function
from penstock.sql.functions.strings import ASCII_LOWER
from penstock.sql.functions.text_arguments import constant_text
from penstock.sql.typed import Typed, null_if_any, typed
from penstock.sql.value_types import text_literal

_IN_WORD = r"[0-9A-Za-z\x{80}-\x{10FFFF}]"


def _lowered(text: str) -> str:
    return "".join(sign.lower() if sign.isascii() else sign for sign in text)


def _has_token(name: str, *, any_case: bool, lenient: bool) -> Function:
    template = ASCII_LOWER if any_case else "{0}"

    def build(values: Sequence[Typed]) -> Typed:
        word = constant_text(values[1], "the token")
        of = t.Nullable(UINT8) if lenient else null_if_any(UINT8, [values[0]])
        if any(sign.isascii() and not sign.isalnum() for sign in word):
            if lenient:
                return typed("CAST(NULL AS INT)", of)
            raise BadArguments(f"the token of `{name}` is more than one word", "position, multiSearchAny")
        quoted = re.escape(_lowered(word) if any_case else word)
        pattern = f"(?<!{_IN_WORD}){quoted}(?!{_IN_WORD})" if word else "(?!)"
        return Typed(f"({template.format(values[0].sql)} RLIKE {text_literal(pattern)})", of, "BOOLEAN")

    return Function(name, (2, 2), ("text", "constant"), build)


def _has_subsequence(name: str, *, any_case: bool) -> Function:
    """Each letter is looked for after the one before it."""
    template = ASCII_LOWER if any_case else "{0}"

    def build(values: Sequence[Typed]) -> Typed:
        needle = constant_text(values[1], "the needle")
        if not needle.isascii() and (any_case or "UTF8" not in name):
            raise BadArguments(f"the needle of `{name}` must be ASCII", "hasSubsequenceUTF8")
        parts = (re.escape(sign) for sign in (_lowered(needle) if any_case else needle))
        pattern = r"\A" + "".join(f"[^{part}]*+{part}" for part in parts)
        sql = f"({template.format(values[0].sql)} RLIKE {text_literal(pattern)})"
        return Typed(sql, null_if_any(UINT8, [values[0]]), "BOOLEAN")

    return Function(name, (2, 2), ("text", "constant"), build)


FUNCTIONS: tuple[Function, ...] = (
    _has_token("hasToken", any_case=False, lenient=False),
    _has_token("hasTokenOrNull", any_case=False, lenient=True),
    _has_token("hasTokenCaseInsensitive", any_case=True, lenient=False),
    _has_token("hasTokenCaseInsensitiveOrNull", any_case=True, lenient=True),
    _has_subsequence("hasSubsequence", any_case=False),
    _has_subsequence("hasSubsequenceUTF8", any_case=False),
    _has_subsequence("hasSubsequenceCaseInsensitive", any_case=True),
    _has_subsequence("hasSubsequenceCaseInsensitiveUTF8", any_case=True),
)
ALIASES: dict[str, str] = {}
ANY_CASE = (
    "hasTokenCaseInsensitive", "hasTokenCaseInsensitiveOrNull", "hasSubsequence", "hasSubsequenceUTF8",
    "hasSubsequenceCaseInsensitive", "hasSubsequenceCaseInsensitiveUTF8",
)  # fmt: skip
