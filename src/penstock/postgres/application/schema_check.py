"""Compares Postgres with each store and each pending migration.

In: the catalog of the source, the migrations, the stores. Out: problems. Invariant: an error is what would lose a value
or stop a table; what a store only has more than it needs is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import Level, Location, Problem
from penstock.postgres.application.source_state import SourceStage, SourceState
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName, ReplicatedTable
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.operation_effects import DoesNotFit, apply_operations
from penstock.postgres.stores.filtered_store import FilteredStore


@dataclass(frozen=True, slots=True)
class SchemaCheck:
    """What is compared."""

    catalog: Catalog
    history: MigrationHistory
    state: SourceState
    folder: str
    """The name of the folder of migrations, for the places of problems."""

    def problems(self, stores: Iterable[FilteredStore]) -> list[Problem]:
        """All problems. Raises Failed, Unavailable."""
        stores = [*stores]
        found = [*self._undeclared(stores), *self._pending()]
        for store in stores:
            found += self._store(store)
        return found

    def _undeclared(self, stores: Sequence[FilteredStore]) -> Iterator[Problem]:
        """Tables in no known state, unless no store takes their rows: the application may be about to make one."""
        for name in self.state.undeclared:
            if stores and all(name in each.untaken.values() for each in stores):
                continue
            missing = self.catalog.table(name) is None
            what = "is not there" if missing else "has a schema that no migration begins or ends with"
            hint = "observe the change on a development database, or take it back: consumers stop the table there"
            yield Problem("undeclared-change", f"the table {name} of Postgres {what}", hint=hint)

    def _pending(self) -> Iterator[Problem]:
        """Migrations that Postgres does not have yet must fit the table as it is, one after the other."""
        tables: dict[QualifiedName, ReplicatedTable] = {}
        for each in self.history.migrations:
            if self.state.stages[each.id] is not SourceStage.before:
                continue
            table = tables.pop(each.table, None) or self.state.tables[each.id]
            try:
                made = apply_operations(table, each.operations)
            except DoesNotFit as error:
                yield Problem("invalid-migration", str(error), self._place(each), error.hint)
                continue
            if fingerprint(made) != each.after:
                message = "the operations do not lead to the schema whose fingerprint is `after`"
                yield Problem("invalid-migration", message, self._place(each), "observe it again")
            tables[made.name] = made

    def _store(self, store: FilteredStore) -> Iterator[Problem]:
        known = {name for each in self.history.migrations for name in (each.table, each.table_after)}
        for table in self.catalog.tables:
            for each in store.differences(table):
                if each.column is None and table.name not in known:
                    continue
                column = f".{each.column}" if each.column else ""
                message = f"{store.name}: {each.table}{column}: {each.message}"
                hint = "apply the migration, or alter the store's table" if each.loses_values else None
                level: Level = "error" if each.loses_values else "warning"
                yield Problem("schema-difference", message, hint=hint, level=level)

    def _place(self, migration: Migration) -> Location:
        return Location(f"{self.folder}/{migration.id}.json")
