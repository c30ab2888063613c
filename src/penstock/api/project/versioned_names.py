"""The names of versioned tables in SQL: `FROM events` where the table that is meant is `events_0_0`.

In: SQL, and the tables that an object says it reads. Out: SQL with the names under which these are stored. Invariant: a
name stands for the one table of that name which the object names, or it is a fault; quoted texts and comments stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from penstock.api.objects.declarations import Declared
from penstock.model.quick_dataclass import dataclass
from penstock.parse.sql_syntax.source_text import COMMENT, QUOTED

_PARTS = re.compile(
    rf"(?P<before>\b(?:FROM|JOIN)\s+)(?P<quote>[`\"]?)(?P<table>[A-Za-z_]\w*)(?P=quote)(?![\w.(])"
    rf"|(?P<other>{COMMENT}|{QUOTED})"
    r"|(?<![\w.])(?P<owner>[A-Za-z_]\w*)(?=\.)",
    re.DOTALL | re.IGNORECASE,
)


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
    named = {found["table"] for found in _PARTS.finditer(text) if found["table"]}
    meant: dict[str, str] = {}
    for name in sorted(named & versions.keys() - own):
        first, *more = sorted(versions[name])
        if more or name in others:
            shown = ", ".join(sorted({first, *more, *({name} & set(others))}))
            return NamedSql(text, f"`{name}` may be any of {shown}")
        meant[name] = first

    def written(found: re.Match[str]) -> str:
        if found["table"] in meant:
            return f"{found['before']}{meant[found['table']]}"
        return meant.get(found["owner"] or "", found[0])

    return NamedSql(_PARTS.sub(written, text) if meant else text)
