"""Queries that ran when Spark ended run one at a time; those that end it again are refused for an hour."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa

from penstock.deploy.runtime import suspect_queries
from penstock.deploy.runtime.suspect_queries import QueryCall, RefusedQuery, SuspectQueries
from penstock.errors import InvalidQuery, Overloaded, PenstockError, Timeout
from penstock.lake.read.query_execution import OutOfMemory
from penstock.lake.spark.errors import SparkEnded, spark_ended
from penstock.state.crash_counts import QueryCrashes
from penstock.state.database import Database, open_database
from penstock.state.schema import query_crashes
from waiting import wait_until

BAD, GOOD = QueryCall(1, "SELECT everything", {}), QueryCall(1, "top", {"n": 1})


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.close()


def go_on() -> None:
    """The caller waits."""


def run(suspects: SuspectQueries, call: QueryCall, error: PenstockError | None = None) -> None:
    with suspects.running(call, go_on):
        if error is not None:
            raise error


def end_spark(database: Database, *calls: QueryCall) -> SuspectQueries:
    """What the next server knows, after Spark has ended while these ran at once."""
    suspects = SuspectQueries(QueryCrashes(database))
    begun = threading.Barrier(len(calls) + 1)

    def end(call: QueryCall) -> None:
        with suppress(PenstockError), suspects.running(call, go_on):
            begun.wait(60)
            raise spark_ended()

    threads = [threading.Thread(target=end, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    begun.wait(60)
    for thread in threads:
        thread.join()
    run(suspects, QueryCall(1, "it comes later, while Spark is gone", {}))
    suspects.record_crash()
    return SuspectQueries(QueryCrashes(database))


def test_a_call_that_ends_spark_twice_is_refused(database: Database) -> None:
    run(end_spark(database, BAD), GOOD)
    suspects = end_spark(database, BAD)
    with pytest.raises(RefusedQuery, match="refused until"):
        run(suspects, BAD)
    run(suspects, QueryCall(2, BAD.asked, BAD.parameters))
    run(suspects, QueryCall(1, BAD.asked, {"n": 2}))
    run(suspects, GOOD)


def test_after_an_hour_it_may_run_once_more(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    end_spark(database, BAD)
    end_spark(database, BAD)
    with monkeypatch.context() as later:
        later.setattr(suspect_queries, "REFUSED_FOR", timedelta(0))
        suspects = end_spark(database, BAD)
    with pytest.raises(RefusedQuery):
        run(suspects, BAD)


@pytest.mark.parametrize("error", [None, InvalidQuery("no such column", [])])
def test_one_that_ran_beside_it_is_cleared_by_its_next_run(database: Database, error: PenstockError | None) -> None:
    suspects = end_spark(database, BAD, GOOD)
    with suppress(InvalidQuery):
        run(suspects, GOOD, error)
    run(end_spark(database, BAD, GOOD), GOOD)


def test_one_that_was_cancelled_shortly_before_is_suspected(database: Database) -> None:
    """Its task goes on, and Spark is ended for it."""
    for _ in range(2):
        suspects = SuspectQueries(QueryCrashes(database))
        with suppress(Timeout):
            run(suspects, BAD, Timeout("the query took too long"))
        suspects.record_crash()
    with pytest.raises(RefusedQuery):
        run(SuspectQueries(QueryCrashes(database)), BAD)


def test_one_that_began_after_spark_had_ended_is_not_suspected(database: Database) -> None:
    suspects = SuspectQueries(QueryCrashes(database))
    with suppress(PenstockError):
        run(suspects, BAD, spark_ended())
    with suppress(PenstockError):
        run(suspects, GOOD, spark_ended())
    suspects.record_crash()
    crashes = QueryCrashes(database)
    assert (crashes.count(BAD.digest), crashes.count(GOOD.digest)) == (1, 0)


def test_suspects_run_one_at_a_time_beside_all_others(database: Database) -> None:
    suspects = end_spark(database, BAD, GOOD)
    asked, checks = threading.Event(), list[int]()

    def wait_for_turn() -> None:
        with suspects.running(GOOD, lambda: checks.append(1)):
            asked.set()

    with suspects.running(BAD, go_on):
        waiting = threading.Thread(target=wait_for_turn)
        waiting.start()
        wait_until(lambda: len(checks) > 1)
        run(suspects, QueryCall(1, "SELECT 1", {}))
        assert not asked.is_set()
    waiting.join(60)
    assert asked.is_set()


def test_a_suspect_waits_no_longer_than_its_caller(database: Database) -> None:
    suspects = end_spark(database, BAD, GOOD)

    def give_up() -> None:
        raise Timeout("the query took too long")

    with suspects.running(BAD, go_on), pytest.raises(Timeout), suspects.running(GOOD, give_up):
        pass


def test_after_a_suspect_was_cancelled_the_next_waits_until_its_task_has_ended(database: Database) -> None:
    """Else Spark, which is ended for that task, would end while an innocent one runs."""
    suspects, checks = end_spark(database, BAD, GOOD), list[int]()
    with suppress(OutOfMemory):
        run(suspects, BAD, OutOfMemory("it was cancelled"))

    def give_up() -> None:
        checks.append(1)
        if len(checks) == 2:
            raise Timeout("the query took too long")

    with pytest.raises(Timeout), suspects.running(GOOD, give_up):
        pass


def test_what_waits_when_spark_ends_is_told_so(database: Database) -> None:
    """The server restarts some seconds later, and would cut it off."""
    suspects, waiting, told = end_spark(database, BAD, GOOD), threading.Event(), list[SparkEnded]()

    def wait_for_turn() -> None:
        try:
            with suspects.running(GOOD, waiting.set):
                pass
        except SparkEnded as error:
            told.append(error)

    with suspects.running(BAD, go_on):
        waiter = threading.Thread(target=wait_for_turn, daemon=True)
        waiter.start()
        assert waiting.wait(60)
        suspects.record_crash()
        waiter.join(60)
        assert len(told) == 1
    assert QueryCrashes(database).count(GOOD.digest) == 1, "it did not run"


def test_suspects_that_wait_hold_few_threads(database: Database) -> None:
    suspects, waits = end_spark(database, BAD, GOOD), threading.Event()

    def wait_for_turn() -> None:
        with suspects.running(GOOD, waits.set, 1):
            pass

    with suspects.running(BAD, go_on, 1):
        waiter = threading.Thread(target=wait_for_turn)
        waiter.start()
        assert waits.wait(60)
        with pytest.raises(Overloaded), suspects.running(GOOD, go_on, 1):
            pass
    waiter.join(60)
    with suspects.running(GOOD, go_on, 0):
        pass


def test_a_long_suspect_does_not_keep_the_others_waiting(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy may run for hours."""
    suspects = end_spark(database, BAD, GOOD)
    monkeypatch.setattr(suspect_queries, "TURN_SECONDS", 0.0)

    def give_up() -> None:
        raise Timeout("the query took too long")

    with suspects.running(BAD, give_up):
        with suspects.running(GOOD, give_up):
            pass
        assert QueryCrashes(database).count(GOOD.digest) == 0


def test_an_answer_does_not_fail_because_the_store_is_away(database: Database) -> None:
    suspects = end_spark(database, GOOD)
    with database.write() as connection:
        connection.execute(sa.DDL(f"ALTER TABLE {query_crashes.name} RENAME TO away"))
    run(suspects, GOOD)
    run(suspects, GOOD)


def test_a_clock_that_was_ahead_refuses_nothing_for_days(database: Database) -> None:
    ahead = datetime.now(timezone.utc) + timedelta(hours=10)
    with database.write() as connection:
        connection.execute(sa.insert(query_crashes).values(digest=BAD.digest, crashes=2, last_at=ahead))
    suspects = end_spark(database, GOOD)
    run(suspects, BAD)


def test_calls_that_were_cancelled_long_ago_are_not_kept(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a text of up to a million characters."""
    monkeypatch.setattr(suspect_queries, "LINGER_SECONDS", -1.0)
    suspects = SuspectQueries(QueryCrashes(database))
    for number in range(3):
        with suppress(Timeout):
            run(suspects, QueryCall(1, f"SELECT {number}", {}), Timeout("the query took too long"))
    assert len(suspects._ended) == 1
