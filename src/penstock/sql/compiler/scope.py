"""The names that an expression may use, and which ones it used.

In: tables, made by the modules of `from_clause`. Out: `ScopeTable`, `SelectScope`, and records of use. Invariant: a
name is resolved as in ClickHouse: first lambda parameters, then aliases, then columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from sqlglot import exp

from penstock.model.external_tables import ExternalTable
from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.budget import CompileBudget
from penstock.sql.expr.typed import TypedSql


@dataclass(frozen=True, slots=True)
class ScopeTable:
    """One table of FROM."""

    name: str
    columns: Mapping[str, TypedSql]
    """By their ClickHouse names."""
    placeholder: str | None = None
    """Set for a data source."""
    hidden: frozenset[str] = frozenset()
    """Columns that are not part of `*` (the right side's columns of a USING)."""
    own: Mapping[str, TypedSql] = field(default_factory=dict)
    """What `table.column` reads where that differs from the bare name (USING)."""
    whole: Mapping[str, TypedSql] = field(default_factory=dict)
    """What `table.*` gives (the array that ARRAY JOIN unfolds)."""
    unreadable: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Why a column cannot be read, and what to do."""
    table_name: str = ""
    """The name of the table behind its alias."""
    named: frozenset[str] = frozenset()
    """Columns that keep the table's name in a result, as the bare name belongs to another table."""
    repeated: tuple[str, ...] = ()
    """The names of `*` where a SELECT gives one more than once: each means the first column of that name."""

    @property
    def star(self) -> Iterable[str]:
        """The names of all columns, in order, as `*` lists them."""
        return self.repeated or self.columns

    def with_columns(self, columns: Mapping[str, TypedSql]) -> ScopeTable:
        return replace(self, columns=columns)

    def map_columns(self, change: Callable[[TypedSql], TypedSql]) -> ScopeTable:
        """The table with every column changed, as it reads after a join."""
        columns, own, whole = (
            {name: change(value) for name, value in every.items()} for every in (self.columns, self.own, self.whole)
        )
        return replace(self, columns=columns, own=own, whole=whole)

    def reading(self, name: str, how: str) -> TypedSql:
        """A column as it is named: `bare`, after the table (`own`), or by `table.*` (`whole`)."""
        if how == "whole" and name in self.whole:
            return self.whole[name]
        return self.own[name] if how != "bare" and name in self.own else self.columns[name]

    @property
    def is_array(self) -> bool:
        """Whether this stands for the elements of an ARRAY JOIN."""
        return self.name.startswith("__array")


@dataclass(frozen=True, slots=True)
class SelectScope:
    """The names of one SELECT. `aliases` are the named expressions of its select list and its WITH."""

    relations: tuple[ScopeTable, ...] = ()
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    windows: Mapping[str, exp.Window] = field(default_factory=dict)
    grouped: bool = False
    """The SELECT groups or aggregates its rows."""
    keeps_order: bool = False
    """An aggregate needs the rows in the order in which FROM gives them."""
    joining: bool = False
    """The names are those of the condition of a JOIN, where nothing that follows FROM is known."""

    def relation(self, name: str) -> ScopeTable | None:
        """The table with this alias, or the left-most one with this name behind its alias."""
        named = next((each for each in self.relations if each.name == name), None)
        return named or next((each for each in self.relations if each.table_name == name), None)

    def find(self, column: str) -> ScopeTable | None:
        """The left-most table that has the column."""
        return next((each for each in self.relations if column in each.columns), None)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(name for relation in self.relations for name in relation.columns)


@dataclass(slots=True)
class UsedSources:
    """The data sources that were read so far."""

    datasources: dict[str, str] = field(default_factory=dict)
    """Data sources by placeholder."""
    columns: dict[str, set[str]] = field(default_factory=dict)
    """The used columns by placeholder."""
    externals: dict[str, ExternalTable] = field(default_factory=dict)
    """Tables of other databases by placeholder."""
    budget: CompileBudget = field(default_factory=CompileBudget)
    templates: int = 0
    """How many templates were rendered."""

    def add_datasource(self, placeholder: str, datasource: str) -> None:
        self.datasources[placeholder] = datasource
        self.columns.setdefault(placeholder, set())

    def add_external(self, placeholder: str, table: ExternalTable) -> None:
        self.externals[placeholder] = table
        self.columns.setdefault(placeholder, set())

    def add_column(self, placeholder: str, name: str) -> None:
        self.columns[placeholder].add(name)

    def add_all(self, more: UsedSources) -> None:
        """What was read by a part that has a record of its own."""
        self.datasources |= more.datasources
        self.externals |= more.externals
        self.templates += more.templates
        for placeholder, names in more.columns.items():
            self.columns.setdefault(placeholder, set()).update(names)


@dataclass(slots=True)
class ExpressionTrace:
    """What was found while an expression was translated."""

    free: list[exp.Expr] = field(default_factory=list)
    """Columns outside of aggregates that are no grouping keys."""
    aggregates: int = 0
    aggregate_sqls: list[str] = field(default_factory=list)
    """The SQL of the aggregates, of which a function that only looks at types (`isNull(count())`) leaves nothing."""
    windows: int = 0
    spread: dict[str, str] = field(default_factory=dict)
    """The arrays that `arrayJoin` unfolds: their SQL and generated name."""
    values_beside_rows: bool = False
    """A subquery as a value is made a column beside the rows, because it stands in a call with a lambda."""
