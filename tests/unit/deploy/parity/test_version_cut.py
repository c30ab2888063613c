from __future__ import annotations

from penstock.deploy.parity.version_cut import has_passed
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor, TailCursor

PROGRESS = {"landing.a": Progress(BatchCursor(7), {"a": 7}), "view.b": Progress(TailCursor(1), {"a": 6, "b": 3})}


def test_a_table_with_a_later_batch_of_any_stream_is_not_at_the_cut() -> None:
    assert not has_passed(PROGRESS, {"a": 7, "b": 3})
    assert not has_passed(PROGRESS, {"a": 9, "b": 3, "c": 1})
    assert has_passed(PROGRESS, {"a": 6, "b": 3})
    assert has_passed(PROGRESS, {"a": 7, "b": 2})
    assert has_passed(PROGRESS, {"a": 7}), "a stream that had no batch at the cut"
    assert not has_passed({}, {})
