"""ClickHouse as a store of migrations.

In: a connection and the settings of the store. Out: plans and changed tables. Invariant: tables and views are read anew
for each plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from penstock.errors import Failed
from penstock.model.settings import StoreSettings
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedColumn, ReplicatedTable
from penstock.postgres.catalog.store_types import clickhouse_type
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.clickhouse_rehearsal import ClickHouseRehearsal
from penstock.postgres.stores.clickhouse_server import DATABASE_HINT, ClickHouseConnection
from penstock.postgres.stores.migration_store import ColumnDifference, first_names
from penstock.postgres.stores.store_rehearsal import RehearsedPhase, StoreRehearsal
from penstock.postgres.translation.clickhouse.column_values import enum_values
from penstock.postgres.translation.clickhouse.draft import ChoicesOf, ClickHouseDraft, ViewChoices
from penstock.postgres.translation.clickhouse.schema import (
    ClickHouseColumn,
    ClickHouseSchema,
    ClickHouseTable,
    ClickHouseView,
    text_literal,
)
from penstock.postgres.translation.clickhouse.statements import clickhouse_steps
from penstock.postgres.translation.clickhouse.type_capacity import holds_values
from penstock.postgres.translation.clickhouse.view_query import ViewQuery
from penstock.postgres.translation.refusal import refuse_reserved_names
from penstock.postgres.translation.store_step import StoreStep

_KEYS = "is_in_sorting_key OR is_in_primary_key OR is_in_partition_key OR is_in_sampling_key"


class ClickHouseStore:
    """A database of ClickHouse."""

    def __init__(self, name: str, settings: StoreSettings, connection: ClickHouseConnection, choices: ChoicesOf):
        self._name = name
        self._settings = settings
        self._connection = connection
        self._choices = choices

    @property
    def name(self) -> str:
        return self._name

    @property
    def takes_rows(self) -> bool:
        return True

    def phases(self, migration: Migration) -> tuple[Phase, ...]:
        return migration.phases()

    def plan(self, migration: Migration, phase: Phase) -> tuple[StoreStep, ...]:
        """The statements of a phase. Raises CannotTranslate, Failed, Unavailable."""
        return self._planned(RehearsedPhase(migration, phase), self.read_schema())[0]

    def preview(self, phases: Sequence[RehearsedPhase]) -> list[tuple[StoreStep, ...]]:
        """The statements of phases one after the other. Raises CannotTranslate, Failed, Unavailable."""
        found, schema = [], self.read_schema()
        for each in phases:
            steps, schema = self._planned(each, schema)
            found.append(steps)
        return found

    def _planned(
        self, phase: RehearsedPhase, schema: ClickHouseSchema
    ) -> tuple[tuple[StoreStep, ...], ClickHouseSchema]:
        """The statements of a phase, and what they make of a schema."""
        migration, of = phase.migration, phase.phase
        refuse_reserved_names(migration)
        name = migration.table_after if of is Phase.post else migration.table
        draft = ClickHouseDraft(schema, self.table_of(name), self._choices(migration.id), migration.id)
        draft.is_stopped = of is Phase.at_lsn
        return clickhouse_steps(migration.of_phase(of), draft), draft.schema

    def table_of(self, name: QualifiedName) -> str:
        """The table of ClickHouse for one of Postgres."""
        return self._settings.tables.get(str(name), name.name)

    def unread_rows(self, migration: Migration) -> str | None:
        return None

    def is_done(self, step: StoreStep) -> bool:
        if step.done is None:
            return False
        ((count,),) = self._connection.rows(step.done)
        return int(str(count)) != 0

    def carry_out(self, step: StoreStep) -> None:
        self._connection.run(step.text)

    def take_back(self, steps: Sequence[StoreStep]) -> None:
        for step in reversed(steps):
            if step.undo is None and not step.deletes:
                raise Failed(f"`{step.text}` cannot be taken back", hint="a migration of the other direction does it")
            if step.undo is not None:
                self._connection.run(step.undo)

    def rehearse(self, phases: Sequence[RehearsedPhase]) -> StoreRehearsal:
        """The phases on a throw-away copy. Raises CannotTranslate, Failed, Unavailable."""
        sources, schema = first_names(phases, self.table_of), self.read_schema()
        rehearsal = ClickHouseRehearsal(self._connection, schema, self._settings)
        names = {each.name for each in rehearsal.reached(sources)}
        names |= {self.table_of(each.migration.table_after) for each in phases}

        def opened(copy: StoreSettings) -> ClickHouseStore:
            choices = _copied_choices(
                self._choices, lambda query: query.with_database(schema.database, copy.database, names)
            )
            return ClickHouseStore(self._name, copy, self._connection, choices)

        return rehearsal.run(sources, phases, opened)

    def read_schema(self) -> ClickHouseSchema:
        """The tables and views of the database. Raises Failed, also where there is no such database, and
        Unavailable."""
        database = text_literal(self._settings.database)
        columns: dict[str, list[ClickHouseColumn]] = {}
        for row in self._connection.rows(
            "SELECT table, name, type, default_kind, default_expression, comment,"
            f" toUInt8({_KEYS}) FROM system.columns WHERE database = {database} ORDER BY table, position"
        ):
            table, name, of, kind, default, comment, is_key = map(str, row)
            columns.setdefault(table, []).append(ClickHouseColumn(name, of, kind, default, comment, is_key == "1"))
        tables, views = [], []
        for row in self._connection.rows(
            "SELECT name, engine, as_select, create_table_query, comment"
            f" FROM system.tables WHERE database = {database} ORDER BY name"
        ):
            name, engine, query, created, comment = map(str, row)
            if engine == "MaterializedView":
                views.append(ClickHouseView(name, ViewQuery(query), _target(created)))
            else:
                tables.append(ClickHouseTable(name, engine, tuple(columns.get(name, ())), created, comment))
        if not tables and not views:
            self._check_database()
        return ClickHouseSchema(self._settings.database, tuple(tables), tuple(views))

    def _check_database(self) -> None:
        """Of a database that is not there ClickHouse says the same as of an empty one."""
        name = self._settings.database
        if not self._connection.rows(f"SELECT 1 FROM system.databases WHERE name = {text_literal(name)}"):
            raise Failed(f"the ClickHouse of the store `{self._name}` has no database `{name}`", hint=DATABASE_HINT)

    def differences(self, table: ReplicatedTable) -> Sequence[ColumnDifference]:
        schema = self.read_schema()
        found = schema.table(self.table_of(table.name))
        if found is None:
            return [ColumnDifference(table.name, None, f"the store has no table {self.table_of(table.name)}", True)]
        return [each for column in table.columns for each in _differences(table.name, column, found)]


_NAME = r"(?:`(?:[^`\\]|\\.)*`|[^\s`.(]+)"
_QUALIFIED = rf"(?:{_NAME}\.)?"
_TO = re.compile(
    rf"CREATE MATERIALIZED VIEW {_QUALIFIED}{_NAME}(?: UUID '[^']*')?(?: REFRESH [^`(]*?)?"
    rf" TO {_QUALIFIED}(?P<to>{_NAME})",
    re.DOTALL,
)


def _copied_choices(choices: ChoicesOf, copied: Callable[[ViewQuery], ViewQuery]) -> ChoicesOf:
    """What the user says of the views, whose new queries read the copies."""

    def of(migration: str) -> ViewChoices:
        found = choices(migration)
        queries = {view: ViewQuery(query) for view, query in found.queries.items()}
        return replace(found, queries={view: copied(each).text for view, each in queries.items()})

    return of


def _target(created: str) -> str | None:
    """The table behind TO, without its database; None for a view that owns its target."""
    found = _TO.match(created)
    if found is None:
        return None
    name = found["to"]
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith("`") else name


def _differences(table: QualifiedName, column: ReplicatedColumn, found: ClickHouseTable) -> Iterator[ColumnDifference]:
    stored = found.column(column.name)
    wanted = clickhouse_type(column)
    if stored is None or stored.default_kind == "ALIAS":
        yield ColumnDifference(table, column.name, f"the store has no column for {wanted}", True)
        return
    labels = enum_values(stored.type)
    missing = [
        each.label for each in column.type.stored.labels or () if labels is not None and each.label not in labels
    ]
    if missing:
        yield ColumnDifference(table, column.name, f"the store lacks the label {missing[0]!r}", True)
    elif not column.type.stored.labels and not holds_values(stored.type, wanted):
        yield ColumnDifference(table, column.name, f"the store has {stored.type}, which does not hold {wanted}", True)
    elif labels is None and column.type.stored.labels and holds_values(stored.type, "String"):
        return
    elif not column.not_null and not stored.type.startswith(("Nullable(", "LowCardinality(Nullable(")):
        yield ColumnDifference(table, column.name, f"the store has {stored.type}, which is never NULL", True)
    elif stored.type != wanted and labels is None:
        yield ColumnDifference(table, column.name, f"the store has {stored.type} for {wanted}", False)
