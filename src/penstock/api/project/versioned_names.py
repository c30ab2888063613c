"""The names of versioned tables in SQL: `FROM events` where the table that is meant is `events_0_0`.

In: SQL, and the tables that an object says it reads. Out: SQL with the names under which these are stored. Invariant: a
name stands for the one table of that name which the object names, or it is a fault; quoted texts and comments stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from penstock.api.objects.declarations import Declared
from penstock.model.quick_dataclass import dataclass
from penstock.parse.sql_syntax.source_text import COMMENT, QUOTED

_TOKEN = re.compile(
    rf"(?P<comment>{COMMENT})|(?P<quoted>{QUOTED})|(?P<word>[A-Za-z_]\w*)|(?P<symbol>[^\s\w])|(?P<number>\d\w*)",
    re.DOTALL,
)
_ENDS_FROM = frozenset(
    (
        *("EXCEPT", "GROUP", "HAVING", "INTERSECT", "LIMIT", "OFFSET", "ORDER"),
        *("PREWHERE", "QUALIFY", "SELECT", "SETTINGS", "UNION", "USING", "WHERE", "WINDOW"),
    )
)
"""The words behind which a comma is between no tables."""
_IN_BRACKETS = frozenset("([")


@dataclass(frozen=True, slots=True)
class NamePlace:
    """A name in SQL, with what it is: a table that is read, or the owner of a column."""

    name: str
    start: int
    end: int
    is_table: bool


@dataclass(frozen=True, slots=True)
class NamedSql:
    """SQL that reads versioned tables under their own names, and what is wrong with a name; "" if nothing is."""

    text: str
    fault: str = ""


def name_versions(text: str, read: Sequence[Declared], others: Collection[str]) -> NamedSql:
    """The SQL with the stored names of versioned tables; `others` are the names of all objects of the project."""
    versions: dict[str, set[str]] = defaultdict(set)
    for each in read:
        if each.ref != each.name:
            versions[each.name].add(each.ref)
    own = {each.ref for each in read}
    places = tuple(_name_places(text))
    named = {each.name for each in places if each.is_table}
    meant: dict[str, str] = {}
    for name in sorted(named & versions.keys() - own):
        first, *more = sorted(versions[name])
        if more or name in others:
            shown = ", ".join(sorted({first, *more, *({name} & set(others))}))
            return NamedSql(text, f"`{name}` may be any of {shown}")
        meant[name] = first
    parts, last = [], 0
    for place in places:
        if place.name in meant:
            parts += [text[last : place.start], meant[place.name]]
            last = place.end
    return NamedSql("".join([*parts, text[last:]]))


def _name_places(text: str) -> Iterator[NamePlace]:
    """The names of tables: behind FROM, JOIN and IN, and behind a comma of a FROM; and names before a point."""
    tokens = [each for each in _TOKEN.finditer(text) if not each["comment"]]
    lists: list[bool] = [False]
    """For each bracket that is open, whether a comma in it is between tables."""
    before = ""
    for at, token in enumerate(tokens):
        shown = token[0]
        following = tokens[at + 1][0] if at + 1 < len(tokens) else ""
        name = shown.strip('`"') if token["word"] or shown[0] in '`"' else ""
        expects = before in ("FROM", "JOIN", "IN") or (before == "," and lists[-1])
        if expects and name and following not in (".", "("):
            yield NamePlace(name, token.start(), token.end(), is_table=True)
        elif name and following == "." and before != ".":
            yield NamePlace(name, token.start(), token.end(), is_table=False)
        before = _word_before(shown, before) if token["word"] else shown
        if shown in _IN_BRACKETS:
            lists.append(False)
        elif shown in (")", "]") and len(lists) > 1:
            lists.pop()
        elif before == "FROM":
            lists[-1] = True
        elif before in _ENDS_FROM or before == "ARRAY JOIN":
            lists[-1] = False


def _word_before(word: str, before: str) -> str:
    """The word, with those that belong to it: behind ARRAY JOIN are columns."""
    upper = word.upper()
    return "ARRAY JOIN" if upper == "JOIN" and before == "ARRAY" else upper
