from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa

from penstock.errors import Conflict
from penstock.state.batches import Batch, Batches
from penstock.state.database import Database, open_database
from penstock.state.schema import batches as table

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=2)))


def fill(batches: Batches, count: int, rows: int = 10, size: int = 100) -> None:
    for number in range(count):
        batches.append("d", f"d/{number}.ndjson", rows, size, NOW)


def test_numbers_grow_by_one_in_each_stream(database: Database) -> None:
    batches = Batches(database)
    fill(batches, 2)
    assert batches.append("e", "e/1.ndjson", 1, 1, NOW).number == 1
    assert batches.heads() == {"d": 2, "e": 1}
    assert (batches.head("d"), batches.head("nothing")) == (2, 0)


def test_a_batch_reads_back_equal_in_another_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    first = open_database(url)
    made = Batches(first).append("d", "d/a.ndjson", 3, 42, NOW, ["key"])
    first.close()
    second = open_database(url)
    assert Batches(second).after("d", 0, 10, 1000) == (made,)
    assert Batches(second).with_key("d", "key") == made
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
    batches = Batches(database)
    fill(batches, 5)
    found = batches.after("d", 1, most_rows, most_bytes, upto)
    assert [batch.number for batch in found] == numbers


def test_a_key_belongs_to_one_batch_of_its_stream(database: Database) -> None:
    batches = Batches(database)
    batches.append("d", "d/1", 1, 1, NOW, ["k", "l"])
    with pytest.raises(Conflict):
        batches.append("d", "d/2", 1, 1, NOW, ["k"])
    assert batches.head("d") == 1
    assert batches.append("e", "e/1", 1, 1, NOW, ["k"]).number == 1
    assert batches.with_key("d", "unknown") is None


def test_rows_between(database: Database) -> None:
    batches = Batches(database)
    fill(batches, 4)
    assert [batches.rows_between("d", *range_) for range_ in ((0, 4), (1, 3), (4, 4), (0, 99))] == [40, 20, 0, 40]


def test_writers_at_once_never_leave_a_gap(database: Database) -> None:
    batches = Batches(database)
    threads = [threading.Thread(target=fill, args=(batches, 10)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [batch.number for batch in batches.after("d", 0, 2**62, 2**62)] == list(range(1, 41))


def test_a_number_taken_by_another_writer_is_a_conflict(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = Batches(database)
    fill(batches, 1)
    # A store without a write lock for the whole transaction (Postgres) may read a head that is old.
    monkeypatch.setattr("penstock.state.batches._head", lambda connection, stream: 0)
    with pytest.raises(Conflict):
        fill(batches, 1)
    with database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 1
