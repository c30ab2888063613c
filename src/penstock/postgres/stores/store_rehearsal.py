"""What a rehearsal of migrations in a store tells.

In: nothing; stores rehearse and fill these values in. Out: frozen values and their JSON. Invariant: a column that was
not compared is named as such, never counted as the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import ChangeType, DropColumn, Operation, Phase, RenameColumn, SwapColumns


@dataclass(frozen=True, slots=True)
class RehearsedPhase:
    """A phase that a store has not confirmed."""

    migration: Migration
    phase: Phase


@dataclass(frozen=True, slots=True)
class RehearsedStep:
    """A step that was carried out on the copy, and the seconds that it took."""

    migration: str
    phase: Phase
    text: str
    seconds: float

    def as_json(self) -> dict[str, object]:
        return {
            "migration": self.migration,
            "phase": self.phase.value,
            "text": self.text,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class TableParity:
    """A table of the copy before and after."""

    table: str
    rows_before: int
    rows_after: int
    differing: tuple[str, ...] = ()
    """Columns with other values afterwards, by their names before."""
    not_compared: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        return self.rows_before == self.rows_after and not self.differing

    def as_json(self) -> dict[str, object]:
        return {
            "table": self.table,
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
            "differing": list(self.differing),
            "not_compared": list(self.not_compared),
        }


@dataclass(frozen=True, slots=True)
class StoreRehearsal:
    """A rehearsal in one store."""

    store: str
    steps: tuple[RehearsedStep, ...]
    tables: tuple[TableParity, ...]

    @property
    def is_same(self) -> bool:
        return all(each.is_same for each in self.tables)

    def as_json(self) -> dict[str, object]:
        return {
            "store": self.store,
            "steps": [each.as_json() for each in self.steps],
            "tables": [each.as_json() for each in self.tables],
            "same": self.is_same,
        }


def names_after(columns: Iterable[str], phases: Iterable[RehearsedPhase]) -> Mapping[str, str | None]:
    """What each column is called after the phases; None for one that is dropped, or replaced by another."""
    names: dict[str, str | None] = {each: each for each in columns}
    for each in phases:
        for operation in each.migration.of_phase(each.phase):
            changes = _changes(operation)
            names = {before: changes.get(now, now) if now else None for before, now in names.items()}
    return names


def _changes(operation: Operation) -> Mapping[str, str | None]:
    match operation:
        case RenameColumn(name, to):
            return {name: to}
        case SwapColumns(name, other):
            return {name: other, other: name}
        case DropColumn(name) | ChangeType(name, _, True):
            return {name: None}
        case _:
            return {}
