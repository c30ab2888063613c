"""Which filters commute with an ANY INNER JOIN, which keeps one row for each key.

In: the keys of the join; expressions in the same SELECT and in SELECTs around it. Out: `AnyJoinRows`. ClickHouse may
move a filter below the join, where it changes which row is kept. Invariant: a filter that is allowed passes all rows
of a key or none, so it gives the same rows on either side of the join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.scope import SelectScope
from penstock.sql.syntax.tree import is_aggregate

ColumnName = tuple[str, str]
"""A column as written: the name of its table (or empty) and its own name."""


@dataclass(frozen=True, slots=True)
class AnyJoinRows:
    """The rows after an ANY INNER JOIN, which has kept one row for each key."""

    words: str
    """The join as written, for messages."""
    keys: frozenset[ColumnName]
    """The columns that are equal in all rows of a key."""
    tables: frozenset[str]
    """The joined tables."""

    def allows(self, node: exp.Expr, scope: SelectScope) -> bool:
        """Whether an expression reads only keys and columns of other tables. Arguments of aggregates and windows do
        not count: a filter on those is never moved."""
        return node.find(exp.Query) is None and all(self._is_key(each, scope, ()) for each in _row_columns(node))

    def _is_key(self, node: exp.Column, scope: SelectScope, inside: tuple[str, ...]) -> bool:
        table, name = node.text("table"), node.name
        meant = scope.aliases.get(name) if not table and name not in inside else None
        if meant is not None:
            return all(self._is_key(each, scope, (*inside, name)) for each in _row_columns(meant))
        others = {each.name for each in scope.relations} - self.tables
        return table in others or (table, name) in self.keys

    def for_outer_select(self, columns: Iterable[tuple[str, exp.Expr]], scope: SelectScope) -> AnyJoinRows:
        """The same for readers of the SELECT: the keys are those of its columns that are made of keys alone."""
        kept = frozenset(("", name) for name, node in columns if self.allows(node, scope))
        return replace(self, keys=kept, tables=frozenset())

    def as_table(self, alias: str) -> AnyJoinRows:
        """The same for a subquery or table with this alias."""
        return replace(self, keys=self.keys | {(alias, name) for _, name in self.keys}, tables=frozenset({alias}))


def combine_any_joins(first: AnyJoinRows | None, second: AnyJoinRows | None) -> AnyJoinRows | None:
    """Both joins together: an expression is allowed if it reads keys of both. Either may be None."""
    if first is None or second is None:
        return first or second
    return replace(first, keys=first.keys & second.keys, tables=first.tables | second.tables)


def _row_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """Columns that are read row by row, outside of aggregates and windows."""
    for each in node.walk(prune=lambda inner: isinstance(inner, exp.Window) or is_aggregate(inner)):
        if isinstance(each, exp.Column):
            yield each
