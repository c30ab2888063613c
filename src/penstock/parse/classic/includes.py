"""Puts the text of `.incl` files in the place of the INCLUDE lines that name them.

In: the text of a datafile, and the texts of all files by path. Out: the text without INCLUDE, and a problem for each
line whose file is not found; such a line stays. Invariant: a file that includes itself is a problem, not a loop.
Source: the classic format's documentation of include files, and its parser: `$name` and `${name}` in the name of the
file are variables of the environment; in its text they are the values that the line gives, and other `$` stay.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from posixpath import basename, dirname, join, normpath
from string import Template

from penstock.errors import Problem, did_you_mean
from penstock.model.quick_dataclass import dataclass
from penstock.parse.classic.directives import INCLUDE
from penstock.parse.datafile import Entry, parse_datafile, split_lines

INCLUDE_SUFFIX = ".incl"


@dataclass(frozen=True, slots=True)
class IncludeFiles:
    """What INCLUDE lines may name."""

    texts: Mapping[str, str]
    """All files by path."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment."""


def expand_includes(path: str, files: IncludeFiles, keywords: Collection[str], problems: list[Problem]) -> str:
    """The text of a file with the texts of its includes, and of theirs. `keywords` are those of its kind of file."""
    return _Expansion(files, keywords, problems).expand(path, files.texts[path], (path,))


class _Expansion:
    """Expands the includes of one file."""

    def __init__(self, files: IncludeFiles, keywords: Collection[str], problems: list[Problem]):
        self._texts = files.texts
        self._variables = files.variables
        self._keywords = keywords
        self._problems = problems

    def expand(self, path: str, text: str, within: Sequence[str]) -> str:
        entries = [each for each in parse_datafile(text, path, self._keywords, []).entries if each.keyword == INCLUDE]
        if not entries:
            return text
        lines = split_lines(text)
        for entry in reversed(entries):
            found = self._included(entry, path, within)
            if found is not None:
                lines[entry.location.line - 1 : entry.location.line] = found
        return "\n".join(lines)

    def _included(self, entry: Entry, path: str, within: Sequence[str]) -> list[str] | None:
        try:
            name, *values = shlex.split(entry.value.text)
        except ValueError:
            name, values = "", []
        name = Template(name).safe_substitute(self._variables)
        found = find_include(name, path, self._texts)
        if not name or found is None or found in within:
            self._problems.append(self._refusal(entry, name, found))
            return None
        given = dict(value.split("=", 1) for value in values if "=" in value)
        text = Template(self._texts[found].removeprefix("\ufeff")).safe_substitute(given)
        return split_lines(self.expand(found, text, (*within, found)).rstrip("\n"))

    def _refusal(self, entry: Entry, name: str, found: str | None) -> Problem:
        place = entry.value.location
        if found is not None:
            return Problem("classic-format", f"`{found}` includes itself", place, "remove the INCLUDE")
        if "$" in name:
            message = f"which file `{name[:60]}` is depends on the environment"
            hint = f"run `{_unset_variables(name)} penstock migrate`, or write the name of the file"
            return Problem("classic-format", message, place, hint)
        known = sorted(each for each in self._texts if each.endswith(INCLUDE_SUFFIX))
        return Problem("classic-format", f"there is no file `{name[:60]}` to include", place, did_you_mean(name, known))


def _unset_variables(name: str) -> str:
    """`env=…` for `${env}/x.incl`."""
    found = (each["named"] or each["braced"] for each in Template.pattern.finditer(name[:60]))
    return " ".join(f"{each}=…" for each in dict.fromkeys(found) if each) or "variable=…"


def find_include(name: str, path: str, texts: Mapping[str, str]) -> str | None:
    """The path of the file that an INCLUDE in `path` means: beside it, in the project's folder, or the only file of
    that name."""
    candidates = (normpath(join(dirname(path), name)), normpath(name))
    found = next((each for each in candidates if each in texts), None)
    if found is not None or not name:
        return found
    same = [each for each in texts if basename(each) == basename(name)]
    return same[0] if len(same) == 1 else None
