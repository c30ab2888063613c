"""Crashes by flow: kept over restarts, gone with success or with the table, or one by one after quiet hours."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock.state import crash_counts
from penstock.state.crash_counts import CrashCounts, QueryCrashes
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


def test_a_crash_was_lately_until_a_quiet_hour_has_gone(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = CrashCounts(database)
    assert not counts.crashed_lately(FLOW)
    counts.record_deaths([FLOW])
    assert counts.crashed_lately(FLOW)
    assert CrashCounts(database).crashed_lately(FLOW)
    monkeypatch.setattr(crash_counts, "CALM_SECONDS", 0.0)
    assert not counts.crashed_lately(FLOW)


def test_they_go_with_their_table(database: Database) -> None:
    CrashCounts(database).record_deaths([FLOW, OTHER])
    MadeTables(database).forget(FLOW[0])
    assert CrashCounts(database).deaths == {OTHER: 1}


def test_crashes_of_queries_outlive_the_server(database: Database) -> None:
    crashes = QueryCrashes(database)
    crashes.record(["a", "b"])
    crashes.record(["a"])
    crashes.record([])
    found = QueryCrashes(database)
    assert [found.count(each) for each in "abc"] == [crashes.count(each) for each in "abc"] == [2, 1, 0]
    assert found.last("a") == crashes.last("a") != found.last("b")
    crashes.clear("a")
    crashes.clear("c")
    assert [QueryCrashes(database).count(each) for each in "ab"] == [crashes.count(each) for each in "ab"] == [0, 1]


def test_crashes_of_queries_are_forgotten_a_day_later(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    QueryCrashes(database).record(["a"])
    with monkeypatch.context() as later:
        later.setattr(crash_counts, "QUERIES_KEPT_FOR", timedelta(0))
        crashes = QueryCrashes(database)
        assert crashes.count("a") == 0
        crashes.record(["b"])
    assert [QueryCrashes(database).count(each) for each in "ab"] == [crashes.count(each) for each in "ab"] == [0, 1]
