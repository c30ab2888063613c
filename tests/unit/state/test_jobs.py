from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from penstock.errors import Conflict, NotFound
from penstock.state.database import Database
from penstock.state.jobs import OPEN_STATES, RANGE, Jobs

NOW = datetime(2024, 5, 1, tzinfo=timezone.utc)


@pytest.fixture
def jobs(database: Database) -> Jobs:
    return Jobs(database)


def test_the_oldest_that_is_not_over_comes_next(jobs: Jobs) -> None:
    assert jobs.open_jobs() == ()
    first, second = (jobs.create("copy", name, "t", {"day": "x"}) for name in ("a", "b"))
    assert jobs.open_jobs()[0] == first
    assert (first.state, first.parameters, first.rows, first.error) == ("waiting", {"day": "x"}, None, None)
    assert jobs.has_open_job("b")
    jobs.move(first.id, OPEN_STATES, "failed", error={"error": "why"})
    assert jobs.open_jobs() == (second,)
    done = jobs.move(second.id, OPEN_STATES, "done", rows=2**40, stream="t", deployment=7)
    assert (done.rows, done.stream, done.deployment, done.is_open) == (2**40, "t", 7, False)
    assert jobs.open_jobs() == ()
    assert not jobs.has_open_job("b")
    assert [job.id for job in jobs.recent(10)] == [second.id, first.id]
    assert jobs.get(first.id).error == {"error": "why"}


def test_a_job_moves_only_from_where_it_is(jobs: Jobs) -> None:
    made = jobs.create("copy", "a", "t", {})
    jobs.move(made.id, ("waiting",), "cancelled")
    with pytest.raises(Conflict, match="cannot change from cancelled to reading"):
        jobs.move(made.id, ("waiting", "reading"), "reading")
    with pytest.raises(NotFound):
        jobs.get(made.id + 1)


def test_one_job_for_one_time_of_a_schedule(jobs: Jobs) -> None:
    jobs.create("copy", "a", "t", {}, NOW)
    jobs.create("copy", "b", "t", {}, NOW)
    jobs.create("copy", "a", "t", {}, NOW + timedelta(minutes=1))
    with pytest.raises(Conflict):
        jobs.create("copy", "a", "t", {}, NOW)
    for _ in range(2):
        jobs.create("copy", "a", "t", {})
    assert len(jobs.recent(10)) == 5


def test_what_is_over_for_long_is_trimmed(jobs: Jobs) -> None:
    over, still = jobs.create("copy", "a", "t", {}), jobs.create("copy", "a", "t", {})
    jobs.move(over.id, OPEN_STATES, "done")
    assert jobs.trim(NOW) == 0
    assert jobs.trim(datetime.now(timezone.utc) + timedelta(seconds=1)) == 1
    assert [job.id for job in jobs.recent(10)] == [still.id]


def test_ranges_that_appended_rows_are_kept_for_ever_and_hold_no_schedule_up(jobs: Jobs) -> None:
    done, failed, waiting = (jobs.create(RANGE, "a", "t", {"day": day}) for day in ("1", "2", "3"))
    jobs.create("copy", "a", "t", {"day": "1"})
    assert jobs.ranges_of("a") == (done, failed, waiting)
    jobs.move(done.id, OPEN_STATES, "done", rows=0, stream="t", deployment=1)
    jobs.move(failed.id, OPEN_STATES, "failed", error={"error": "why"})
    later = datetime.now(timezone.utc) + timedelta(days=400)
    assert jobs.trim(later) == 1
    assert [job.id for job in jobs.ranges_of("a")] == [done.id, waiting.id]
    other = jobs.create(RANGE, "b", "t", {})
    assert (jobs.has_open_job("b"), jobs.get(other.id).is_open) == (False, True)
