"""A meeting is the first snapshot in which every flow is at the end of its history."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.flow.barrier import Barrier, barrier_snapshot, find_barrier
from penstock.lake.tables.snapshots import Progress, Snapshot, Snapshots
from penstock.model.cursor import BatchCursor, Cursor, HistoryCursor, TailCursor
from penstock.model.manifest import Binding, Landing, Manifest, Meet, Source, Table, View


def line(*moments: Mapping[str, Cursor] | None) -> Snapshots:
    """Snapshots 1, 2, … with the cursors they carry."""
    return Snapshots(
        tuple(
            Snapshot(number, True, 0, {flow: Progress(at) for flow, at in said.items()} if said is not None else None)
            for number, said in enumerate(moments, 1)
        )
    )


VIEWS = Barrier("t", ("a", "b"), (("landing.t", 0),))


def test_all_have_to_be_there() -> None:
    one: dict[str, Cursor] = {"a": TailCursor(9), "b": HistoryCursor(9, 5)}
    both: dict[str, Cursor] = {"a": TailCursor(9), "b": TailCursor(9)}
    assert barrier_snapshot(VIEWS, line(one)) is None
    assert barrier_snapshot(VIEWS, line({}, one, both, {"a": TailCursor(10), "b": TailCursor(9)})) == 3


def test_a_snapshot_that_says_nothing_is_that_before_it() -> None:
    assert barrier_snapshot(Barrier("t", ("a",), ()), line({"a": TailCursor(1)}, None)) == 1
    assert barrier_snapshot(Barrier("t", ("a",), ()), line(None, {"a": HistoryCursor(1, 1)}, None)) is None


def test_a_landing_meets_at_its_batch() -> None:
    stopped = Barrier("t", ("copy",), (("landing.s", 7),))
    copied: dict[str, Cursor] = {"copy": TailCursor(4)}
    assert barrier_snapshot(stopped, line(copied, {**copied, "landing.s": BatchCursor(6)})) is None
    assert barrier_snapshot(stopped, line(copied, {**copied, "landing.s": BatchCursor(7)})) == 2
    assert stopped.stop_batch("landing.s") == 7


def test_who_gathers() -> None:
    source = Source("__new_s__", Binding("s", "s__d1", ()))
    flows = (Landing("t", "t__d2", "v", ()), View("p.n", "p", "n", "t__d2", "SELECT 1", source, ()))
    manifest = Manifest((Table("t__d2", ()),), flows=flows, meets=(Meet("t__d2", (("t", 3),)),))
    assert find_barrier(manifest, "t__d2") == Barrier("t__d2", ("p.n",), (("landing.t", 3),))
    assert find_barrier(manifest, "s__d1") is None
