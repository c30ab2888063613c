"""Idempotency keys are known for their retention, which passes only while a server runs, and then they go."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from penstock.state import batch_keys as module
from penstock.state.batch_keys import BatchKeys, BodyKey, UsedKey
from penstock.state.batches import BatchLog
from penstock.state.database import Database
from penstock.state.schema import batch_keys

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of the monotonic clock."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: 1000.0 + now[0])
    return now


def log(batches: BatchLog, *keys: str, digest: str | None = None) -> None:
    batches.append("s", f"s/{keys[0]}", 1, 10, NOW, [BodyKey(key, digest) for key in keys])


def known(keys: BatchKeys) -> set[str]:
    return set(keys.find("s", [f"k{number}" for number in range(2_000)]))


def test_a_key_is_known_with_its_batch_and_the_digest_of_its_body(database: Database) -> None:
    batches = BatchLog(database)
    log(batches, "k0", digest="d" * 64)
    assert batches.keys.find("s", ["k0", "k1"]) == {"k0": UsedKey("k0", 1, "d" * 64)}
    assert batches.keys.find("other", ["k0"]) == {}


def test_old_keys_go_in_lots(database: Database, clock: list[float]) -> None:
    batches = BatchLog(database)
    log(batches, *(f"k{number}" for number in range(1_200)))
    clock[0] = 100.0
    log(batches, "k1200", "k1201")
    assert batches.keys.trim(200, 1_000) == 0
    assert [batches.keys.trim(50, 1_000) for _ in range(3)] == [1_000, 200, 0]
    assert known(batches.keys) == {"k1200", "k1201"}


def test_time_without_a_server_does_not_count(database: Database, clock: list[float]) -> None:
    log(BatchLog(database), "k0")
    clock[0] = 10**6  # the next server starts long after
    after = BatchLog(database)
    assert after.keys.trim(3_600, 1_000) == 0
    clock[0] += 3_000
    log(after, "k1")
    clock[0] += 601
    assert after.keys.trim(3_600, 1_000) == 1
    assert known(after.keys) == {"k1"}


def test_a_jump_of_the_clock_changes_nothing(database: Database, clock: list[float]) -> None:
    batches = BatchLog(database)
    log(batches, "k0")
    ahead = datetime.now(timezone.utc) + timedelta(days=3)
    assert batches.keys.now < ahead
    assert batches.keys.trim(3_600, 1_000) == 0


def test_keys_that_are_held_stay(database: Database, clock: list[float]) -> None:
    batches = BatchLog(database)
    log(batches, "job 1 of 2026 part 0", "job 1_ of 2026", "job 10 of 2026 part 0", "k0")
    clock[0] = 10_000.0
    assert batches.keys.trim(3_600, 1_000, ["job 1 of 2026"]) == 3
    assert set(batches.keys.find("s", ["job 1 of 2026 part 0", "job 10 of 2026 part 0"])) == {"job 1 of 2026 part 0"}


def test_what_is_trimmed_is_found_by_the_index(database: Database) -> None:
    query = sa.select(batch_keys.c.key).where(batch_keys.c.used_at < NOW).order_by(batch_keys.c.used_at).limit(10)
    if database.url.startswith("sqlite"):
        with database.read() as connection:
            text = str(query.compile(connection, compile_kwargs={"literal_binds": False}))
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", (str(NOW), 10, 0)).all()
        assert "batch_keys_used_at" in str(plan)
