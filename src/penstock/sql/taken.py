"""Rows of which an ANY INNER JOIN has taken one for each key, and what may still be done to them.

In: the join's keys; expressions beside the join and in SELECTs around it. Out: `Taken`. Called by join_any, block,
tables, unions and passes.sources. Invariant: what `keeps` lets through passes all rows of a key or none, so it does
not matter that ClickHouse moves it below the join, where it would change which row is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.sql.aggregates.combinators import called
from penstock.sql.scope import Scope
from penstock.sql.tree import call_name

Name = tuple[str, str]
"""A column as it is written: its table, or nothing, and its name."""


@dataclass(frozen=True, slots=True)
class Taken:
    """`words` are those of the join, `keys` the columns that are equal in all rows it chose from, `tables` those
    whose rows they were."""

    words: str
    keys: frozenset[Name]
    tables: frozenset[str]

    def with_other(self, other: Taken | None) -> Taken:
        """Of two joins: what reads keys of both."""
        if other is None:
            return self
        return replace(self, keys=self.keys & other.keys, tables=self.tables | other.tables)

    def keeps(self, node: exp.Expr, scope: Scope) -> bool:
        """Whether an expression reads keys and other tables only. What it aggregates is no matter: a filter on
        that stays where it is."""
        return node.find(exp.Query) is None and all(self._is_kept(each, scope, ()) for each in _columns(node))

    def _is_kept(self, node: exp.Column, scope: Scope, inside: tuple[str, ...]) -> bool:
        table, name = node.text("table"), node.name
        meant = scope.aliases.get(name) if not table and name not in inside else None
        if meant is not None:
            return all(self._is_kept(each, scope, (*inside, name)) for each in _columns(meant))
        others = {each.name for each in scope.relations} - self.tables
        return table in others or (table, name) in self.keys

    def shown(self, columns: Iterable[tuple[str, exp.Expr]], scope: Scope) -> Taken:
        """For who reads the SELECT: the names of its columns that are made of keys."""
        kept = frozenset(("", name) for name, node in columns if self.keeps(node, scope))
        return replace(self, keys=kept, tables=frozenset())

    def called(self, alias: str) -> Taken:
        """As a table of this name."""
        return replace(self, keys=self.keys | {(alias, name) for _, name in self.keys}, tables=frozenset({alias}))


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    """Those that are read a row at a time."""
    for each in node.walk(prune=_is_aggregate):
        if isinstance(each, exp.Column):
            yield each


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window) or called(call_name(node) or "") is not None
