"""What every store does for migrations.

In: operations of one phase on one table. Out: steps, and the store changed by them. Invariant: `plan` changes nothing,
and `carry_out` of a step that was carried out before does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
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

    def phases(self, migration: Migration) -> tuple[Phase, ...]:
        """The phases in which the store has something to do."""

    def plan(self, migration: Migration, phase: Phase) -> tuple[StoreStep, ...]:
        """The steps of a phase. Raises CannotTranslate, Unavailable."""

    def is_done(self, step: StoreStep) -> bool:
        """Whether a step is not needed (any more), as far as the store itself can tell."""

    def carry_out(self, step: StoreStep) -> None:
        """Carry a step out, and wait until it is. Raises Failed, Unavailable."""

    def take_back(self, steps: Sequence[StoreStep]) -> None:
        """Undo steps, the last one first. Raises Failed, Unavailable."""

    def differences(self, table: ReplicatedTable) -> Sequence[ColumnDifference]:
        """Where the store's table differs from that of Postgres."""
