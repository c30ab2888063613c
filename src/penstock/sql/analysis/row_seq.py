"""A view's SQL that gives the `_seq` of the row which each of its rows was made from.

In: the compiled SQL of a materialized node and its trigger's placeholder. Out: the SQL with one more
column, or None where a row has no row of its own: rows are grouped, made distinct or united. Called by
flow.view. Invariant: the text is only added to; where its shape is not known for certain there is none.
Rows of one step keep the order of insertion by it, which decides what ReplacingMergeTree and
CollapsingMergeTree show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

SEQ = "_seq"
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`]|``)*`|\w+|[^\w\s]", re.DOTALL)
_MANY_TO_ONE = frozenset(("GROUP", "HAVING", "UNION", "INTERSECT", "EXCEPT", "MINUS", "DISTINCT", "WITH", "PIVOT"))


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int

    @property
    def word(self) -> str:
        return self.text.upper()


@lru_cache(maxsize=1024)
def with_own_seq(sql: str, trigger: str) -> str | None:
    """`sql` with `_seq` as its last column, for a trigger whose relation has `_seq`."""
    tokens = tuple(_Token(found.group(), found.start()) for found in _TOKEN.finditer(sql))
    added = _added(tokens, trigger)
    if added is None:
        return None
    parts, end = [], 0
    for at, owner in sorted(added):
        parts += [sql[end:at].rstrip(), f", {owner}.{SEQ} "]
        end = at
    return "".join(parts) + sql[end:]


def _added(tokens: Sequence[_Token], trigger: str) -> list[tuple[int, str]] | None:
    """Where the column is to stand in each SELECT down to the trigger, and whose it is."""
    at = _from(tokens)
    if at is None or at + 1 >= len(tokens):
        return None
    source = tokens[at + 1]
    if source.text == trigger:
        alias = _alias(tokens, at + 2)
        return [(tokens[at].start, alias)] if alias is not None else None
    if source.text != "(":
        return None
    end = _closing(tokens, at + 1)
    inner = _added(tokens[at + 2 : end], trigger)
    alias = _alias(tokens, end + 1)
    return [(tokens[at].start, alias), *inner] if inner is not None and alias is not None else None


def _from(tokens: Sequence[_Token]) -> int | None:
    """The FROM of a SELECT that gives its rows one by one."""
    if not tokens or tokens[0].word != "SELECT":
        return None
    depth, found = 0, None
    for at, token in enumerate(tokens):
        depth += (token.text in "([") - (token.text in ")]")
        if depth == 0 and token.word in _MANY_TO_ONE:
            return None
        if depth == 0 and token.word == "FROM" and found is None:
            found = at
    return found


def _alias(tokens: Sequence[_Token], at: int) -> str | None:
    """The alias that is given at a place: ``AS `x` `` or ``AS x``."""
    if at + 1 >= len(tokens) or tokens[at].word != "AS":
        return None
    return tokens[at + 1].text


def _closing(tokens: Sequence[_Token], opened: int) -> int:
    depth = 0
    for at in range(opened, len(tokens)):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if depth == 0:
            return at
    return len(tokens)
