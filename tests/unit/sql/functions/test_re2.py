"""Patterns of RE2 in Java's syntax, and those that are refused."""

from __future__ import annotations

import pytest

from penstock.sql.functions.strings.character_classes import BadPattern
from penstock.sql.functions.strings.re2 import java_pattern

SAME = {
    "W.r": "W.r",
    "^h$": r"^h\z",
    "(?m)^h$": r"(?<![^\n])h(?![^\n])",
    "(?-s).": r"[^\n]",
    r"\d+\s": r"[0-9]+[\x{9}\x{A}\x{C}\x{D} ]",
    "(?i)ak": "[Aa][Kk\u212a]",
    "(?i)é[b-d]": "[Éé][B-Db-d]",
    "(?U)a+b+?": "a+?b+",
    r"\Qa.b\E+": r"a\.b+",
    "[]a&-]": r"[\&\-\]a]",
    "(?P<n>a)(?:b)": "(a)(?:b)",
    "a{,3}": r"a\{,3\}",
    r"\pL\p{^Greek}": r"[\p{L}][\P{IsGreek}]",
}
REFUSED = {
    "(?=a)": "`(?=` is not known to RE2",
    "(?<!a)b": "`(?<` is not known to RE2",
    r"(a)\1": r"`\1` is not an escape of RE2",
    "a**": "a repetition is repeated",
    "a*+": "a repetition is repeated",
    "(a*)*": "`*` repeats what may match the empty string",
    "a{2,1}": "invalid repetition `{2,1}`",
    "a{1001}": "invalid repetition `{1001}`",
    "*a": "nothing to repeat by `*`",
    "(a": "a `)` is missing",
    "a)": "unexpected `)`",
    "[a": "the pattern ends too early",
    "[b-a]": "invalid range `b-a`",
    "[[:foo:]]": "unknown class `[:foo:]`",
    r"\C": r"`\C` is not an escape of RE2",
    r"\p{Foo}": r"the class `\p{Foo}` is not supported",
    r"(?i)\pL": r"`\p{…}` in any case is not supported",
    "(?i)ß": "`ß` in any case is not supported",
    "(?P<n>a)(?P<n>b)": "two groups have the name `n`",
}


@pytest.mark.parametrize("pattern", SAME)
def test_translated(pattern: str) -> None:
    assert java_pattern(pattern).java == "(?s)" + SAME[pattern]


@pytest.mark.parametrize("pattern", REFUSED)
def test_refused(pattern: str) -> None:
    with pytest.raises(BadPattern) as caught:
        java_pattern(pattern)
    assert caught.value.message == REFUSED[pattern]


def test_groups_and_emptiness() -> None:
    found = java_pattern("(a)(?:b)?(?P<x>c*)")
    assert (found.groups, found.empty) == (2, False)
    assert java_pattern("a*|b").empty
    assert java_pattern("^$").empty
