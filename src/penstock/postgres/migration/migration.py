"""A migration: the operations on one table, between two fingerprints.

In: nothing; observation or a file makes it. Out: frozen values. Invariant: its operations stand in the order of their
phases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.migration.operation import Operation, Phase, RenameTable, is_destructive

FORMAT = 2
"""The version of the format of the files. The first one had types by the numbers of the catalog (`typmod`), which are
read in both."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file of the folder of migrations."""

    id: str
    """It begins with the time at which it was observed, and ids are sorted."""
    table: QualifiedName
    """The name before the migration."""
    before: str
    after: str
    """The fingerprints of the table."""
    rewrites: bool
    """Whether Postgres wrote the rows anew, with values that are read again from there."""
    operations: tuple[Operation, ...]

    @property
    def destructive(self) -> bool:
        return any(map(is_destructive, self.operations))

    @property
    def table_after(self) -> QualifiedName:
        """The name after the migration."""
        return next((each.to for each in self.operations if isinstance(each, RenameTable)), self.table)

    def of_phase(self, phase: Phase) -> tuple[Operation, ...]:
        return tuple(each for each in self.operations if each.phase is phase)

    def phases(self) -> tuple[Phase, ...]:
        """The phases that it has operations of."""
        return tuple(phase for phase in Phase if self.of_phase(phase))


@dataclass(frozen=True, slots=True)
class MigrationHistory:
    """All migrations of a folder, in order."""

    migrations: tuple[Migration, ...] = ()

    def of_table(self, name: QualifiedName) -> Sequence[Migration]:
        """The migrations of the table that bears this name at the end, in order."""
        return [*reversed([*self._back_from(name)])]

    def _back_from(self, name: QualifiedName) -> Iterator[Migration]:
        for each in reversed(self.migrations):
            if each.table_after == name:
                yield each
                name = each.table
