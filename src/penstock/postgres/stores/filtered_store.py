"""A store that takes the rows of some tables only.

In: a store, and the migrations of tables that it does not take. Out: a store that has nothing to do for those.
Invariant: for every other table it is the store itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.migration_store import ColumnDifference, MigrationStore
from penstock.postgres.stores.store_rehearsal import RehearsedPhase, StoreRehearsal
from penstock.postgres.translation.store_step import StoreStep


@dataclass(frozen=True, slots=True)
class FilteredStore:
    """The store, as far as it takes tables."""

    whole: MigrationStore
    untaken: Mapping[str, QualifiedName]
    """By the ids of their migrations, the tables that it does not take."""

    @property
    def name(self) -> str:
        return self.whole.name

    @property
    def takes_rows(self) -> bool:
        return self.whole.takes_rows

    def phases(self, migration: Migration) -> tuple[Phase, ...]:
        return () if migration.id in self.untaken else self.whole.phases(migration)

    def plan(self, migration: Migration, phase: Phase) -> tuple[StoreStep, ...]:
        return self.whole.plan(migration, phase)

    def unread_rows(self, migration: Migration) -> str | None:
        return self.whole.unread_rows(migration)

    def is_done(self, step: StoreStep) -> bool:
        return self.whole.is_done(step)

    def carry_out(self, step: StoreStep) -> None:
        self.whole.carry_out(step)

    def take_back(self, steps: Sequence[StoreStep]) -> None:
        self.whole.take_back(steps)

    def differences(self, table: ReplicatedTable) -> Sequence[ColumnDifference]:
        """Of a table that it does not take, that it lacks it, which loses nothing."""
        if table.name not in self.untaken.values():
            return self.whole.differences(table)
        told = "the store has no such table, and no capture brings its rows: migrations of it change nothing there"
        return [ColumnDifference(table.name, None, told, False)]

    def rehearse(self, phases: Sequence[RehearsedPhase]) -> StoreRehearsal:
        return self.whole.rehearse(phases)
