"""Which snapshots may expire; and that readers, however far behind, get each row once while the others go."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.flow.materialized_view import next_view_step
from penstock.lake.maintenance.snapshot_expiry import (
    ExpiryLimits,
    RequiredSnapshots,
    SnapshotHistory,
    SnapshotInfo,
    expirable_snapshots,
    unneeded_branches,
)
from penstock.lake.maintenance.squashed_snapshots import SquashLimits, next_squash
from penstock.lake.read.bindings import AppendedRows
from penstock.lake.read.history_slices import SliceLimits
from penstock.lake.tables.snapshots import Progress, Snapshot, Snapshots
from penstock.model.cursor import BatchCursor, TailCursor
from penstock.model.manifest import Binding, Source, View

NO_COUNT = 10**9


def line(*made: float, held: int = -1) -> SnapshotHistory:
    return SnapshotHistory(tuple(SnapshotInfo(number, each, number == held) for number, each in enumerate(made)))


def needs(*read: int, pinned: Iterable[int] = ()) -> RequiredSnapshots:
    return RequiredSnapshots(frozenset(read), frozenset(pinned))


def older(than: float) -> ExpiryLimits:
    return ExpiryLimits(than, NO_COUNT)


def test_what_is_needed_stays_with_all_that_follows() -> None:
    assert expirable_snapshots(line(1, 2, 3, 4), needs(), older(100)) == (0, 1, 2)
    assert expirable_snapshots(line(1, 2, 3, 4), needs(2), older(100)) == (0, 1)
    assert expirable_snapshots(line(1, 2, 3, 4), needs(3, 1), older(100)) == (0,)
    assert expirable_snapshots(line(1, 2, 3, 4), needs(3, pinned=[1]), older(100)) == (0,)
    assert expirable_snapshots(line(1, 2, 3, 4), needs(0), older(100)) == ()
    assert expirable_snapshots(line(1, 2, 3, 4, held=1), needs(), older(100)) == (0, 2)
    assert expirable_snapshots(SnapshotHistory(), needs(), older(100)) == ()


def test_a_snapshot_is_as_old_as_its_successor() -> None:
    assert expirable_snapshots(line(1, 2, 30, 40), needs(), older(10)) == (0,)
    assert expirable_snapshots(line(1, 30, 2, 40), needs(), older(10)) == (), "a clock that jumped"


def test_young_snapshots_go_too_once_they_are_many() -> None:
    young = line(*(100 + each for each in range(50)))
    assert expirable_snapshots(young, needs(), ExpiryLimits(0, 20)) == tuple(range(30))
    assert expirable_snapshots(young, needs(5), ExpiryLimits(0, 20)) == tuple(range(5))


def test_the_newest_snapshot_with_progress_stays_and_all_after_it() -> None:
    silent = [SnapshotInfo(number, number, carries=number < 3) for number in range(6)]
    assert expirable_snapshots(SnapshotHistory(tuple(silent)), needs(), older(100)) == (0, 1)


def test_what_is_beside_the_line() -> None:
    aside = (SnapshotInfo(7, 1, held=False), SnapshotInfo(8, 1, held=True), SnapshotInfo(9, 50, held=False))
    assert expirable_snapshots(SnapshotHistory((), aside), needs(), older(10)) == (7,)
    assert expirable_snapshots(SnapshotHistory((), aside), needs(7), older(10)) == ()


def test_a_base_without_progress_cannot_stand_alone() -> None:
    mute = SnapshotHistory(tuple(SnapshotInfo(number, number, carries=number != 3) for number in range(100)))
    limits = SquashLimits(begins=10, spares=2, rows=1_000)
    assert next_squash(mute, needs(3), limits) is None
    assert next_squash(mute, needs(4), limits) is not None


@dataclass
class Written:
    """A snapshot of the simulated table."""

    parent: int | None
    rows: frozenset[int]
    """The rows that it appended; none of a compaction."""
    appends: bool
    squashes: int | None = None


@dataclass
class Reader:
    """A view, its cursor, and what it has read."""

    cursor: int
    seen: list[int]
    under_way: AppendedRows | None = None
    goes_to: int = 0


@dataclass
class SimulatedTable:
    """Iceberg's metadata of a table with one branch a stuck reader, and rules that Iceberg would enforce."""

    limits: SquashLimits
    snapshots: dict[int, Written] = field(default_factory=dict)
    branches: dict[str, int] = field(default_factory=dict)
    current: int = 0
    last: int = 0
    rows: int = 0

    def commit(self, rows: int) -> None:
        self.last += 1
        new = frozenset(range(self.rows, self.rows + rows))
        self.rows += rows
        self.snapshots[self.last] = Written(self.current or None, new, appends=rows > 0)
        self.current = self.last

    def line(self) -> list[int]:
        found, at = [], self.current
        while at in self.snapshots:
            found.append(at)
            at = self.snapshots[at].parent or -1
        return found[::-1]

    def history(self) -> SnapshotHistory:
        line = self.line()

        def info(id: int) -> SnapshotInfo:
            each = self.snapshots[id]
            return SnapshotInfo(id, 0.0, parent=each.parent, squashes=each.squashes, added=len(each.rows))

        aside = tuple(info(id) for id in self.snapshots if id not in line)
        return SnapshotHistory(tuple(map(info, line)), aside, dict(self.branches))

    def known(self) -> Snapshots:
        line = self.line()

        def snapshot(id: int) -> Snapshot:
            each = self.snapshots[id]
            progress = {"landing.s": Progress(BatchCursor(id), {"s": id})}
            return Snapshot(id, each.appends, len(each.rows), progress, each.parent, each.squashes)

        aside = tuple(snapshot(id) for id in self.snapshots if id not in line)
        return Snapshots(tuple(map(snapshot, line)), detached=aside)

    def read(self, part: AppendedRows) -> list[int]:
        """As Iceberg reads a range: every snapshot of it must be there."""
        found: list[int] = []
        at: int | None = part.upto
        while at != part.after:
            assert at in self.snapshots, f"snapshot {at} of the range {part} is gone"
            found += self.snapshots[at].rows
            at = self.snapshots[at].parent
        assert at in self.snapshots, "the snapshot that a range follows has to be there"
        return found

    def tidy(self, needed: RequiredSnapshots) -> None:
        """One turn of expiry, with the decisions of the real one."""
        found = self.history()
        listed = found
        while (squash := next_squash(found, needed, self.limits)) is not None:
            self.branches.setdefault(squash.branch, squash.head)
            assert self.branches[squash.branch] == squash.head
            rows = frozenset(self.read(AppendedRows(squash.after, squash.upto)))
            self.last += 1
            self.snapshots[self.last] = Written(squash.head, rows, appends=True, squashes=squash.upto)
            self.branches[squash.branch] = self.last
            found = self.history()
        for name in unneeded_branches(listed, needed):
            del self.branches[name]
        for id in expirable_snapshots(listed, needed, ExpiryLimits(1.0, 3)):
            del self.snapshots[id]


def step(table: SimulatedTable, known: Snapshots, reader: Reader, most: int) -> None:
    view = View("v", "p", "n", "target", "", Source("x", Binding("x", "t", ())), (), (), "beginning")
    at = Progress(TailCursor(reader.cursor), {"s": 0})
    found = next_view_step(None, view, at, known, SliceLimits(most, 2**40))  # type: ignore[arg-type]
    if found is not None:
        assert isinstance(found.part, AppendedRows)
        assert isinstance(found.progress.cursor, TailCursor)
        reader.under_way, reader.goes_to = found.part, found.progress.cursor.snapshot


def finish(table: SimulatedTable, reader: Reader) -> None:
    if reader.under_way is not None:
        reader.seen += table.read(reader.under_way)
        reader.cursor, reader.under_way = reader.goes_to, None


def needed_of(readers: list[Reader]) -> RequiredSnapshots:
    pinned = frozenset(each.under_way.after for each in readers if each.under_way is not None)
    return RequiredSnapshots(frozenset(each.cursor for each in readers), pinned)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_readers_far_behind_get_each_row_once(seed: int, count: int) -> None:
    """Appends, compactions, readers that stand still for long, steps during which snapshots go, clones."""
    chance = random.Random(seed)
    table = SimulatedTable(SquashLimits(begins=chance.randint(1, 12), spares=chance.randint(1, 4), rows=20))
    table.commit(chance.randint(0, 5))
    readers = [Reader(table.current, list(range(table.rows))) for _ in range(count)]
    for _ in range(chance.randint(20, 250)):
        match chance.choices(["append", "compact", "begin", "end", "tidy", "join"], [8, 2, 2, 2, 3, 0.3])[0]:
            case "append":
                table.commit(chance.choice([1, 1, 3, 15]))
            case "compact":
                table.commit(0)
            case "begin":
                reader = chance.choice(readers[: chance.randint(1, len(readers))])  # the last ones hardly ever move
                if reader.under_way is None:
                    step(table, table.known(), reader, chance.choice([1, 10, 1_000]))
            case "end":
                finish(table, chance.choice(readers))
            case "tidy":
                table.tidy(needed_of(readers))
            case "join":
                readers.append(Reader(table.current, list(range(table.rows))))
    for reader in readers:
        finish(table, reader)
        while reader.cursor != table.current:
            step(table, table.known(), reader, 1_000)
            finish(table, reader)
        assert sorted(reader.seen) == list(range(table.rows))
    table.tidy(needed_of(readers))
    table.tidy(needed_of(readers))
    assert len(table.snapshots) <= 4, "nothing is left of what they needed"
    assert not table.branches


@pytest.mark.parametrize(("rows", "begins", "limit"), [(1, 100, 261), (0, 100, 261), (1, 10, 2 * 142 + 30)])
def test_a_reader_that_stands_still_keeps_few_snapshots(rows: int, begins: int, limit: int) -> None:
    """After n commits some n / 90, or 2 √(2n) if that is less than what begins at 10 would give: 10,000."""
    table = SimulatedTable(SquashLimits(begins=begins, spares=min(10, begins - 1), rows=10_000))
    table.commit(1)
    reader = Reader(table.current, [0])
    most = 0
    for number in range(10_000):
        table.commit(rows)
        if number % 20 == 0:
            table.tidy(needed_of([reader]))
            most = max(most, len(table.snapshots))
            assert table.known().kept_after(reader.cursor) <= most
    assert most <= limit
    while reader.cursor != table.current:
        step(table, table.known(), reader, 10**6)
        finish(table, reader)
    assert sorted(reader.seen) == list(range(table.rows))
