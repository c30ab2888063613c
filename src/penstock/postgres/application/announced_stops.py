"""Announces to consumers at which changes they are to stop, and lifts the stops.

In: the migrations, the source's state and the records of stops. Out: records. Invariants: the gate is closed until
every stop before it is announced; where rows may have passed a stop unseen, the table is read again once it is lifted
or taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.errors import Conflict
from penstock.postgres.application.change_forms import change_forms
from penstock.postgres.application.change_stop import ChangeStop
from penstock.postgres.application.source_state import SourceStage, SourceState, table_chains
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.migration_store import MigrationStore


@dataclass(frozen=True, slots=True)
class AnnouncedStops:
    """The stops of a source's migrations."""

    migrations: Sequence[Migration]
    state: SourceState
    records: StopRecords
    seen: Callable[[str], str | None]
    """An LSN at which Postgres was seen to have a migration; None: it does not have it."""

    def announce(self, stores: Iterable[MigrationStore], is_confirmed: Callable[[str, str], bool]) -> None:
        """Write down the stops of these stores. What a kill may have left is put right: a stop whose change
        `is_confirmed`, by store and migration, is lifted, and one that is lifted although its change was taken back
        begins anew."""
        for store in stores:
            known = {each.migration: each for each in self.records.of_stores([store.name])}
            for wanted in self._wanted(store):
                stop = known.get(wanted.migration)
                if is_confirmed(store.name, wanted.migration):
                    self._lift_confirmed(wanted, stop)
                    continue
                if stop is not None and stop.is_done:
                    self.take_back(store.name, wanted.migration, lambda: False)
                    stop = None
                if (made := self._merged(wanted, stop)) != stop:
                    self._write(made)

    def _lift_confirmed(self, wanted: ChangeStop, stop: ChangeStop | None) -> None:
        """The store has a change: its stop is lifted, with the LSN at which Postgres had it, which a release of before
        did not note where it had been killed."""
        if stop is None:
            return
        if not stop.is_done:
            self.lift(wanted.store, wanted.migration)
        elif stop.seen is None and (seen := self.seen(wanted.migration)) is not None:
            self.records.lift(wanted.store, wanted.migration, seen)

    def _write(self, stop: ChangeStop) -> None:
        if self.state.stages[stop.migration] is SourceStage.before:
            self.records.announce(stop)
        else:
            self.records.note_forms(stop)

    def missing(self, store: MigrationStore) -> frozenset[str]:
        """The migrations that Postgres does not have, and whose forms the stops before a store do not have as they are:
        their own stops, and those of earlier changes of the table that the store is still without."""
        known = {each.migration: each for each in self.records.of_stores([store.name])}
        silent = {each.migration for each in self._wanted(store) if self._is_silent(each, known.get(each.migration))}
        found = [[each.id for each in chain] for chain in table_chains(self.migrations)]
        return frozenset(
            each
            for chain in found
            for at, each in enumerate(chain)
            if self.state.stages[each] is SourceStage.before and not silent.isdisjoint(chain[: at + 1])
        )

    def _is_silent(self, wanted: ChangeStop, stop: ChangeStop | None) -> bool:
        """Whether rows may come in forms of which a stop does not know. One of a change that Postgres has already may
        be missing: its rows have come, and the table is read again."""
        if stop is None:
            return self.state.stages[wanted.migration] is SourceStage.before
        return not stop.is_done and self._merged(wanted, stop) != stop

    def check(self, store: str, migration: Migration) -> None:
        """Raises Conflict where a change must not be carried out: rows behind it may be in the store, and are never
        read again."""
        stop = self._known(store, migration.id)
        if stop is None or stop.is_sure or not self.records.has_inserts_only(self._table(migration.id)):
            return
        raise Conflict(
            f"rows of {migration.table_after} from behind {migration.id} may be in {store} already, and a capture of "
            "inserted rows only does not read them again",
            hint="put these rows right there, then record the phase: `apply --phase at_lsn --by-hand`",
        )

    def is_sure(self, store: str, migration: str) -> bool:
        """Whether all rows of before a change, and no others, have come to a store by the time that its consumers stand
        there."""
        stop = self._known(store, migration)
        return stop is not None and stop.is_sure

    def doubt(self, store: str, migration: str) -> None:
        """Rows may come to a store with somebody who does not stop: those from behind a change may be there already,
        and those of before may still come. It is written down before the store is changed, whatever a kill leaves."""
        stop = self._known(store, migration)
        if stop is not None and stop.is_sure and not stop.is_done:
            self.records.doubt(store, migration)

    def lift(self, store: str, migration: str) -> None:
        """The store has carried a change out: let rows go on."""
        stop = self._known(store, migration)
        if stop is not None and not stop.is_done:
            if not stop.is_sure:
                self.records.read_again(self._table(migration))
            self.records.lift(store, migration, self.seen(migration))

    def lift_by_hand(self, store: str, migration: str) -> None:
        """Somebody has carried a change out, nobody knows when: let rows go on, and read those that are there again."""
        stop = self._known(store, migration)
        if stop is not None and not stop.is_done:
            self.records.read_again(self._table(migration))
            self.records.lift(store, migration, self.seen(migration))

    def take_back(self, store: str, migration: str, passed: Callable[[], bool]) -> None:
        """The change was taken back in a store: there is no stop any more. Rows from behind the change that still come
        would stay there under the names of before, so the table is read again unless there are none: nobody stands
        there, and every consumer has `passed` the place where Postgres was without the change."""
        stop = self._known(store, migration)
        if stop is not None:
            if migration in self.state.tables and (stop.reached or stop.is_done or not passed()):
                self.records.read_again(self._table(migration))
            self.records.forget(store, migration)

    def standing(self, migration: Migration, phase: Phase) -> frozenset[str]:
        """The consumers that stand at a change, or at a later one of its table; for what comes behind the change, those
        at a later one only."""
        chain = next(each for each in table_chains(self.migrations) if migration in each)
        at = chain.index(migration) + (phase is Phase.post)
        return self.records.standing([each.id for each in chain[at:]])

    def _known(self, store: str, migration: str) -> ChangeStop | None:
        return next((each for each in self.records.of_stores([store]) if each.migration == migration), None)

    def _table(self, migration: str) -> int:
        return self.state.tables[migration].oid

    def _wanted(self, store: MigrationStore) -> list[ChangeStop]:
        forms = change_forms(self.migrations, self.state)
        return [
            ChangeStop(
                *(store.name, each.id, forms[each.id].before, forms[each.id].after), is_sure=forms[each.id].is_sure
            )
            for each in self.migrations
            if each.id in forms and Phase.at_lsn in store.phases(each)
        ]

    def _merged(self, wanted: ChangeStop, known: ChangeStop | None) -> ChangeStop:
        """A stop as it is to be written down: once Postgres has the change, what was announced stays."""
        if known is None:
            return wanted
        if self.state.stages[wanted.migration] is SourceStage.before:
            is_same = (known.before, known.after) == (wanted.before, wanted.after)
            is_sure = wanted.is_sure and (known.is_sure or not is_same)  # a consumer may have doubted it
            return replace(known, before=wanted.before, after=wanted.after, is_sure=is_sure)
        return replace(known, after=known.after | (wanted.after - known.before))
