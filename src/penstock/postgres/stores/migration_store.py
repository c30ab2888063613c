"""What every store does for migrations.

In: operations of one phase on one table. Out: steps, and the store changed by them. Invariant: `plan` changes nothing,
and `carry_out` of a step that was carried out before does no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.store_rehearsal import RehearsedPhase, RehearsedStep, StoreRehearsal
from penstock.postgres.translation.store_step import StoreStep


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """Where a store's table differs from the one of Postgres."""

    table: QualifiedName
    column: str | None
    """None: the whole table is missing."""
    message: str
    loses_values: bool
    """Whether a row of Postgres could not be kept whole; otherwise the store only has more than it needs."""


class MigrationStore(Protocol):
    """A store as migrations see it."""

    @property
    def name(self) -> str:
        """Its name in the settings."""

    @property
    def takes_rows(self) -> bool:
        """Whether consumers of `penstock cdc` bring rows there; else they come by another way."""

    def phases(self, migration: Migration) -> tuple[Phase, ...]:
        """The phases in which the store has something to do."""

    def plan(self, migration: Migration, phase: Phase) -> tuple[StoreStep, ...]:
        """The steps of a phase. Raises CannotTranslate, Unavailable."""

    def unread_rows(self, migration: Migration) -> str | None:
        """Rows of the migration's table that the store has accepted, and will read only later, by the names that it has
        then; None: there are none. Raises Failed, Unavailable."""

    def is_done(self, step: StoreStep) -> bool:
        """Whether a step is not needed (any more), as far as the store itself can tell."""

    def carry_out(self, step: StoreStep) -> None:
        """Carry a step out, and wait until it is. Raises Failed, Unavailable."""

    def take_back(self, steps: Sequence[StoreStep]) -> None:
        """Undo steps, the last one first. Raises Failed, Unavailable."""

    def differences(self, table: ReplicatedTable) -> Sequence[ColumnDifference]:
        """Where the store's table differs from that of Postgres."""

    def rehearse(self, phases: Sequence[RehearsedPhase]) -> StoreRehearsal:
        """Carry phases out on a throw-away copy. Raises CannotTranslate, Failed, Unavailable."""


@runtime_checkable
class PlannedStore(Protocol):
    """A store that says beforehand what several phases are in it."""

    def preview(self, phases: Sequence[RehearsedPhase]) -> list[tuple[StoreStep, ...]]:
        """The steps of phases one after the other, each on what those before it lead to. Raises CannotTranslate,
        Failed, Unavailable."""


def carry_out_all(store: MigrationStore, phases: Sequence[RehearsedPhase]) -> Iterator[RehearsedStep]:
    """Carry phases out, deletions included, one step at a time with its seconds."""
    for each in phases:
        for step in store.plan(each.migration, each.phase):
            begun = time.monotonic()
            if not store.is_done(step):
                store.carry_out(step)
            yield RehearsedStep(each.migration.id, each.phase, step.text, time.monotonic() - begun)


def first_names(phases: Sequence[RehearsedPhase], table_of: Callable[[QualifiedName], str]) -> list[str]:
    """For each phase the name that its table has before all of them."""
    names: dict[str, str] = {}
    found = []
    for each in phases:
        migration = each.migration
        name = migration.table_after if each.phase is Phase.post else migration.table
        first = names.get(table_of(name), table_of(name))
        found.append(first)
        names[table_of(migration.table_after)] = first
    return found
