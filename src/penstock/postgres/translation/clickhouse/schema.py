"""Tables and materialized views of a ClickHouse database, as far as a migration touches them.

In: nothing; the store reads them from the system tables. Out: frozen values. Invariant: a view names its trigger, the
table whose inserted rows it turns into rows of its target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.postgres.translation.clickhouse.view_query import ViewQuery


@dataclass(frozen=True, slots=True)
class ClickHouseColumn:
    name: str
    type: str
    default_kind: str = ""
    default: str = ""
    comment: str = ""
    is_key: bool = False
    """Whether it is in the sorting, primary, partition or sampling key."""


@dataclass(frozen=True, slots=True)
class ClickHouseTable:
    name: str
    engine: str
    columns: tuple[ClickHouseColumn, ...]
    created: str = ""
    """The statement that makes it, as ClickHouse writes it."""
    comment: str = ""

    def column(self, name: str) -> ClickHouseColumn | None:
        return next((each for each in self.columns if each.name == name), None)

    @property
    def adds_up(self) -> bool:
        """Whether rows with equal keys become one, whose other columns are added up."""
        return "Summing" in self.engine or "Aggregating" in self.engine

    @property
    def replaces(self) -> bool:
        """Whether the last of the rows with equal keys takes the place of the others."""
        return "Replacing" in self.engine


@dataclass(frozen=True, slots=True)
class ClickHouseView:
    name: str
    query: ViewQuery
    target: str | None
    """None: a view without TO, which owns its target."""


@dataclass(frozen=True, slots=True)
class ClickHouseSchema:
    """A database."""

    database: str
    tables: tuple[ClickHouseTable, ...]
    views: tuple[ClickHouseView, ...] = ()

    def table(self, name: str) -> ClickHouseTable | None:
        return next((each for each in self.tables if each.name == name), None)

    def views_of(self, table: str) -> Iterator[ClickHouseView]:
        """The views that read a table, whatever it is to them."""
        return (each for each in self.views if table in each.query.tables(self.database))


def quoted_name(name: str) -> str:
    """A name as ClickHouse reads it."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def text_literal(text: str) -> str:
    """A text as ClickHouse reads it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
