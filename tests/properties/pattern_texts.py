"""Texts that make a regular expression slow, derived from its own structure.

For each part that a pattern may repeat without limit: many of it with and without what has to precede it, followed by
something that does not fit, and many of the whole with its end missing. A pattern that reads a text again for every
place where a match may begin, or divides one run in many ways, is quadratic or worse on some of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

try:
    from re import _constants as c
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as c  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

MANY = 100
"""A part that may occur more often than this counts as repeated without limit."""
_ENDS = ("", "\0", "a", " ")
_COMMON = "a 0.'\n\\"
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_Part = tuple[Any, Any]


def slow_texts(pattern: re.Pattern[str], size: int) -> Iterator[str]:
    """Texts of about `size` characters."""
    parsed = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    letters = _letters(list(parsed))
    whole = _sample(list(parsed), letters)
    units = [(prefix, unit) for prefix, unit in _repeated(list(parsed), "", letters) if unit]
    seen: set[str] = set()
    shapes = [*(_shapes_of(units)), *((("", each, end)) for each in letters for end in ("", "\0"))]
    shapes += [
        ("", whole[:length], end) for length in {1, len(whole) // 2, len(whole) - 1, len(whole)} for end in ("", "\0")
    ]
    for before, unit, after in shapes:
        if unit:
            text = before + unit * max(1, size // len(unit)) + after
            if text not in seen:
                seen.add(text)
                yield text


def _shapes_of(units: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """What precedes, what is repeated, and what follows."""
    for prefix, unit in units:
        for end in _ENDS:
            yield prefix, unit, end
            yield "", prefix + unit, end
            yield "", unit, end
    for _, one in units[:6]:
        for _, other in units[:6]:  # such as an escaped quote beside a quote
            yield "", one + other, "\0"


def _repeated(parts: list[_Part], prefix: str, letters: str) -> Iterator[tuple[str, str]]:
    """Each part that is repeated without limit, with the text that has to precede it."""
    for at, (op, given) in enumerate(parts):
        before = prefix + _sample(parts[:at], letters)
        if op in (c.MAX_REPEAT, c.MIN_REPEAT, getattr(c, "POSSESSIVE_REPEAT", None)):
            _, most, inner = given
            if most > MANY:
                yield from ((before, each) for each in _alternatives(list(inner), letters))
            yield from _repeated(list(inner), before, letters)
        elif op == c.BRANCH:
            for branch in given[1]:
                yield from _repeated(list(branch), before, letters)
        elif op == c.SUBPATTERN:
            yield from _repeated(list(given[3]), before, letters)
        elif op in (c.ASSERT, c.ASSERT_NOT):
            yield from _repeated(list(given[1]), before, letters)


def _alternatives(parts: list[_Part], letters: str) -> list[str]:
    """Texts that the parts match: one for each letter of a class, or for each branch."""
    if len(parts) == 1:
        op, given = parts[0]
        if op == c.IN:
            return [each for each in letters if _is_in(given, each)][:4]
        if op == c.BRANCH:
            return [text for branch in given[1] for text in _alternatives(list(branch), letters)][:6]
        if op == c.SUBPATTERN:
            return _alternatives(list(given[3]), letters)
    return [_sample(parts, letters)]


def _sample(parts: list[_Part], letters: str) -> str:
    """A text that the parts match, as short as is simple."""
    return "".join(_sample_part(op, given, letters) for op, given in parts)


def _sample_part(op: Any, given: Any, letters: str) -> str:  # noqa: PLR0911 - one case a kind of part
    if op == c.LITERAL:
        return chr(given)
    if op == c.NOT_LITERAL:
        return next(each for each in letters if ord(each) != given)
    if op == c.IN:
        return next((each for each in letters if _is_in(given, each)), "")
    if op == c.ANY:
        return "a"
    if op == c.BRANCH:
        return _sample(list(given[1][0]), letters)
    if op == c.SUBPATTERN:
        return _sample(list(given[3]), letters)
    if op in (c.MAX_REPEAT, c.MIN_REPEAT):
        return _sample(list(given[2]), letters) * max(1, given[0])
    if op == c.ASSERT and given[0] < 0:
        return _sample(list(given[1]), letters)
    return ""


def _is_in(members: list[_Part], letter: str) -> bool:
    negated = bool(members) and members[0][0] == c.NEGATE
    return any(_is_member(op, given, letter) for op, given in members if op != c.NEGATE) != negated


def _is_member(op: Any, given: Any, letter: str) -> bool:
    if op == c.LITERAL:
        return ord(letter) == given
    if op == c.RANGE:
        return bool(given[0] <= ord(letter) <= given[1])
    return op == c.CATEGORY and re.match(_CATEGORIES[str(given)], letter) is not None


def _letters(parts: list[_Part]) -> str:
    """The letters that a pattern names, and some common ones."""
    return "".join(dict.fromkeys("".join(_named(parts)) + _COMMON))


def _named(parts: list[_Part]) -> Iterator[str]:
    for op, given in parts:
        if op in (c.LITERAL, c.NOT_LITERAL):
            yield chr(given)
        elif op == c.IN:
            yield from _named([each for each in given if each[0] == c.LITERAL])
            yield from (chr(each[1][0]) for each in given if each[0] == c.RANGE)
        elif op in (c.MAX_REPEAT, c.MIN_REPEAT):
            yield from _named(list(given[2]))
        elif op == c.BRANCH:
            for branch in given[1]:
                yield from _named(list(branch))
        elif op == c.SUBPATTERN:
            yield from _named(list(given[3]))
        elif op in (c.ASSERT, c.ASSERT_NOT):
            yield from _named(list(given[1]))
