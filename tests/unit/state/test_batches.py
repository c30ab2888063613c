from __future__ import annotations

import itertools
import threading
import tracemalloc
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from penstock.errors import Conflict
from penstock.state.batch_keys import BodyKey, UsedKey
from penstock.state.batches import Batch, BatchLog
from penstock.state.database import Database, open_database
from penstock.state.schema import batches as table

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=2)))


def fill(batches: BatchLog, count: int, rows: int = 10, size: int = 100) -> None:
    for number in range(count):
        batches.append("d", f"d/{number}.ndjson", rows, size, NOW)


def test_numbers_grow_by_one_in_each_stream(database: Database) -> None:
    batches = BatchLog(database)
    fill(batches, 2)
    assert batches.append("e", "e/1.ndjson", 1, 1, NOW).number == 1
    assert batches.heads() == {"d": 2, "e": 1}
    assert (batches.head("d"), batches.head("nothing")) == (2, 0)


def test_a_batch_reads_back_equal_in_another_process(store_url: str) -> None:
    first = open_database(store_url)
    made = BatchLog(first).append("d", "d/a.ndjson", 3, 42, NOW, [BodyKey("key")])
    first.close()
    second = open_database(store_url)
    assert BatchLog(second).read_after("d", 0, 10, 1000) == (made,)
    assert BatchLog(second).keys.find("d", ["key"]) == {"key": UsedKey("key", 1, None)}
    assert made == Batch("d", 1, "d/a.ndjson", 3, 42, NOW)
    second.close()


@pytest.mark.parametrize(
    ("most_rows", "most_bytes", "upto", "numbers"),
    [
        (1000, 10000, None, [2, 3, 4, 5]),
        (20, 10000, None, [2, 3]),
        (1000, 350, None, [2, 3, 4]),
        (1, 1, None, [2]),
        (1000, 10000, 3, [2, 3]),
        (1000, 10000, 1, []),
    ],
)
def test_what_follows_is_within_the_limits_and_at_least_one(
    database: Database, most_rows: int, most_bytes: int, upto: int | None, numbers: list[int]
) -> None:
    batches = BatchLog(database)
    fill(batches, 5)
    found = batches.read_after("d", 1, most_rows, most_bytes, upto)
    assert [batch.number for batch in found] == numbers


def test_a_key_belongs_to_one_batch_of_its_stream(database: Database) -> None:
    batches = BatchLog(database)
    batches.append("d", "d/1", 1, 1, NOW, [BodyKey("k"), BodyKey("l")])
    with pytest.raises(Conflict):
        batches.append("d", "d/2", 1, 1, NOW, [BodyKey("k")])
    assert batches.head("d") == 1
    assert batches.append("e", "e/1", 1, 1, NOW, [BodyKey("k")]).number == 1
    assert batches.keys.find("d", ["unknown"]) == {}


def test_rows_between(database: Database) -> None:
    batches = BatchLog(database)
    fill(batches, 4)
    assert [batches.rows_between("d", *range_) for range_ in ((0, 4), (1, 3), (4, 4), (0, 99))] == [40, 20, 0, 40]


def test_writers_at_once_never_leave_a_gap(database: Database) -> None:
    batches = BatchLog(database)
    threads = [threading.Thread(target=fill, args=(batches, 10)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [batch.number for batch in batches.read_after("d", 0, 2**62, 2**62)] == list(range(1, 41))


def test_a_number_taken_by_another_writer_is_a_conflict(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = BatchLog(database)
    fill(batches, 1)
    # A store without a write lock for the whole transaction (Postgres) may read a head that is old.
    monkeypatch.setattr("penstock.state.batches._last_number", lambda connection, stream: 0)
    with pytest.raises(Conflict):
        fill(batches, 1)
    with database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 1


def test_a_digest_is_kept_and_a_condemned_batch_stays_so(database: Database) -> None:
    batches = BatchLog(database)
    made = batches.append("d", "d/1", 3, 42, NOW, (), "ab" * 32)
    fill(batches, 1)
    assert batches.read_after("d", 0, 100, 1000)[0] == made
    assert (made.digest, made.damage) == ("ab" * 32, None)
    condemned, now = batches.condemn(made, "damaged segment d/1: gone")
    assert (condemned, now) == (replace(made, damage="damaged segment d/1: gone"), True)
    assert batches.condemn(made, "another reason") == (condemned, False)
    assert batches.read_after("d", 0, 100, 1000)[0] == condemned
    assert batches.list_condemned(10) == (condemned,)
    assert batches.find("d", "d/1") == condemned


def test_what_the_log_names(database: Database) -> None:
    batches = BatchLog(database)
    fill(batches, 3)
    assert list(batches.logged_segments("d")) == ["d/0.ndjson", "d/1.ndjson", "d/2.ndjson"]
    assert list(batches.logged_segments("e")) == []
    assert batches.bytes_between("d", 1, 3) == 200


def test_millions_of_pending_rows_in_bounded_memory(database: Database) -> None:
    """Six million rows in 20,000 batches: what a start and a step ask of the log does not grow with it."""
    batches, count = BatchLog(database), 20_000
    made = {"stream": "d", "rows": 300, "bytes": 9_000, "received_at": NOW, "digest": "ab" * 32}
    rows = ({**made, "number": number, "segment": f"d/{number}.ndjson"} for number in range(1, count + 1))
    while lot := list(itertools.islice(rows, 2_000)):
        with database.write() as connection:
            connection.execute(sa.insert(table), lot)
    batches.read_after("d", 0, 1, 1)
    tracemalloc.start()
    assert batches.heads() == {"d": count}
    assert batches.rows_between("d", 0, count) == 300 * count
    assert len(batches.read_after("d", 17, 60_000, 2**62)) == 200
    assert len(batches.read_after("d", 0, 2**62, 2**62, 30)) == 30
    assert sum(1 for _ in batches.logged_segments("d")) == count
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 2**20, "all batches together are more than ten"


def test_many_small_batches_are_read_in_parts(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = BatchLog(database)
    fill(batches, 5, rows=1, size=1)
    monkeypatch.setattr("penstock.state.batches.MOST_BATCHES", 2)
    assert [batch.number for batch in batches.read_after("d", 0, 2**62, 2**62)] == [1, 2]
    assert [batch.number for batch in batches.read_after("d", 4, 2**62, 2**62)] == [5]


def test_trimmed_batches_can_be_passed_over(database: Database) -> None:
    batches = BatchLog(database)
    fill(batches, 5)
    batches.trim("d", 3, NOW + timedelta(days=1), 100)
    assert [batches.first_untrimmed("d", after) for after in (0, 2, 3, 4, 5)] == [4, 4, 4, 5, None]
