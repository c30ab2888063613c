"""Which phases of earlier migrations come before a phase of a later one.

In: the migrations of a table. Out: phases to be confirmed first. Invariants: a name is given to a column of a store
only after the column that had it is out of the way: else what is dropped or renamed later would be the new one; and
`post`, whose names are those behind its migration, finds the columns under them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.postgres.application.source_state import table_chains
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import AddColumn, Phase, columns_of, freed_name


@dataclass(frozen=True, slots=True)
class EarlierPhase:
    """A phase of an earlier migration that comes first."""

    migration: Migration
    phase: Phase
    column: str | None = None
    """That both are about; None: it comes first whatever they are about."""

    def __str__(self) -> str:
        why = f", which is about `{self.column}` too" if self.column is not None else ", which comes before it"
        return f"phase {self.phase.value} of {self.migration.id}{why}"


def earlier_phases(migrations: Sequence[Migration], migration: Migration, phase: Phase) -> Iterator[EarlierPhase]:
    """What a store must have confirmed before a phase of a migration: of phases that come later in a deployment, what
    is about the same columns; before `post`, what changes at its LSN."""
    chain = next(each for each in table_chains(migrations) if migration in each)
    for earlier in chain[: chain.index(migration)]:
        if phase is Phase.post:
            yield EarlierPhase(earlier, Phase.at_lsn)
        for later in [each for each in Phase if each.place > phase.place]:
            both = _given(migration, phase) & _touched(earlier, later, phase)
            if both:
                yield EarlierPhase(earlier, later, min(both))


def _given(migration: Migration, phase: Phase) -> frozenset[str]:
    """The columns of a phase that need their name for themselves: before Postgres changes these are the new ones."""
    operations = migration.of_phase(phase)
    if phase is Phase.pre:
        return frozenset(each.name for each in operations if isinstance(each, AddColumn))
    return frozenset(name for each in operations for name in columns_of(each))


def _touched(migration: Migration, phase: Phase, before: Phase) -> frozenset[str]:
    """The columns that a phase is about; where new ones are added before it, the names that it frees."""
    operations = migration.of_phase(phase)
    if before is Phase.pre:
        return frozenset(name for each in operations if (name := freed_name(each)) is not None)
    return frozenset(name for each in operations for name in columns_of(each))
