"""What the journal knows of one phase of one migration in one store.

In: nothing; the runner makes and advances it. Out: a frozen value and its JSON. Invariant: the steps are those that
were planned before the first one was carried out, whatever the store looks like since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.migration_text import exact_values
from penstock.postgres.migration.operation import NAMES, Operation, Phase
from penstock.postgres.translation.store_step import StoreStep, parse_step


@dataclass(frozen=True, slots=True)
class PhaseKey:
    store: str
    migration: str
    phase: Phase


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """How far a phase is."""

    key: PhaseKey
    steps: tuple[StoreStep, ...]
    done: int = 0
    """So many of the steps are done."""
    hidden_at: datetime | None = None
    """When the last step before those that delete was done."""
    made_of: str = ""
    """The fingerprint of the operations that were planned."""

    @property
    def is_confirmed(self) -> bool:
        """Whether the store is as the phase wants it; only what is hidden may be left to delete."""
        return self.done >= self.hiding

    @property
    def is_finished(self) -> bool:
        return self.done == len(self.steps)

    @property
    def hiding(self) -> int:
        """So many steps come before those that delete."""
        return sum(not each.deletes for each in self.steps)

    def as_json(self) -> dict[str, object]:
        return {
            "steps": [each.as_json() for each in self.steps],
            "done": self.done,
            "hidden_at": self.hidden_at.isoformat() if self.hidden_at else None,
            "made_of": self.made_of,
        }


def parse_record(key: PhaseKey, document: Mapping[str, Any]) -> PhaseRecord:
    """The record of a journal."""
    at = document["hidden_at"]
    steps = tuple(parse_step(each) for each in document["steps"])
    return PhaseRecord(key, steps, document["done"], datetime.fromisoformat(at) if at else None, document["made_of"])


def operations_fingerprint(migration: Migration, phase: Phase) -> str:
    """What the operations of a phase are known by: a file may change in phases that have not begun."""
    text = json.dumps([_exact(each) for each in migration.of_phase(phase)], sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _exact(operation: Operation) -> dict[str, object]:
    """An operation however its file spells it: journals have the fingerprints of former formats."""
    return {"op": NAMES[type(operation)], "phase": operation.phase.value, **exact_values(operation)}


class MigrationJournal(Protocol):
    """Where records are kept; what `save` returned from survives a crash."""

    def load(self, key: PhaseKey) -> PhaseRecord | None: ...
    def save(self, record: PhaseRecord) -> None: ...
    def remove(self, key: PhaseKey) -> None: ...
    def records(self) -> Sequence[PhaseRecord]: ...
