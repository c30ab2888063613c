"""Runs one phase of one migration in one store, from where it stopped.

In: a store, a journal and a migration. Out: the phase's record. Invariants: the plan is in the journal before its first
step is carried out; a step is in the journal after it was; a run that was killed between the two finds the step done,
or does it again without harm. What was hidden is deleted only after the delay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from penstock.crash_points import crash_point
from penstock.errors import Conflict
from penstock.postgres.application.phase_record import (
    MigrationJournal,
    PhaseKey,
    PhaseRecord,
    operations_fingerprint,
)
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.migration_store import MigrationStore
from penstock.postgres.translation.store_step import StoreStep


@dataclass(frozen=True, slots=True)
class PhaseRunner:
    """Runs phases in one store."""

    store: MigrationStore
    journal: MigrationJournal
    delay: timedelta
    """For how long a dropped column is only hidden."""
    now: Callable[[], datetime]

    def run(self, migration: Migration, phase: Phase) -> PhaseRecord:
        """Carry out what is left of the phase. Raises CannotTranslate, Failed, Unavailable, and Conflict where the file
        was edited meanwhile."""
        key = PhaseKey(self.store.name, migration.id, phase)
        record = self.journal.load(key)
        made_of = operations_fingerprint(migration, phase)
        if record is None:
            record = PhaseRecord(key, self.store.plan(migration, phase), made_of=made_of)
            self.journal.save(record)
            crash_point("migration.noted")
        elif record.made_of != made_of:
            hint = "take the edit back, and observe what is still to change"
            raise Conflict(f"the file of {migration.id} was edited after {phase.value} was begun", hint=hint)
        for step in record.steps[record.done :]:
            if step.deletes and not self._is_due(record):
                break
            if not self.store.is_done(step):
                self.store.carry_out(step)
                crash_point("migration.carried-out")
            record = self._advanced(record, step)
        if not record.steps or (record.is_confirmed and record.hidden_at is None):
            record = replace(record, hidden_at=self.now())
            self.journal.save(record)
        return record

    def due_at(self, record: PhaseRecord) -> datetime | None:
        """When what is hidden may be deleted; None if nothing is."""
        if record.is_finished or record.hidden_at is None:
            return None
        return record.hidden_at + self.delay

    def take_back(self, migration: Migration) -> list[PhaseRecord]:
        """Undo the phases of a migration in the store, the last one first. Raises Conflict where something was deleted,
        or cannot be undone."""
        keys = [PhaseKey(self.store.name, migration.id, phase) for phase in reversed(Phase)]
        found = [record for record in map(self.journal.load, keys) if record is not None]
        for record in found:
            done = record.steps[: record.done]
            if any(each.deletes for each in done):
                raise Conflict(f"{migration.id} has deleted columns of {self.store.name}: it cannot be taken back")
            final = [each for each in done if each.undo is None]
            if final:
                raise Conflict(
                    f"`{final[0].text}` of {migration.id} in {self.store.name} cannot be taken back",
                    hint="observe a migration of the other direction",
                )
        for record in found:
            self._undo(record)
        return found

    def _undo(self, record: PhaseRecord) -> None:
        # The step behind the last one may have been carried out just before a crash.
        begun = record.steps[: record.done + 1]
        self.store.take_back([each for each in begun if not each.deletes and each.undo is not None])
        self.journal.remove(record.key)

    def _advanced(self, record: PhaseRecord, step: StoreStep) -> PhaseRecord:
        done = record.done + 1
        is_hidden = done == record.hiding and not step.deletes
        made = replace(record, done=done, hidden_at=self.now() if is_hidden else record.hidden_at)
        self.journal.save(made)
        crash_point("migration.noted")
        return made

    def _is_due(self, record: PhaseRecord) -> bool:
        due = self.due_at(record)
        return due is not None and self.now() >= due
