"""Stops that a killed command left behind are put right before more of them are announced."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from penstock.postgres.application.announced_stops import AnnouncedStops
from penstock.postgres.application.change_stop import ChangeStop
from penstock.postgres.application.source_state import SourceStage, SourceState
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.catalog.lsn import parse_lsn
from penstock.postgres.catalog.schema_form import table_form
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import DropColumn, Phase
from penstock.postgres.stores.migration_store import MigrationStore
from unit.postgres.application.test_change_stops import INTEGER, SWAP, TEXT, migration, table

CHANGE = migration("1", SWAP)
SEEN = "0/7"
"""Where Postgres was seen to have it."""


class Store:
    name = "store"

    def phases(self, migration: Migration) -> tuple[Phase, ...]:
        return migration.phases()


@dataclass
class Records:
    """The records of one store, in memory."""

    stops: dict[str, ChangeStop] = field(default_factory=dict)
    again: list[int] = field(default_factory=list)
    """The tables that are read again."""
    ahead: list[str] = field(default_factory=list)
    """The stops that were announced before Postgres had their changes."""
    places: list[str | None] = field(default_factory=list)
    """Where Postgres was seen to have a change whose stop was lifted."""

    def of_stores(self, names: Collection[str]) -> list[ChangeStop]:
        return [*self.stops.values()]

    def announce(self, stop: ChangeStop) -> None:
        known = self.stops.get(stop.migration, stop)
        self.stops[stop.migration] = replace(stop, is_done=known.is_done, reached=known.reached)
        self.ahead.append(stop.migration)

    def note_forms(self, stop: ChangeStop) -> None:
        self.stops[stop.migration] = stop

    def lift(self, store: str, migration: str, lsn: str | None) -> None:
        seen = None if lsn is None else parse_lsn(lsn)
        self.stops[migration] = replace(self.stops[migration], is_done=True, seen=seen)
        self.places.append(lsn)

    def forget(self, store: str, migration: str) -> None:
        del self.stops[migration]

    def read_again(self, table: int) -> None:
        self.again.append(table)


def announcements(records: Records, stage: SourceStage = SourceStage.before) -> AnnouncedStops:
    state = SourceState({"1": stage}, {"1": table(id=INTEGER, a=INTEGER, b=TEXT)}, ())
    return AnnouncedStops([CHANGE], state, cast(StopRecords, records), lambda _: SEEN)


def announced(records: Records, *, is_confirmed: bool) -> ChangeStop | None:
    """The stop, after `apply` announced it where the store has the change, or not."""
    announcements(records).announce([cast(MigrationStore, Store())], lambda *_: is_confirmed)
    return records.stops.get("1")


def test_a_stop_is_announced_once() -> None:
    records = Records()
    first = announced(records, is_confirmed=False)
    assert first is not None
    assert not first.is_done
    assert announced(records, is_confirmed=False) == first


def test_rows_of_now_are_from_before_a_change_only_while_postgres_is_without_it() -> None:
    records, store = Records(), cast(MigrationStore, Store())
    announcements(records, SourceStage.after).announce([store], lambda *_: False)
    assert ([*records.stops], records.ahead) == (["1"], [])
    records.stops.clear()
    announcements(records).announce([store], lambda *_: False)
    assert records.ahead == ["1"]


def test_a_kill_between_the_change_and_its_stop() -> None:
    records = Records()
    announced(records, is_confirmed=False)
    lifted = announced(records, is_confirmed=True)
    assert lifted is not None
    assert lifted.is_done
    assert announced(records, is_confirmed=True) == lifted
    assert records.places == [SEEN], "rows from behind it may have a form of before again"
    records.stops["1"] = replace(lifted, seen=None)  # a release of before did not note it
    assert announced(records, is_confirmed=True) == lifted
    assert announced(Records(), is_confirmed=True) is None, "nobody is to stop at a change that is over"


def test_a_later_migration_waits_until_an_earlier_stop_knows_its_forms() -> None:
    """Else rows of it would pass the stop, which knows the forms of its own change only."""
    records, store = Records(), cast(MigrationStore, Store())
    announced(records, is_confirmed=False)
    later = migration("2", DropColumn("b"))
    state = SourceState(
        {"1": SourceStage.after, "2": SourceStage.before},
        dict.fromkeys("12", table(id=INTEGER, b=INTEGER, a=TEXT)),
        (),
    )
    both = AnnouncedStops([CHANGE, later], state, cast(StopRecords, records), lambda _: SEEN)
    assert both.missing(store) == {"2"}
    both.announce([store], lambda *_: False)
    assert both.missing(store) == frozenset()
    assert table_form(table(id=INTEGER, a=TEXT)) in records.stops["1"].after


def test_a_table_is_read_again_where_rows_may_have_passed() -> None:
    """Nobody knows when somebody carried a change out by hand."""
    records = Records()
    announced(records, is_confirmed=False)
    assert announcements(records).is_sure("store", "1")
    announcements(records).lift("store", "1")
    assert (records.stops["1"].is_done, records.again) == (True, [])
    records.stops["1"] = replace(records.stops["1"], is_done=False)
    announcements(records).lift_by_hand("store", "1")
    assert (records.stops["1"].is_done, records.again, records.places) == (True, [1], [SEEN, SEEN])
    records.stops["1"] = replace(records.stops["1"], is_done=False, is_sure=False)
    announcements(records).lift("store", "1")
    assert records.again == [1, 1]


def test_a_kill_between_a_rollback_and_its_stop() -> None:
    """Rows of before go to the store again, and those behind the change wait for it once more."""
    records = Records()
    first = announced(records, is_confirmed=False)
    assert first is not None
    records.stops["1"] = replace(first, is_done=True, reached=frozenset({"capture/store"}))
    assert announced(records, is_confirmed=False) == first
    assert records.again == [1]


@pytest.mark.parametrize(
    ("reached", "passed", "again"),
    [(frozenset(), True, []), (frozenset(), False, [1]), (frozenset({"capture/store"}), True, [1])],
)
def test_rows_from_behind_a_change_that_was_taken_back(reached: frozenset[str], passed: bool, again: list[int]) -> None:
    """They would stay under the names of before; where none can come, a large table is not read for nothing."""
    records = Records()
    first = announced(records, is_confirmed=False)
    assert first is not None
    records.stops["1"] = replace(first, reached=reached)
    announcements(records).take_back("store", "1", lambda: passed)
    assert (records.stops, records.again) == ({}, again)
    announcements(records).take_back("store", "1", lambda: passed)
    assert records.again == again, "a rollback that is repeated finds no stop"
