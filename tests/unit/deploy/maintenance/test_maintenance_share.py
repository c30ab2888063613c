"""Maintenance gives way to rows of live that wait, and never stops altogether."""

from __future__ import annotations

from dataclasses import replace

from penstock.deploy.maintenance.compaction import CompactionResults
from penstock.deploy.maintenance.maintenance_share import MOST_LAG, PARTS, MaintenanceShare, lagging_tables
from penstock.flow.lag import FlowLag
from penstock.lake.tables.snapshots import Snapshots
from penstock.model.manifest import Binding, Landing, Manifest, Source, Table, View
from penstock.model.settings import MaintenanceSettings


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_only_tables_whose_rows_wait_give_way() -> None:
    share = MaintenanceShare(lambda: {"late"}, Clock())
    share.ran(10.0)
    assert share.allows("idle")
    assert not share.allows("late")
    assert not share.allows(None)


def test_a_table_that_lags_and_what_it_reads_wait_and_no_other() -> None:
    def view(id: str, source: str, table: str) -> View:
        return View(id, "pipe", "node", table, "", Source("p", Binding(source, source, ())), ())

    chain = Manifest(
        (Table("events", ()), Table("by_user", ()), Table("total", ()), Table("by_day", ())),
        flows=(
            Landing("s", "events", "v", ()),
            view("one", "events", "by_user"),
            view("two", "by_user", "total"),
            view("three", "events", "by_day"),
        ),
    )
    lag = FlowLag("by_user", "one", "s", 0, MOST_LAG)
    assert lagging_tables(chain, [lag]) == frozenset()
    assert lagging_tables(chain, [replace(lag, head=MOST_LAG + 1)]) == {"by_user", "events"}


def test_a_table_under_a_load_that_never_ends_gets_its_part() -> None:
    clock, worked = Clock(), 0.0
    share = MaintenanceShare(lambda: {"late"}, clock)
    for _ in range(10_000):
        if share.allows("late"):
            clock.now += 10.0
            worked += 10.0
            share.ran(10.0)
        else:
            clock.now += 1.0
    part = worked / (clock.now - 1_000.0)
    assert 0.9 / PARTS <= part <= 1.1 / PARTS


def test_the_lag_is_looked_up_now_and_then_only() -> None:
    looks: list[int] = []
    clock = Clock()
    share = MaintenanceShare(lambda: looks.append(1) or {"late"}, clock)  # type: ignore[func-returns-value]
    for _ in range(1_000):
        share.allows("late")
    assert len(looks) == 1
    clock.now += 2.0
    share.allows("late")
    assert len(looks) == 2


def test_an_idle_table_is_not_looked_at_again() -> None:
    settings, results = MaintenanceSettings(), CompactionResults()
    assert not results.is_worth("t", Snapshots(files=31), settings)
    assert results.is_worth("t", Snapshots(files=32), settings)
    results.found_nothing("t", Snapshots(files=1_000))
    assert not results.is_worth("t", Snapshots(files=1_000), settings)
    assert not results.is_worth("t", Snapshots(files=1_007), settings)
    assert results.is_worth("t", Snapshots(files=1_008), settings)
    assert results.is_worth("t", Snapshots(files=900), settings), "somebody rewrote files"
    results.forget("t")
    assert results.is_worth("t", Snapshots(files=1_000), settings)
