"""The SELECT that a DataFrame of a view stands for, and its text.

In: tables, joins and the values of columns. Out: lines of Spark SQL, each with the user's call that made it.
Invariants: a SELECT gives only the columns that something reads, so that a column which is added to a table and not
read changes no text; each relation of a text has an alias of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, Union

from penstock.api.dataframes.expressions import ColumnUse, SqlPiece, join, quote
from penstock.api.objects.declarations import CallLocation


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that the view reads."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """A SELECT that another one reads."""

    number: int
    query: SelectQuery


@dataclass(frozen=True, slots=True)
class SourceJoin:
    """Rows of one side with those of another."""

    left: Relation
    right: Union[SourceTable, SourceQuery]
    kind: str
    on: SqlPiece | None
    line: CallLocation


Relation: TypeAlias = Union[SourceTable, SourceQuery, SourceJoin]


@dataclass(frozen=True, slots=True)
class Item:
    """A column of a select list."""

    key: str
    sql: SqlPiece
    line: CallLocation
    makes_rows: bool = False
    """Whether it makes several rows of one, or none."""
    aggregates: bool = False
    """Whether an aggregate of the same SELECT is in it."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of WHERE."""

    sql: SqlPiece
    line: CallLocation


@dataclass(frozen=True, slots=True)
class SelectQuery:
    """A SELECT."""

    relation: Relation
    items: tuple[Item, ...]
    where: tuple[Condition, ...] = ()
    group: tuple[SqlPiece, ...] | None = None
    """What GROUP BY says; empty: all rows are one group."""
    distinct: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether each of its rows is made from one row of its relation, and makes one."""
        return self.group is None and not self.distinct and not any(each.makes_rows for each in self.items)

    def values(self, number: int) -> dict[ColumnUse, SqlPiece]:
        """The value of each of its columns, by the reference to it where this query is the relation `number`."""
        return {ColumnUse(number, each.key): each.sql for each in self.items}


def first_table(relation: Relation) -> SourceTable:
    """The left-most table, whose new rows run through the view."""
    while not isinstance(relation, SourceTable):
        relation = relation.left if isinstance(relation, SourceJoin) else relation.query.relation
    return relation


@dataclass(frozen=True, slots=True)
class Line:
    """A line of SQL and the call that made it."""

    text: str
    made_by: CallLocation


def query_lines(query: SelectQuery) -> list[Line]:
    """The text of a SELECT with all its columns."""
    return _Printer().query(query, frozenset(each.key for each in query.items))


@dataclass
class _Printer:
    _count: int = 0
    _indent: str = field(default="    ", init=False)

    def query(self, query: SelectQuery, keys: frozenset[str]) -> list[Line]:
        items = _needed_items(query, keys)
        relations = list(_relations(query.relation))
        aliases = {each.number: self._next_alias() for each in relations}
        first = items[0].line
        found = [Line("SELECT DISTINCT" if query.distinct else "SELECT", first)]
        for each in items:
            comma = "" if each is items[-1] else ","
            found.append(Line(f"{self._indent}{each.sql.text(aliases)} AS {quote(each.key)}{comma}", each.line))
        found += self._from(query, aliases, _read_keys(query, items), first)
        for at, condition in enumerate(query.where):
            found.append(Line(f"{'AND' if at else 'WHERE'} {condition.sql.text(aliases)}", condition.line))
        keyed = [each for each in query.group or () if each.refs]
        if keyed:
            found.append(Line(f"GROUP BY {join(', ', keyed).text(aliases)}", first))
        return found

    def _from(
        self, query: SelectQuery, aliases: Mapping[int, str], read: Mapping[int, frozenset[str]], line: CallLocation
    ) -> Iterator[Line]:
        joins: list[SourceJoin] = []
        relation = query.relation
        while isinstance(relation, SourceJoin):
            joins.insert(0, relation)
            relation = relation.left
        yield from self._relation("FROM", relation, (aliases, read), line)
        for each in joins:
            *inner, last = self._relation(f"{each.kind} JOIN", each.right, (aliases, read), each.line)
            condition = f" ON {each.on.text(aliases)}" if each.on is not None else ""
            yield from inner
            yield replace(last, text=f"{last.text}{condition}")

    def _relation(
        self,
        word: str,
        relation: Union[SourceTable, SourceQuery],
        scope: tuple[Mapping[int, str], Mapping[int, frozenset[str]]],
        line: CallLocation,
    ) -> Iterator[Line]:
        aliases, read = scope
        alias = quote(aliases[relation.number])
        if isinstance(relation, SourceTable):
            yield Line(f"{word} {quote(relation.name)} AS {alias}", line)
            return
        yield Line(f"{word} (", line)
        for each in self.query(relation.query, read.get(relation.number, frozenset())):
            yield replace(each, text=f"{self._indent}{each.text}")
        yield Line(f") AS {alias}", line)

    def _next_alias(self) -> str:
        self._count += 1
        return f"t{self._count}"


def _needed_items(query: SelectQuery, keys: frozenset[str]) -> tuple[Item, ...]:
    """The columns that are read, and those on which it depends which rows there are; at least one."""
    if query.distinct:
        return query.items
    found = tuple(each for each in query.items if each.key in keys or each.makes_rows)
    if query.group == () and not any(each.aggregates for each in found):
        # Without an aggregate, the SELECT would have a row for each row that it reads.
        found += tuple(each for each in query.items if each.aggregates)[:1]
    return found or query.items[:1]


def _relations(relation: Relation) -> Iterator[Union[SourceTable, SourceQuery]]:
    if isinstance(relation, SourceJoin):
        yield from _relations(relation.left)
        yield relation.right
    else:
        yield relation


def _read_keys(query: SelectQuery, items: Iterable[Item]) -> dict[int, frozenset[str]]:
    """The columns that are read of each relation."""
    read: dict[int, set[str]] = {}
    pieces = [each.sql for each in items] + [each.sql for each in query.where] + list(query.group or ())
    relation = query.relation
    while isinstance(relation, SourceJoin):
        pieces += [relation.on] if relation.on is not None else []
        relation = relation.left
    for piece in pieces:
        for ref in piece.refs:
            read.setdefault(ref.relation, set()).add(ref.key)
    return {number: frozenset(keys) for number, keys in read.items()}
