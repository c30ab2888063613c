"""What FROM has joined so far, wrapped into a subquery: Spark cannot join to a LATERAL VIEW.

In: a `SelectBlock`. Out: the block with a SELECT as its source. Invariant: every column keeps its name and its
relation; the subquery selects only the columns that the outer SELECT names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.expr.typed import TypedSql
from penstock.sql.spark_text import quote_identifier

_STAR = ("*",)
"""Stands among the names of a SELECT if a star in it may mean any column."""


@dataclass(frozen=True, slots=True)
class FromSubquery:
    """The subquery that replaces FROM."""

    alias: str
    names: Mapping[str, str]
    """The new name of each column, by its SQL."""
    shown: Mapping[str, TypedSql]
    """The columns that the subquery selects, by new name."""

    @property
    def select_list(self) -> str:
        """The select list as Spark SQL; a constant if nothing is selected."""
        return (
            ", ".join(f"{value.sql} AS {quote_identifier(name)}" for name, value in self.shown.items()) or "1 AS `one`"
        )

    def relations_inside(self, relations: tuple[ScopeTable, ...]) -> tuple[ScopeTable, ...]:
        """The relations with their columns read from the subquery."""
        return tuple(_relation_in_subquery(relation, self.alias, self.names) for relation in relations)


def wrap_in_subquery(block: SelectBlock) -> SelectBlock:
    """The block with its source as a subquery of the columns that the SELECT names."""
    return replace_from(block, subquery_of_from(block))


def replace_from(block: SelectBlock, rows: FromSubquery) -> SelectBlock:
    """The block with its source as this subquery."""
    scope = block.translator.scope
    return replace(
        block,
        source=f"(SELECT {rows.select_list} FROM {block.source}) AS {quote_identifier(rows.alias)}",
        unnested=False,
        translator=block.translator.with_scope(replace(scope, relations=rows.relations_inside(scope.relations))),
    )


def subquery_of_from(block: SelectBlock) -> FromSubquery:
    """The subquery of what FROM has joined so far, with the columns that the SELECT names."""
    relations = block.translator.scope.relations
    names: dict[str, str] = {}
    shown: dict[str, TypedSql] = {}
    for relation in relations:
        read = columns_read(block, relation)
        for column, value in _readable_columns(relation):
            name = names.setdefault(value.sql, f"c{len(names)}")
            if column in read:
                shown[name] = value
    return FromSubquery(f"__joined{len(relations)}", names, shown)


def columns_read(block: SelectBlock, relation: ScopeTable) -> frozenset[str]:
    """The columns of a relation that the SELECT names, or all of them if it has a star; noted as read."""
    named = _names_in_select(block)
    columns = frozenset(name for name, _ in _readable_columns(relation) if name not in relation.unreadable)
    read = columns if named.intersection(_STAR) else columns & named
    for column in read:
        _note_read(block, relation, column)
    return read


def _readable_columns(relation: ScopeTable) -> list[tuple[str, TypedSql]]:
    """Every column of a relation, in each of the ways it may be read."""
    return [*relation.columns.items(), *relation.own.items(), *relation.whole.items()]


def _names_in_select(block: SelectBlock) -> frozenset[str]:
    """Every name in the SELECT and in the expressions of WITH that it may use."""
    nodes = (each for tree in (block.tree, *block.environment.constants.values()) for each in tree.walk())
    return frozenset(
        each.name if isinstance(each, exp.Identifier) else "*"
        for each in nodes
        if isinstance(each, (exp.Identifier, exp.Star, exp.Columns))
    )


def _note_read(block: SelectBlock, relation: ScopeTable, column: str) -> None:
    if relation.placeholder is not None:
        block.translator.uses.add_column(relation.placeholder, column)


def _relation_in_subquery(relation: ScopeTable, alias: str, names: Mapping[str, str]) -> ScopeTable:
    """The relation with its columns read from the subquery."""

    def inside(value: TypedSql) -> TypedSql:
        return TypedSql(f"{quote_identifier(alias)}.{quote_identifier(names[value.sql])}", value.type, value.spark)

    return relation.map_columns(inside)
