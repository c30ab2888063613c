"""Crashes by flow: kept over restarts, gone with success or with the table, or one by one after quiet hours."""

from __future__ import annotations

import pytest

from penstock.state import crash_counts
from penstock.state.crash_counts import CrashCounts
from penstock.state.database import Database
from penstock.state.made_tables import MadeTables

FLOW, OTHER = ("t", "view"), ("u", "view")


def test_counts_outlive_the_server(database: Database) -> None:
    counts = CrashCounts(database)
    counts.record_deaths([FLOW, OTHER])
    counts.record_deaths([FLOW])
    assert counts.deaths == CrashCounts(database).deaths == {FLOW: 2, OTHER: 1}
    counts.clear(FLOW)
    assert counts.deaths == CrashCounts(database).deaths == {OTHER: 1}


def test_a_flow_is_suspected_until_a_step_of_it_succeeds(database: Database) -> None:
    counts = CrashCounts(database)
    assert not counts.is_suspected(FLOW)
    counts.record_deaths([FLOW])
    assert counts.is_suspected(FLOW)
    counts.record_success(FLOW)
    assert not counts.is_suspected(FLOW)
    assert counts.count(FLOW) == 1
    counts.record_deaths([FLOW])
    assert counts.is_suspected(FLOW)
    assert CrashCounts(database).is_suspected(FLOW)


def test_after_quiet_hours_the_count_goes_down_by_one(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = CrashCounts(database)
    counts.record_deaths([FLOW])
    counts.record_deaths([FLOW])
    counts.record_success(FLOW)
    assert counts.count(FLOW) == 2
    monkeypatch.setattr(crash_counts, "CALM_SECONDS", 0.0)
    counts.record_success(FLOW)
    assert CrashCounts(database).deaths == {FLOW: 1}
    counts.record_success(FLOW)
    counts.record_success(FLOW)
    assert CrashCounts(database).deaths == counts.deaths == {}


def test_they_go_with_their_table(database: Database) -> None:
    CrashCounts(database).record_deaths([FLOW, OTHER])
    MadeTables(database).forget(FLOW[0])
    assert CrashCounts(database).deaths == {OTHER: 1}
