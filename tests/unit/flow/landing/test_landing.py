"""Segments dealt out to tasks: each once, and nothing of what a table has already is offered again."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from penstock.flow.landing.landing import ROWS_PER_TASK, RawBatches, split_into_tasks
from penstock.state.batches import Batch

NOW = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))


def batch(number: int, rows: int = ROWS_PER_TASK, damage: str | None = None) -> Batch:
    return Batch("s", number, f"s/{number}.ndjson", rows, 10 * rows, NOW, "ab", damage=damage)


def test_each_segment_is_in_one_task() -> None:
    tasks = split_into_tasks(RawBatches([batch(number) for number in range(1, 8)], Path("inbox")))
    assert sorted(piece.number for task in tasks for piece in task) == list(range(1, 8))
    assert len(tasks) == 7
    assert len(split_into_tasks(RawBatches([batch(1, 1), batch(2, 1)], Path("inbox")))) == 1


def test_a_damaged_segment_that_was_taken_keeps_nothing_to_quarantine() -> None:
    raw = RawBatches([batch(1, 1, "damaged"), batch(2, 1, "damaged"), batch(3, 1)], Path("inbox"))
    [task] = split_into_tasks(raw, {1, 3})
    assert [(piece.number, piece.kept > 0) for piece in task] == [(1, False), (2, True), (3, True)]
    assert [piece.damage is None for piece in task] == [False, False, True]
    assert str(task[0].damage).endswith("the rows that fit had been stored before it was damaged")
