"""What `JSON(a.b UInt32, SKIP c, SKIP REGEXP 'd')` says about the paths of its documents.

In: the types of paths by their names, the paths and patterns that are left out. Out: `PathRules`, and the text in which
compiled SQL hands them to Spark's Python workers. Invariants: `rules_of(rules.text) == rules`; a pattern means the same
to Python as to ClickHouse's RE2, and no group of it is repeated, so that it is matched fast.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache

from penstock.model.quick_dataclass import dataclass

_SAFE_PATTERN = re.compile(
    r"(?:(?:\\[.^$|()\[\]{}*+?/-]|\[\^?[A-Za-z0-9_.]+(?:-[A-Za-z0-9])?\]|[^\\\[\](){}*+?|])[*+?]?|[|()](?![*+?]))*"
)
_END = re.compile(r"\\.|\[[^\]]*\]?|\$")


class InvalidPattern(ValueError):
    """A pattern of `SKIP REGEXP` that is not supported."""


@dataclass(frozen=True)
class PathRules:
    """The name of the type of each typed path, and what is not kept."""

    types: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    """Paths that are left out, with all below them."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """A path in which one of them is found is left out."""

    def skips(self, path: str) -> bool:
        """Whether a path without a type is left out."""
        below = any(path == each or path.startswith(each + ".") for each in self.skipped)
        return below or any(each.search(path) for each in self.patterns)


NO_RULES = PathRules()


def skip_pattern(written: str) -> re.Pattern[str]:
    """The pattern of `SKIP REGEXP`. Raises InvalidPattern for one that Python could read otherwise or match slowly."""
    if _SAFE_PATTERN.fullmatch(written) is None:
        raise InvalidPattern("a pattern here has letters, `.`, `[…]`, `*`, `+`, `?`, `|`, `^`, `$` and plain groups")
    try:
        return re.compile(_END.sub(lambda found: r"\Z" if found[0] == "$" else found[0], written))
    except re.error as error:
        raise InvalidPattern(str(error)) from None


def write_rules(types: Iterable[tuple[str, str]], skipped: Iterable[str], patterns: Iterable[str]) -> str:
    """Rules as a text: paths with the names of their types, paths and patterns that are left out."""
    return json.dumps([dict(types), list(skipped), list(patterns)], ensure_ascii=False, sort_keys=True)


@lru_cache(maxsize=256)
def rules_of(text: str) -> PathRules:
    """The rules of a text that `write_rules` made; none for an empty one."""
    if not text:
        return NO_RULES
    types, skipped, patterns = json.loads(text)
    return PathRules(types, tuple(skipped), tuple(map(skip_pattern, patterns)))
