"""Stops that a killed command left behind are put right before more of them are announced."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import cast

from penstock.postgres.application.announced_stops import AnnouncedStops
from penstock.postgres.application.change_stop import ChangeStop
from penstock.postgres.application.source_state import SourceStage, SourceState
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.migration_store import MigrationStore
from unit.postgres.application.test_change_stops import INTEGER, SWAP, TEXT, migration, table

CHANGE = migration("1", SWAP)


class Store:
    name = "store"

    def phases(self, migration: Migration) -> tuple[Phase, ...]:
        return migration.phases()


@dataclass
class Records:
    """The records of one store, in memory."""

    stops: dict[str, ChangeStop] = field(default_factory=dict)

    def of_stores(self, names: Collection[str]) -> list[ChangeStop]:
        return [*self.stops.values()]

    def announce(self, stop: ChangeStop) -> None:
        known = self.stops.get(stop.migration, stop)
        self.stops[stop.migration] = replace(stop, is_done=known.is_done, reached=known.reached)

    def lift(self, store: str, migration: str) -> None:
        self.stops[migration] = replace(self.stops[migration], is_done=True)

    def forget(self, store: str, migration: str) -> None:
        del self.stops[migration]


def announced(records: Records, *, is_confirmed: bool) -> ChangeStop | None:
    """The stop, after `apply` announced it where the store has the change, or not."""
    state = SourceState({"1": SourceStage.before}, {"1": table(id=INTEGER, a=INTEGER, b=TEXT)}, ())
    stops = AnnouncedStops([CHANGE], state, cast(StopRecords, records))
    stops.announce([cast(MigrationStore, Store())], lambda *_: is_confirmed)
    return records.stops.get("1")


def test_a_stop_is_announced_once() -> None:
    records = Records()
    first = announced(records, is_confirmed=False)
    assert first is not None
    assert not first.is_done
    assert announced(records, is_confirmed=False) == first


def test_a_kill_between_the_change_and_its_stop() -> None:
    records = Records()
    announced(records, is_confirmed=False)
    lifted = announced(records, is_confirmed=True)
    assert lifted is not None
    assert lifted.is_done
    assert announced(records, is_confirmed=True) == lifted
    assert announced(Records(), is_confirmed=True) is None, "nobody is to stop at a change that is over"


def test_a_kill_between_a_rollback_and_its_stop() -> None:
    """Rows of before go to the store again, and those behind the change wait for it once more."""
    records = Records()
    first = announced(records, is_confirmed=False)
    assert first is not None
    records.stops["1"] = replace(first, is_done=True, reached=frozenset({"capture/store"}))
    assert announced(records, is_confirmed=False) == first
