"""Patterns of LIKE and ILIKE: ClickHouse's rules for escapes, and which letters are equal in any case.

In: a literal pattern. Out: Spark's pattern, and the letters to replace on both sides. Called by comparisons.
Invariant: a pattern whose letters ClickHouse compares in two ways at once has no answer here.
"""

from __future__ import annotations

import re

LETTERS = ("İΣ", "\ue000σ")
"""Java's lower case of these is two letters, or depends on where they stand."""
_BY_RE2 = (f"{LETTERS[0]}ſςµϐϑϰϖϕϱϵẛ\u1fbe\u0345ᲀᲁᲂᲃᲄᲅᲆᲇᲈ", f"{LETTERS[1]}sσμβθκπφρεṡιιвдосттъѣꙋ")
_IS_PART = re.compile(r"(?s)%(?:[^%_\\]|\\.)*%")
_WILD = re.compile(r"(?s)(?:\\(.)|([%_]))")
_IN_SEVERAL_CASES = set("σςΣμµ")
_SOUGHT_FIRST = 3
"""A piece of so many bytes is looked for letter by letter before RE2 sees the text."""


def spark_pattern(pattern: str) -> str | None:
    """A backslash before a letter that has no meaning is one itself, which Spark does not allow; None for one at
    the end."""
    if re.fullmatch(r"(?s)(?:[^\\]|\\.)*", pattern) is None:
        return None
    return re.sub(r"(?s)\\(.)", lambda found: found[0] if found[1] in "%_\\" else f"\\\\{found[1]}", pattern)


def folded_letters(pattern: str) -> tuple[str, str] | None:
    """What to translate in texts and pattern of ILIKE before Spark compares them; None where ClickHouse compares
    some of the letters by RE2, which knows more that are equal, and some not."""
    if _IS_PART.fullmatch(pattern):
        return LETTERS
    pieces = [piece for piece in _pieces(pattern) if piece]
    if all(len(piece.encode()) < _SOUGHT_FIRST for piece in pieces):
        return _BY_RE2
    return None if len(pieces) > 1 and _IN_SEVERAL_CASES & set(pattern) else LETTERS


def _pieces(pattern: str) -> list[str]:
    """The texts between wildcards."""
    return _WILD.sub(lambda found: found[1] or "\0", pattern).split("\0")
