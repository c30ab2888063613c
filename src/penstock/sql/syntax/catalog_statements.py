"""Statements about the catalog: SHOW TABLES, DESCRIBE and EXPLAIN, as ClickHouse writes them.

In: the text of a call. Out: a `CatalogStatement`, or None for anything else. Invariant: a query inside a statement
keeps its place in the text, so that its problems are shown there. The time is linear in the text.
"""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Iterator
from typing import TypeAlias

from penstock.model.datasource import Text
from penstock.model.quick_dataclass import dataclass
from penstock.sql.syntax.problems import place_of

_SHOW = re.compile(
    r"SHOW\s+(?:FULL\s+)?TABLES(?:\s+(?:FROM|IN)\s+(?P<database>\w+))?"
    r"(?:\s+(?P<negated>NOT\s+)?(?P<like>I?LIKE)\s+'(?P<pattern>[^']*)')?\s*",
    re.IGNORECASE | re.DOTALL,
)
_DESCRIBE = re.compile(r"(?:DESCRIBE|DESC)\s+(?:TABLE\s+)?(?=\S)", re.IGNORECASE | re.DOTALL)
_EXPLAIN = re.compile(r"EXPLAIN\s+(?=SELECT\b|WITH\b|\()", re.IGNORECASE | re.DOTALL)
_QUERY = re.compile(r"(?:SELECT|WITH)\b", re.IGNORECASE)
_WORD = re.compile(r"\S")
_NAME = re.compile(r"`?(\w+)`?(?:\s*\.\s*`?(\w+)`?)?\Z")
SERVICE_DATABASES = ("penstock", "tinybird")
ALL_ROWS = "SELECT * FROM "


@dataclass(frozen=True, slots=True)
class ShowTables:
    """SHOW TABLES."""

    is_service: bool = False
    """Whether the server's own records are asked for: FROM penstock."""
    pattern: re.Pattern[str] | None = None
    is_negated: bool = False

    def matches(self, name: str) -> bool:
        return self.pattern is None or bool(self.pattern.fullmatch(name)) != self.is_negated


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """DESCRIBE of a name or of a query."""

    query: Text
    """A query with the columns to describe."""
    name: str | None
    """The name that is described."""


@dataclass(frozen=True, slots=True)
class ExplainQuery:
    """EXPLAIN SELECT …"""

    query: Text


CatalogStatement: TypeAlias = "ShowTables | DescribeTable | ExplainQuery"


def parse_catalog_statement(text: Text) -> CatalogStatement | None:
    """The statement that a text is; None if it is none of these."""
    start, end = _first_word(text.text), len(text.text.rstrip().removesuffix(";"))
    if (found := _SHOW.fullmatch(text.text, start, end)) is not None:
        return _show_tables(found)
    if (found := _EXPLAIN.match(text.text, start)) is not None:
        return ExplainQuery(_rest_of(text, found.end()))
    if (found := _DESCRIBE.match(text.text, start)) is not None:
        return _describe(_rest_of(text, found.end()))
    return None


def _first_word(text: str) -> int:
    """The place after white space and comments."""
    place = 0
    while (word := _WORD.search(text, place)) is not None:
        place = word.start()
        closing = "\n" if text.startswith("--", place) else "*/" if text.startswith("/*", place) else None
        end = text.find(closing, place + 2) if closing is not None else -1
        if closing is None or end < 0:
            break
        place = end + len(closing)
    return place


def _show_tables(found: re.Match[str]) -> ShowTables:
    database = (found["database"] or "").lower()
    pattern = None
    if found["like"]:
        ignored = re.IGNORECASE if found["like"].upper() == "ILIKE" else re.RegexFlag(0)
        pattern = re.compile(fnmatch.translate("".join(_glob_of_like(found["pattern"]))), ignored)
    return ShowTables(database in SERVICE_DATABASES, pattern, bool(found["negated"]))


def _glob_of_like(pattern: str) -> Iterator[str]:
    """The pattern of LIKE as one of file names, which Python turns into a regular expression that does not go back."""
    characters = iter(pattern)
    for each in characters:
        wildcard = {"%": "*", "_": "?"}.get(each)
        yield wildcard or glob.escape(next(characters, each) if each == "\\" else each)


def _describe(what: Text) -> DescribeTable:
    if _QUERY.match(what.text):
        return DescribeTable(what, None)
    place = what.location
    # The name stands where it did: the words before it count as if they stood to the left of it.
    shifted = Text(ALL_ROWS + what.text, type(place)(place.file, place.line, place.column - len(ALL_ROWS)))
    named = _NAME.match(what.text.strip())
    return DescribeTable(shifted, "__".join(filter(None, named.groups())) if named else None)


def _rest_of(text: Text, offset: int) -> Text:
    return Text(text.text[offset:], place_of(text, offset), text.indent)
