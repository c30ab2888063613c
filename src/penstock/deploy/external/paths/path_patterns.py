"""Patterns in the paths of files, as ClickHouse's table functions read them.

In: a path with `*` (anything but a slash), `**` (anything), `?` (one character but a slash), `{a,b}` (one of these) or
`{01..12}` (one of these numbers, with as many digits as are written). Out: the paths, or a test of paths. Source:
ClickHouse's documentation of the table functions `s3`, `url` and `file`, which differ in what `**/` is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import re2

_CHOICE = re.compile(r"\{([^{}]+)\}")
_WILD = re.compile(r"\*\*|\*|\?|\{[^{}]+\}")
_WILD_OR_FOLDERS = re.compile(r"(?<![^/])\*\*/|\*\*|\*|\?|\{[^{}]+\}")
_WILD_MEANS = {"**/": r"(?:(?s:.)*/)?", "**": r"(?s:.)*", "*": "[^/]*", "?": "[^/]"}
MOST_CHOICES = 10_000
"""The most texts that one pattern may stand for by its braces."""


class TooManyPaths(ValueError):
    """A pattern that stands for too many paths."""


def expand_choices(text: str) -> list[str]:
    """The texts that the braces of a text stand for. Raises TooManyPaths."""
    parts = _CHOICE.split(text)  # text, choices, text …
    count, choices = 1, [_choices(each) if at % 2 else [each] for at, each in enumerate(parts)]
    for each in choices:
        count *= len(each)
        if count > MOST_CHOICES:
            raise TooManyPaths(f"the braces stand for more than {MOST_CHOICES} files")
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def fixed_beginning(pattern: str) -> str:
    """The text before the first part of a pattern that stands for others; the whole text if there is none."""
    found = _WILD.search(pattern)
    return pattern[: found.start()] if found is not None else pattern


def path_test(pattern: str) -> Callable[[str], bool]:
    """Whether a path is one of those that a pattern stands for in `s3`. Raises TooManyPaths."""
    return _test_of(pattern, _WILD)


def import_test(pattern: str) -> Callable[[str], bool]:
    """Whether a path is one of those that the pattern of an import stands for: `a/**/b` is `a/b`, too, as in `file`.
    Raises TooManyPaths."""
    return _test_of(pattern, _WILD_OR_FOLDERS)


def _test_of(pattern: str, wild: re.Pattern[str]) -> Callable[[str], bool]:
    written, at = "", 0
    for found in wild.finditer(pattern):
        means = _WILD_MEANS.get(found[0]) or f"(?:{'|'.join(map(re2.escape, _choices(found[0][1:-1])))})"
        written += re2.escape(pattern[at : found.start()]) + means
        at = found.end()
    matches = re2.compile(written + re2.escape(pattern[at:])).fullmatch
    return lambda path: matches(path) is not None


def folder_test(pattern: str) -> Callable[[str], bool]:
    """Whether paths that a pattern stands for may be below a folder whose parent was one that they may be below. Raises
    TooManyPaths."""
    tests: list[Callable[[str], bool]] = []
    beginning, is_open = "", False
    for step in pattern.split("/"):
        beginning = f"{beginning}/{step}" if tests else step
        if "**" in step or beginning.count("{") != beginning.count("}"):
            is_open = True  # from here on a step of a path is none of the pattern
            break
        tests.append(path_test(beginning))
    else:
        tests.pop()  # that of the files themselves

    def may_hold(folder: str) -> bool:
        at = folder.count("/")
        return tests[at](folder) if at < len(tests) else is_open

    return may_hold


def _choices(text: str) -> list[str]:
    first, dots, last = text.partition("..")
    if not dots or not (_is_number(first) and _is_number(last)):
        return text.split(",")
    low, high = int(first), int(last)
    if abs(high - low) >= MOST_CHOICES:
        raise TooManyPaths(f"the braces stand for more than {MOST_CHOICES} files")
    width = max(len(first), len(last)) if first.startswith("0") or last.startswith("0") else 0
    numbers = range(low, high + 1) if low <= high else range(low, high - 1, -1)
    return [str(each).zfill(width) for each in numbers]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
