"""Regular expressions that Java reads, and matches without a call for each character of the text.

In: the text of a pattern. Out: the number of its groups, or None. Of a flat pattern only single characters are
repeated; a group is there once or not at all. A repeated group may take all of the stack. Invariant: what is not known
to be such a pattern is none.
"""

from __future__ import annotations

import re

_CHARACTER = r"(?:[^\\\[\](){}*+?|^$.&-]|\\[\\\[\](){}*+?|^$./ :;=~<>%&#@,\"'-]|\\x[0-9A-Fa-f]{2}|\\[tnrdwsDWS])"
_RANGE = r"[A-Za-z0-9]-[A-Za-z0-9]|\\x[0-9A-F]{2}-\\x[0-9A-F]{2}"
_CLASS = rf"\[\^?(?:{_RANGE}|{_CHARACTER}|[.*+?(){{}}|$^](?!-[^\]])|&(?![&-])|-(?=\]))+\]"
_QUOTED = r"\\Q(?:(?!\\E)[\s\S])*\\E"
_TIMES = r"(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})[+?]?"
_TOKEN = re.compile(
    r"(?P<flags>^\(\?[si]{1,2}\))"
    r"|(?P<opened>\((?:\?:|\?=|\?!)?)(?![?])"
    rf"|(?P<behind>\(\?<[=!](?:{_CLASS}|{_CHARACTER}|\.)\))"
    r"|(?P<closed>\))(?:\?[+?]?)?(?![*+{?])"
    rf"|(?P<quoted>{_QUOTED})(?![*+?{{])"
    rf"|(?P<atom>(?:{_CLASS}|{_CHARACTER}|\.)(?:{_TIMES})?)"
    r"|(?P<other>[\^$|]|\\[AzZb]|[&-])"
)


def count_groups(pattern: str) -> int | None:
    """How many groups a flat pattern has that can be asked for; None of another pattern."""
    at, opened, groups = 0, 0, 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None:
            return None
        opened += (found["opened"] is not None) - (found["closed"] is not None)
        groups += found["opened"] == "("
        if opened < 0:
            return None
        at = found.end()
    return groups if opened == 0 and _has_ordered_ranges(pattern) else None


def _has_ordered_ranges(pattern: str) -> bool:
    """Whether no range of characters ends before it begins."""
    ranges = re.findall(r"([A-Za-z0-9]|\\x[0-9A-F]{2})-([A-Za-z0-9]|\\x[0-9A-F]{2})", pattern)
    counts = re.findall(r"\{(\d+),(\d+)\}", pattern)
    are_counted = all(int(least) <= int(most) for least, most in counts)
    return are_counted and all(first <= last for first, last in ranges)
