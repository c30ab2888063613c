"""Statements about the catalog: SHOW TABLES, DESCRIBE and EXPLAIN, as ClickHouse writes them.

In: the text of a call. Out: a `CatalogStatement`, or None for anything else. Invariant: a query inside a statement
keeps its place in the text, so that its problems are shown there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from penstock.model.datasource import Text
from penstock.sql.syntax.problems import place_of

_START = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_SHOW = re.compile(
    _START + r"SHOW\s+(?:FULL\s+)?TABLES(?:\s+(?:FROM|IN)\s+(?P<database>\w+))?"
    r"(?:\s+(?P<negated>NOT\s+)?(?P<like>I?LIKE)\s+'(?P<pattern>[^']*)')?\s*",
    re.IGNORECASE | re.DOTALL,
)
_DESCRIBE = re.compile(_START + r"(?:DESCRIBE|DESC)\s+(?:TABLE\s+)?(?=\S)", re.IGNORECASE | re.DOTALL)
_EXPLAIN = re.compile(_START + r"EXPLAIN\s+(?=SELECT\b|WITH\b|\()", re.IGNORECASE | re.DOTALL)
_QUERY = re.compile(r"(?:SELECT|WITH)\b", re.IGNORECASE)
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
    if (found := _SHOW.fullmatch(text.text)) is not None:
        return _show_tables(found)
    if (found := _EXPLAIN.match(text.text)) is not None:
        return ExplainQuery(_rest_of(text, found.end()))
    if (found := _DESCRIBE.match(text.text)) is not None:
        return _describe(_rest_of(text, found.end()))
    return None


def _show_tables(found: re.Match[str]) -> ShowTables:
    database = (found["database"] or "").lower()
    pattern = None
    if found["like"]:
        parts = (".*" if each == "%" else "." if each == "_" else re.escape(each) for each in found["pattern"])
        ignored = re.IGNORECASE if found["like"].upper() == "ILIKE" else re.RegexFlag(0)
        pattern = re.compile("".join(parts), ignored | re.DOTALL)
    return ShowTables(database in SERVICE_DATABASES, pattern, bool(found["negated"]))


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
