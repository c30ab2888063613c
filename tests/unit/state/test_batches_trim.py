"""Batches whose raw rows nobody needs leave the log, and numbers and keys stay true."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from penstock.state.batch_keys import BodyKey, UsedKey
from penstock.state.batches import BatchesTrimmed, BatchLog
from penstock.state.database import open_database
from penstock.state.logs.operations import Operation, OperationsLog

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def batches(tmp_path: Path) -> BatchLog:
    log = BatchLog(open_database(f"sqlite:///{tmp_path / 'state.db'}"))
    for number in range(1, 7):
        keys = (BodyKey("k"),) if number == 2 else ()
        log.append("s", f"s/{number}", 1, 10, NOW + timedelta(hours=number), keys)
    log.append("other", "other/1", 1, 10, NOW)
    return log


def numbers(batches: BatchLog, after: int) -> list[int]:
    return [each.number for each in batches.read_after("s", after, 100, 10**6)]


def test_the_oldest_go_and_are_told_once(batches: BatchLog) -> None:
    trimmed = batches.trim("s", 4, NOW + timedelta(days=1), 100)
    assert [each.segment for each in trimmed] == ["s/1", "s/2", "s/3", "s/4"]
    assert batches.trim("s", 4, NOW + timedelta(days=1), 100) == ()
    assert numbers(batches, 4) == [5, 6]
    assert batches.append("s", "s/7", 1, 10, NOW).number == 7


def test_a_table_that_needs_them_is_not_filled_with_a_part(batches: BatchLog) -> None:
    batches.trim("s", 4, NOW + timedelta(days=1), 100)
    for after in range(4):
        with pytest.raises(BatchesTrimmed, match=f"batch {after + 1} of `s`"):
            batches.read_after("s", after, 100, 10**6)


def test_a_key_outlives_the_rows_of_its_batch(batches: BatchLog) -> None:
    batches.trim("s", 4, NOW + timedelta(days=1), 100)
    assert batches.keys.find("s", ["k"]) == {"k": UsedKey("k", 2, None)}
    assert batches.first("s") == 5


def test_the_last_batch_stays_and_so_do_the_young_with_all_after_them(batches: BatchLog) -> None:
    assert [each.number for each in batches.trim("s", 100, NOW + timedelta(hours=3, minutes=1), 100)] == [1, 2, 3]
    assert [each.number for each in batches.trim("s", 100, NOW + timedelta(days=1), 100)] == [4, 5]
    assert batches.head("s") == 6
    assert numbers(batches, 5) == [6]
    assert batches.trim("other", 100, NOW + timedelta(days=1), 100) == ()


def test_a_lot_at_a_time(batches: BatchLog) -> None:
    assert [each.number for each in batches.trim("s", 5, NOW + timedelta(days=1), 2)] == [1, 2]
    assert [each.number for each in batches.trim("s", 5, NOW + timedelta(days=1), 2)] == [3, 4]


def test_what_was_condemned_stays_in_the_log(batches: BatchLog) -> None:
    batches.condemn(batches.read_after("s", 0, 1, 10)[0], "damaged")
    batches.trim("s", 4, NOW + timedelta(days=1), 100)
    assert [each.number for each in batches.list_condemned(10)] == [1]


def test_old_operations_go(tmp_path: Path) -> None:
    operations = OperationsLog(open_database(f"sqlite:///{tmp_path / 'state.db'}"))
    for hours in range(3):
        operations.log(Operation("append", f"t{hours}", timestamp=NOW + timedelta(hours=hours)))
    assert operations.trim(NOW + timedelta(hours=1)) == 1
    assert operations.trim(NOW + timedelta(hours=1)) == 0
    assert [each.datasource_name for each in operations.recent(10)] == ["t2", "t1"]
