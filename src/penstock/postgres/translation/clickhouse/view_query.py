"""The query of a materialized view, and the small changes of it that can be made without its author.

In: the SQL of the view. Out: how it uses a column, and the SQL with a column more, without one, or with another
expression for one. Invariant: the text is changed at the places of tokens and nowhere else; what is not one SELECT
from one table is not changed at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

_MATCHER = re.compile(r"(?i)\bCOLUMNS\s*\(")
"""Stands for columns whose names fit a pattern."""
Use = Literal["none", "plain", "computed", "unclear"]
"""Whether a column is not read, only passed on by itself, computed with, or whether that cannot be told."""


@dataclass(frozen=True, slots=True)
class _Item:
    """An expression of the select list, with its place in the text."""

    start: int
    end: int
    node: exp.Expression

    @property
    def plain(self) -> str | None:
        """The column that it passes on."""
        inner = self.node.unalias()
        return inner.name if isinstance(inner, exp.Column) else None

    @property
    def output(self) -> str:
        return self.node.alias_or_name


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """A query as text."""

    text: str

    def tables(self, database: str) -> tuple[str, ...]:
        """The tables that it reads in a database; the first one is the trigger."""
        tree = _parse(self.text)
        if tree is None:
            return ()
        named = [each for each in tree.find_all(exp.Table, bfs=False) if each.db in ("", database)]
        common = {each.alias_or_name for each in tree.find_all(exp.CTE)}
        return tuple(dict.fromkeys(each.name for each in named if each.db or each.name not in common))

    def use(self, column: str) -> Use:
        """How it uses a column of its table."""
        tree = _parse(self.text)
        if tree is None or _MATCHER.search(self.text):
            return "unclear"
        found = [each for each in tree.find_all(exp.Column) if each.name == column]
        if not found and not self.passes_all:
            return "none"
        if not _is_simple(tree) or _is_hidden(tree, column):
            return "unclear"
        plain = [item for item in self._items(tree) if item.plain == column]
        return "plain" if len(plain) == len(found) else "computed"

    @property
    def passes_all(self) -> bool:
        """Whether a `*` of its select list stands for all columns."""
        tree = _parse(self.text)
        return tree is not None and any(each.is_star for each in tree.expressions if not isinstance(each, exp.Func))

    def outputs(self, column: str) -> tuple[str, ...]:
        """Under which names it passes a column on."""
        tree = _parse(self.text)
        if tree is None or not _is_simple(tree):
            return ()
        found = tuple(item.output for item in self._items(tree) if item.plain == column)
        return (column, *found) if self.passes_all else found

    @property
    def passes_rows(self) -> bool:
        """Whether each row becomes a row of its own, so that a column more changes nothing else."""
        tree = _parse(self.text)
        if tree is None or not _is_simple(tree):
            return False
        grouped = any(tree.args.get(each) for each in ("group", "distinct", "having"))
        return not grouped and not any(tree.find_all(exp.AggFunc, exp.AnonymousAggFunc, exp.Window, exp.Star))

    def with_column(self, name: str) -> ViewQuery:
        """The query that passes one more column on."""
        tree = _parse(self.text)
        assert tree is not None, "the caller asked whether it passes rows"
        end = self._items(tree)[-1].end
        return ViewQuery(f"{self.text[:end]}, {_quoted(name)}{self.text[end:]}")

    def without_column(self, column: str) -> ViewQuery | None:
        """The query that does not pass a column on; None if it would pass on nothing."""
        tree = _parse(self.text)
        assert tree is not None, "the caller asked for its use"
        items = self._items(tree)
        kept = [self.text[item.start : item.end] for item in items if item.plain != column]
        if not kept:
            return None
        return ViewQuery(self.text[: items[0].start] + ", ".join(kept) + self.text[items[-1].end :])

    def with_expression(self, column: str, expression: str) -> ViewQuery:
        """The query with an expression for each use of a column; what it passes on keeps its names."""
        tree = _parse(self.text)
        assert tree is not None, "the caller asked for its use"
        bare = {id(item.node) for item in self._items(tree) if isinstance(item.node, exp.Column)}
        edits = []
        for node in tree.find_all(exp.Column):
            if node.name == column:
                as_named = f" AS {_quoted(column)}" if id(node) in bare else ""
                first, last = cast("exp.Identifier", node.parts[0]), cast("exp.Identifier", node.parts[-1])
                edits.append((first.meta["start"], last.meta["end"] + 1, expression + as_named))
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return ViewQuery(text)

    def with_table(self, table: str, to: str) -> ViewQuery:
        """The query that reads a table under another name."""
        tree = _parse(self.text)
        assert tree is not None, "it was found by the tables that it reads"
        places = [each.this.meta for each in tree.find_all(exp.Table) if each.name == table]
        text = self.text
        for place in sorted(places, key=lambda each: each["start"], reverse=True):
            text = text[: place["start"]] + _quoted(to) + text[place["end"] + 1 :]
        return ViewQuery(text)

    def with_database(self, database: str, to: str, tables: Collection[str]) -> ViewQuery:
        """The query that reads some tables of one database in another one; one that cannot be read stays as it is."""
        tree = _parse(self.text)
        if tree is None:
            return self
        edits: list[tuple[int, int, str]] = []
        for each in tree.find_all(exp.Table):
            if each.name not in tables or each.db not in ("", database):
                continue
            place, named = each.this.meta, each.args.get("db")
            start = named.meta["start"] if named is not None else place["start"]
            edits.append((start, place["end"] + 1, f"{_quoted(to)}.{_quoted(each.name)}"))
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return ViewQuery(text)

    def _items(self, tree: exp.Select) -> list[_Item]:
        """The select list, of which a simple query has one."""
        tokens = sqlglot.tokenize(self.text, read="clickhouse")
        start = next(at for at, each in enumerate(tokens) if each.token_type is TokenType.SELECT) + 1
        start += tokens[start].token_type is TokenType.DISTINCT
        spans = _item_spans(tokens[start:])
        assert len(spans) == len(tree.expressions), "the parser divides the list as the tokens do"
        return [_Item(*span, node) for span, node in zip(spans, tree.expressions, strict=True)]


def _parse(text: str) -> exp.Select | None:
    """The tree of one SELECT; None for what the parser does not read or what is no SELECT."""
    try:
        tree = sqlglot.parse_one(text, read="clickhouse")
    except (SqlglotError, RecursionError):
        return None
    return tree if isinstance(tree, exp.Select) else None


def _is_simple(tree: exp.Select) -> bool:
    """Whether it is one SELECT from one table."""
    if len([*tree.find_all(exp.Select)]) != 1 or len([*tree.find_all(exp.Table)]) != 1:
        return False
    return not any(tree.args.get(each) for each in ("with_", "with", "joins", "laterals", "windows"))


def _is_hidden(tree: exp.Select, column: str) -> bool:
    """Whether a name of the query's own, or of a lambda, may stand for the column."""
    computed = (each for each in tree.find_all(exp.Alias) if each.alias == column)
    own = any(not (isinstance(each.this, exp.Column) and each.this.name == column) for each in computed)
    return own or any(True for _ in tree.find_all(exp.Lambda))


def _item_spans(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Where the expressions of a select list begin and end."""
    spans: list[tuple[int, int]] = []
    depth, first = 0, tokens[0].start
    last = first
    for token in tokens:
        if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
            depth += 1
        elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
            depth -= 1
        elif depth == 0 and token.token_type in (TokenType.COMMA, TokenType.FROM):
            spans.append((first, last))
            if token.token_type is TokenType.FROM:
                break
            first = -1
        if first < 0 and token.token_type is not TokenType.COMMA:
            first = token.start
        last = token.end + 1
    return spans


def _quoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
