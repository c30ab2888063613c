"""What FROM has joined so far as one table of its own: Spark joins nothing to a LATERAL VIEW.

In: a Block. Out: the Block with a SELECT in place of its source. Called by passes.sources. Invariant: every
column keeps its name and its relation, and those that the SELECT names are read and no others.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.block import Block
from penstock.sql.scope import Relation
from penstock.sql.typed import Typed
from penstock.sql.value_types import quoted


def derived(block: Block) -> Block:
    """The rows so far as a subquery, with a column for each that may be named."""
    scope = block.translator.scope
    alias = f"__joined{len(scope.relations)}"
    names: dict[str, str] = {}
    shown: dict[str, str] = {}
    named = _named(block)
    for relation in scope.relations:
        for column, value in _every(relation):
            name = names.setdefault(value.sql, f"c{len(names)}")
            if column not in relation.barred and (column in named or named.intersection(_EVERY)):
                shown[name] = f"{value.sql} AS {quoted(name)}"
                _note(block, relation, column)
    rows = f"SELECT {', '.join(shown.values()) or '1 AS `one`'} FROM {block.source}"
    relations = tuple(_moved(relation, alias, names) for relation in scope.relations)
    return replace(
        block,
        source=f"({rows}) AS {quoted(alias)}",
        unnested=False,
        translator=block.translator.with_scope(replace(scope, relations=relations)),
    )


def _every(relation: Relation) -> list[tuple[str, Typed]]:
    """Each way in which a column of the relation may be read."""
    return [*relation.columns.items(), *relation.own.items(), *relation.whole.items()]


_EVERY = ("*",)
"""Stands among the names where a star may name all of them."""


def _named(block: Block) -> frozenset[str]:
    """Every name in the SELECT and in the expressions that WITH gives around it."""
    nodes = (each for tree in (block.tree, *block.environment.constants.values()) for each in tree.walk())
    return frozenset(
        each.name if isinstance(each, exp.Identifier) else "*"
        for each in nodes
        if isinstance(each, (exp.Identifier, exp.Star, exp.Columns))
    )


def _note(block: Block, relation: Relation, column: str) -> None:
    if relation.placeholder is not None:
        block.translator.uses.column(relation.placeholder, column)


def _moved(relation: Relation, alias: str, names: dict[str, str]) -> Relation:
    """The relation with its columns read from the subquery."""

    def moved(value: Typed) -> Typed:
        return Typed(f"{quoted(alias)}.{quoted(names[value.sql])}", value.type, value.spark)

    return relation.mapped(moved)
