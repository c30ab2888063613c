"""Rows of which an ANY INNER JOIN has taken one for each key, and what may still be done to them.

In: the join's keys; expressions beside the join and in SELECTs around it. Out: `Taken`. Called by join_any, block,
tables, unions and passes.sources. Invariant: what `keeps` lets through passes all rows of a key or none, so it does
not matter that ClickHouse moves it below the join, where it would change which row is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.sql.compiler.scope import SelectScope
from penstock.sql.syntax.tree import is_aggregate

ColumnName = tuple[str, str]
"""A column as it is written: its table, or nothing, and its name."""


@dataclass(frozen=True, slots=True)
class AnyJoinRows:
    """`words` are those of the join, `keys` the columns that are equal in all rows it chose from, `tables` those
    whose rows they were."""

    words: str
    keys: frozenset[ColumnName]
    tables: frozenset[str]

    def keeps(self, node: exp.Expr, scope: SelectScope) -> bool:
        """Whether an expression reads keys and other tables only. What it aggregates is no matter: a filter on
        that stays where it is."""
        return node.find(exp.Query) is None and all(self._is_kept(each, scope, ()) for each in _row_columns(node))

    def _is_kept(self, node: exp.Column, scope: SelectScope, inside: tuple[str, ...]) -> bool:
        table, name = node.text("table"), node.name
        meant = scope.aliases.get(name) if not table and name not in inside else None
        if meant is not None:
            return all(self._is_kept(each, scope, (*inside, name)) for each in _row_columns(meant))
        others = {each.name for each in scope.relations} - self.tables
        return table in others or (table, name) in self.keys

    def shown(self, columns: Iterable[tuple[str, exp.Expr]], scope: SelectScope) -> AnyJoinRows:
        """For who reads the SELECT: the names of its columns that are made of keys."""
        kept = frozenset(("", name) for name, node in columns if self.keeps(node, scope))
        return replace(self, keys=kept, tables=frozenset())

    def as_table(self, alias: str) -> AnyJoinRows:
        """As a table of this name."""
        return replace(self, keys=self.keys | {(alias, name) for _, name in self.keys}, tables=frozenset({alias}))


def combine_any_joins(first: AnyJoinRows | None, second: AnyJoinRows | None) -> AnyJoinRows | None:
    """Of two joins, or of one that there is: what reads keys of both."""
    if first is None or second is None:
        return first or second
    return replace(first, keys=first.keys & second.keys, tables=first.tables | second.tables)


def _row_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """Those that are read a row at a time."""
    for each in node.walk(prune=lambda inner: isinstance(inner, exp.Window) or is_aggregate(inner)):
        if isinstance(each, exp.Column):
            yield each
