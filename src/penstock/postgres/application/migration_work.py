"""Applies phases of migrations to stores, in the order of a deployment.

In: the migrations, the source and the stores. Out: what was done, and what it waits for. Invariants: Postgres's own
migration may begin once every store has confirmed every `pre`; `at_lsn` is applied where consumers stand, and `post`
once Postgres has the migration and every consumer has acknowledged the place where that was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from penstock.errors import Conflict, NotFound
from penstock.postgres.application.announced_stops import AnnouncedStops
from penstock.postgres.application.phase_order import EarlierPhase, earlier_phases
from penstock.postgres.application.phase_record import PhaseKey, PhaseRecord, operations_fingerprint
from penstock.postgres.application.phase_runner import PhaseRunner
from penstock.postgres.application.source_journal import SourceJournal
from penstock.postgres.application.source_state import SourceStage, SourceState
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.application.table_consumers import FedStore, TableConsumers
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.old_rows import columns_of_postgres, computed_columns
from penstock.postgres.migration.operation import ChangeType, Operation, Phase, RenameEnumValue, SetNotNull
from penstock.postgres.stores.migration_store import MigrationStore
from penstock.postgres.stores.store_rehearsal import RehearsedPhase


@dataclass(frozen=True, slots=True)
class PhaseState:
    """Where one phase of a migration is in a store."""

    store: str
    migration: str
    phase: Phase
    state: str
    """confirmed, hidden, begun, waiting, pending or not announced."""
    done: int = 0
    steps: int = 0
    waits_for: str | None = None
    delete_at: datetime | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "store": self.store,
            "migration": self.migration,
            "phase": self.phase.value,
            "state": self.state,
            "done": self.done,
            "steps": self.steps,
            "waits_for": self.waits_for,
            "delete_at": self.delete_at.isoformat() if self.delete_at else None,
        }


@dataclass(frozen=True, slots=True)
class MigrationWork:
    """What is needed to work on migrations."""

    migrations: Sequence[Migration]
    state: SourceState
    journal: SourceJournal
    stops: StopRecords
    delay: timedelta
    now: Callable[[], datetime]
    without_consumers: bool = False
    """Whether the user says that consumers which this Postgres does not know have stopped, or have passed. Those that
    it knows are waited for all the same."""

    def apply(self, stores: Iterable[MigrationStore], phase: Phase) -> list[PhaseState]:
        """Apply a phase of every migration, as far as it is released. Raises CannotTranslate, Failed, Unavailable."""
        found, stores = [], [*stores]
        self.announce(stores)
        for store in stores:
            for migration in self.migrations:
                if phase not in store.phases(migration) or self._is_over(store, migration, phase):
                    continue
                found += self._run_earlier(store, migration, phase)
                waits = self.waits_for(migration, phase, store)
                if waits is not None:
                    found.append(PhaseState(store.name, migration.id, phase, "waiting", waits_for=waits))
                    break
                found.append(self._run(store, migration, phase))
        self._read_old_rows()
        return found

    def _read_old_rows(self) -> None:
        """Once, behind each migration that a store has begun: have those rows read again whose values only Postgres
        knows. Where it did not write them anew, nothing in its log or files says that they changed. Of a table that is
        not read again, somebody is told."""
        begun = {each.key.migration for each in self.journal.records()}
        for migration in self.migrations:
            has = self.state.stages[migration.id] is SourceStage.after
            if not has or migration.id not in begun or self._is_read(migration):
                continue
            table = self.state.tables[migration.id]
            computed = computed_columns(migration, self._operations_behind(migration), table)
            changes_types = any(isinstance(each, ChangeType) for each in migration.of_phase(Phase.at_lsn))
            if migration.rewrites or changes_types or computed:
                self.stops.read_again(table.oid)
                self.stops.note_unread(table.oid, columns_of_postgres(migration) | computed)
                self.journal.position_of(_reading(migration.id))

    def _operations_behind(self, migration: Migration) -> Iterator[Operation]:
        """The operations of the later migrations of its table that Postgres has."""
        name = migration.table_after
        for each in self.migrations[self.migrations.index(migration) + 1 :]:
            if each.table == name and self.state.stages[each.id] is SourceStage.after:
                name = each.table_after
                yield from each.operations

    def _is_read(self, migration: Migration) -> bool:
        return self.journal.has_position(_reading(migration.id))

    def announce(self, stores: Iterable[MigrationStore]) -> None:
        """Say to consumers at which changes they are to stop. Raises Failed, Unavailable."""
        stages = self.state.stages
        gone = [each for each in stages if stages[each] is SourceStage.before]
        self.journal.forget_positions([*gone, *map(_reading, gone)])
        self.journal.note_marks(self.state.marks)
        self._announcements().announce(stores, self._is_carried_out)

    def _run_earlier(self, store: MigrationStore, migration: Migration, phase: Phase) -> list[PhaseState]:
        """Run what comes before a phase that is about the same columns, where it is released: a column that was dropped
        is out of the way before another one takes its name."""
        return [
            self._run(store, each.migration, each.phase)
            for each in earlier_phases(self.migrations, migration, phase)
            if not self._is_confirmed(store, each) and self.waits_for(each.migration, each.phase, store) is None
        ]

    def _is_confirmed(self, store: MigrationStore, earlier: EarlierPhase) -> bool:
        record = self.journal.load(PhaseKey(store.name, earlier.migration.id, earlier.phase))
        return earlier.phase not in store.phases(earlier.migration) or (record is not None and record.is_confirmed)

    def _run(self, store: MigrationStore, migration: Migration, phase: Phase) -> PhaseState:
        if phase is Phase.at_lsn:
            if self._consumers(migration).may_be_strange(store.name):
                self._announcements().doubt(store.name, migration.id)
            self._announcements().check(store.name, migration)
        record = self.runner(store).run(migration, phase)
        if phase is Phase.at_lsn:
            self._announcements().lift(store.name, migration.id)
        return self._shown(store.name, record)

    def _announcements(self) -> AnnouncedStops:
        return AnnouncedStops(self.migrations, self.state, self.stops, self._seen)

    def _seen(self, migration: str) -> str | None:
        """An LSN at which Postgres was seen to have a migration; None: it does not have it."""
        has = self.state.stages[migration] is SourceStage.after
        return self.journal.position_of(migration) if has else None

    def _is_carried_out(self, store: str, migration: str) -> bool:
        record = self.journal.load(PhaseKey(store, migration, Phase.at_lsn))
        return record is not None and record.is_confirmed and record.hidden_at is not None

    def _is_over(self, store: MigrationStore, migration: Migration, phase: Phase) -> bool:
        record = self.journal.load(PhaseKey(store.name, migration.id, phase))
        return record is not None and record.is_finished and record.hidden_at is not None

    def waits_for(self, migration: Migration, phase: Phase, store: MigrationStore) -> str | None:
        """What must happen before a phase may run; None if nothing must."""
        for each in earlier_phases(self.migrations, migration, phase):
            if not self._is_confirmed(store, each):
                return str(each)
        if phase is Phase.pre:
            return None
        for earlier in [each for each in store.phases(migration) if each.place < phase.place]:
            record = self.journal.load(PhaseKey(store.name, migration.id, earlier))
            if record is None or not record.is_confirmed:
                return f"phase {earlier.value} of the migration"
        if self.state.stages[migration.id] is not SourceStage.after:
            return f"Postgres to have the migration{self._alike(migration, phase)}"
        return self._consumers_wait(migration, phase, store) or self._store_waits(store, migration, phase)

    def _alike(self, migration: Migration, phase: Phase) -> str:
        """What to do where Postgres may have it, and looks the same."""
        if migration.id not in self.state.alike:
            return ""
        command = f"penstock migrations apply --phase {phase.value} --by-hand"
        return f" (the table looks the same with it and without it: if Postgres has it, `{command}` says so)"

    def _store_waits(self, store: MigrationStore, migration: Migration, phase: Phase) -> str | None:
        """What a store has to read by the names of before. Where rows come without a stop that would never end, and the
        table is read again anyway."""
        if phase is not Phase.at_lsn or not self._announcements().is_sure(store.name, migration.id):
            return None
        return store.unread_rows(migration)

    def _consumers_wait(self, migration: Migration, phase: Phase, store: MigrationStore) -> str | None:
        lsn, consumers = self.journal.position_of(migration.id), self._consumers(migration)
        standing = self._announcements().standing(migration, phase)
        late = consumers.behind(standing)
        if late is not None:
            what = "to stop at the change" if phase is Phase.at_lsn else f"to acknowledge {lsn}"
            return f"the consumer {late.place}, {what}{late.advice(self.journal.seconds_since(migration.id))}"
        return None if self.without_consumers else consumers.unseen(_fed(store), standing)

    def _consumers(self, migration: Migration) -> TableConsumers:
        """The consumers of a migration's table, with who of them has passed the place where Postgres has it."""
        oid, lsn = self.state.tables[migration.id].oid, self.journal.position_of(migration.id)
        return self.journal.consumers(oid, lsn)

    def missing(self, stores: Iterable[MigrationStore]) -> list[PhaseState]:
        """The `pre` phases that stores have not confirmed, of migrations that Postgres does not have; and changes at
        which their consumers do not know yet that they are to stop."""
        found = []
        for store in stores:
            silent = self._announcements().missing(store)
            for migration in self.migrations:
                if self.state.stages[migration.id] is SourceStage.after:
                    continue
                state = self.phase_state(store, migration, Phase.pre)
                if Phase.pre in store.phases(migration) and state.state not in ("confirmed", "hidden"):
                    found.append(state)
                elif migration.id in silent:
                    found.append(PhaseState(store.name, migration.id, Phase.at_lsn, "not announced"))
        return found

    def pending(self, store: MigrationStore) -> list[RehearsedPhase]:
        """The phases that a store has not begun, in the order of a deployment: a migration after the other."""
        return [
            RehearsedPhase(migration, phase)
            for migration in self.migrations
            for phase in store.phases(migration)
            if self.journal.load(PhaseKey(store.name, migration.id, phase)) is None
        ]

    def states(self, stores: Iterable[MigrationStore]) -> list[PhaseState]:
        """Where each phase is in each store."""
        return [
            self.phase_state(store, migration, phase)
            for migration in self.migrations
            for store in stores
            for phase in store.phases(migration)
        ]

    def phase_state(self, store: MigrationStore, migration: Migration, phase: Phase) -> PhaseState:
        record = self.journal.load(PhaseKey(store.name, migration.id, phase))
        return self._shown(store.name, record) if record else PhaseState(store.name, migration.id, phase, "pending")

    def is_awaited(self, stores: Iterable[MigrationStore], id: str, lsn: str) -> bool:
        """Whether it is worth waiting before a migration is rolled back that Postgres is without at an LSN: consumers
        that lag may have rows from behind it before them, and no such row is known yet."""
        stores = [*stores]
        stops = [each for each in self.stops.of_stores([each.name for each in stores]) if each.migration == id]
        known = any(each.reached or each.is_done for each in stops)
        return bool(stops) and not known and not all(self._has_passed(each, id, lsn) for each in stores)

    def _has_passed(self, store: MigrationStore, id: str, lsn: str) -> bool:
        """Whether every consumer of a migration's table has acknowledged an LSN."""
        table = self.state.tables.get(id)
        return table is None or self.journal.consumers(table.oid, lsn).has_passed(_fed(store))

    def roll_back(self, stores: Iterable[MigrationStore], id: str, lsn: str) -> list[PhaseRecord]:
        """Take a migration back that Postgres does not have (any more, at an LSN); of one whose file is gone, the stops
        that were announced. Raises Conflict, NotFound."""
        stores = [*stores]
        migration = next((each for each in self.migrations if each.id == id), None)
        if migration is None:
            self._forget_stops([each.name for each in stores], id)
            return []
        if self.state.stages[id] is SourceStage.after:
            hint = "roll it back there first; rows that need it would lose values"
            raise Conflict(f"Postgres has the migration {id}", hint=hint)
        taken = []
        self._read_former_values(migration)
        for store in stores:
            taken += self.runner(store).take_back(migration)
            self._announcements().take_back(store.name, id, partial(self._has_passed, store, id, lsn))
        self.journal.forget_positions([id, _reading(id)])
        return taken

    def _read_former_values(self, migration: Migration) -> None:
        """Rows that nobody touched have their former labels again in Postgres, which logs nothing for them, and one
        that came just as its column lost NULL may have lost it: have the table read again, before a store is changed,
        so that no kill leaves it out. A store begins what comes behind `pre` only once Postgres has it."""
        begun = {each.key.phase for each in self.journal.records() if each.key.migration == migration.id}
        had = [each for each in migration.operations if each.phase in begun - {Phase.pre}]
        renamed = {each.name for each in had if isinstance(each, RenameEnumValue)}
        table = self.state.tables.get(migration.id)
        if table is not None and (renamed or any(isinstance(each, SetNotNull) for each in had)):
            self.stops.read_again(table.oid)
            self.stops.note_unread(table.oid, renamed)

    def _forget_stops(self, stores: Sequence[str], id: str) -> None:
        """Let consumers go past a migration that no file knows any more. Raises NotFound, and Conflict where it, or a
        part of it, may have happened: rows from behind it would be stored under the names of before."""
        stops = [each for each in self.stops.of_stores(stores) if each.migration == id]
        begun = [each for each in self.journal.records() if each.key.migration == id]
        if not stops and not begun:
            raise NotFound(f"there is no migration `{id}`", hint="`penstock migrations status` lists them")
        reason = None
        if begun:
            reason = f"{begun[0].key.store} has begun it"
        elif any(each.reached for each in stops):
            reason = "consumers stand at it, so that there are rows from behind it"
        elif any(self.state.forms & each.after for each in stops):
            reason = "Postgres has a table as it is behind it"
        if reason is not None:
            hint = f"put `{id}.json` back from your version control, then roll it back"
            raise Conflict(f"the file of {id} is gone, and {reason}", hint=hint)
        for each in stops:
            self.stops.forget(each.store, id)

    def record_by_hand(self, stores: Iterable[MigrationStore], phase: Phase) -> list[PhaseState]:
        """Record a phase as done that was carried out by hand, or that a store was made with. Raises Conflict if a
        store lacks what Postgres has."""
        found, stores = [], [*stores]
        self.announce(stores)
        for store in stores:
            for migration in self.migrations:
                key = PhaseKey(store.name, migration.id, phase)
                if phase not in store.phases(migration) or self.journal.load(key) is not None:
                    continue
                has = self.state.stages[migration.id] is SourceStage.after
                if phase is not Phase.pre and not has:
                    if migration.id not in self.state.alike:
                        continue
                    self.journal.position_of(migration.id)  # Postgres has it from now on
                    has = True
                if has:
                    self._refuse_difference(store, migration)
                made_of = operations_fingerprint(migration, phase)
                self.journal.save(record := PhaseRecord(key, (), hidden_at=self.now(), made_of=made_of))
                found.append(self._shown(store.name, record))
                if phase is Phase.at_lsn:
                    self._announcements().lift_by_hand(store.name, migration.id)
        return found

    def _refuse_difference(self, store: MigrationStore, migration: Migration) -> None:
        lost = [each for each in store.differences(self.state.tables[migration.id]) if each.loses_values]
        if lost:
            raise Conflict(f"{store.name} does not have the schema of {lost[0].table}: {lost[0].message}")

    def runner(self, store: MigrationStore) -> PhaseRunner:
        return PhaseRunner(store, self.journal, self.delay, self.now)

    def _shown(self, store: str, record: PhaseRecord) -> PhaseState:
        key, steps = record.key, len(record.steps)
        if record.is_confirmed and not record.is_finished:
            due = record.hidden_at + self.delay if record.hidden_at else None
            return PhaseState(store, key.migration, key.phase, "hidden", record.done, steps, delete_at=due)
        state = "confirmed" if record.is_finished and record.hidden_at is not None else "begun"
        return PhaseState(store, key.migration, key.phase, state, record.done, steps)


def _reading(migration: str) -> str:
    """Under which name the journal has the place from which on rows were read again for a migration."""
    return f"{migration}: old rows"


def _fed(store: MigrationStore) -> FedStore:
    return FedStore(store.name, store.takes_rows)
