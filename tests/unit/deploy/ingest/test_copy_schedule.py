from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from penstock.deploy.ingest import copy_schedule as module
from penstock.deploy.ingest.copy_schedule import CopySchedule, RunSchedule
from penstock.state.database import open_database
from penstock.state.jobs import OPEN_STATES, Jobs

START = datetime(2024, 5, 1, 10, 4, 30, tzinfo=timezone.utc)


class Clock(datetime):
    """Stands still until it is moved."""

    time = START

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return cls.time


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    Clock.time = START
    monkeypatch.setattr(module, "datetime", Clock)
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield Jobs(database)
    database.close()


def copy(schedule: str | None) -> RunSchedule:
    return RunSchedule("copy", "target", schedule)


def after(plan: CopySchedule, minutes: float) -> None:
    Clock.time += timedelta(minutes=minutes)
    plan.run_once()


def due(jobs: Jobs) -> list[tuple[str, str]]:
    """Oldest first."""
    return [(job.pipe, job.due_at.strftime("%H:%M")) for job in reversed(jobs.recent(99)) if job.due_at is not None]


def over(jobs: Jobs) -> None:
    for job in jobs.open_jobs():
        jobs.move(job.id, OPEN_STATES, "done")


def test_each_time_has_one_job_also_after_a_restart(jobs: Jobs) -> None:
    copies = {"often": copy("*/5 * * * *"), "on_demand": copy(None), "never_yet": copy("0 0 1 1 *")}
    plan = CopySchedule(jobs, lambda: copies)
    plan.run_once()
    assert due(jobs) == []
    after(plan, 1)
    after(plan, 0.1)
    assert due(jobs) == [("often", "10:05")]
    over(jobs)
    again = CopySchedule(jobs, lambda: copies)
    again._due = {("often", "*/5 * * * *"): datetime(2024, 5, 1, 10, 5, tzinfo=timezone.utc)}
    again.run_once()
    assert due(jobs) == [("often", "10:05")]
    after(again, 5)
    assert due(jobs) == [("often", "10:05"), ("often", "10:10")]


def test_times_that_passed_unseen_are_one_and_a_copy_that_is_not_over_is_left_out(jobs: Jobs) -> None:
    plan = CopySchedule(jobs, lambda: {"a": copy("* * * * *")})
    plan.run_once()
    after(plan, 30)
    assert due(jobs) == [("a", "10:05")]
    after(plan, 1)
    assert due(jobs) == [("a", "10:05")]
    over(jobs)
    after(plan, 1)
    assert due(jobs) == [("a", "10:05"), ("a", "10:36")]


def test_a_changed_or_removed_schedule_holds_from_then_on(jobs: Jobs) -> None:
    copies = {"a": copy("5 10 * * *")}
    plan = CopySchedule(jobs, lambda: copies)
    plan.run_once()
    copies["a"] = copy("7 10 * * *")
    after(plan, 1)
    assert due(jobs) == []
    after(plan, 2)
    assert due(jobs) == [("a", "10:07")]
    over(jobs)
    copies.clear()
    after(plan, 24 * 60)
    assert len(due(jobs)) == 1
