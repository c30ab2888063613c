"""The flows that may have something to do, in the order in which they are looked at.

In: the flows, and what happens: a batch arrived, a table changed, a time has come. Out: the next flow to look at.
Invariant: no call costs more because there are more flows; a flow for which something happened is looked at once more,
even if it is looked at just then. Views whose source has new rows come first, since these are on their way already,
then those whose last step is longest ago. Not thread-safe: the scheduler holds its lock.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from penstock.flow.landing.landing import LandingTable
from penstock.flow.work_items import PRIORITY, WorkItem
from penstock.model.manifest import View

WorkKey: TypeAlias = tuple[str, str]
"""A table and a flow into it."""
URGENT, OTHERS = 0, 1
"""The flows of the live and the previous version, and those of the others."""


Rank: TypeAlias = tuple[bool, int]
"""False for a view whose source has new rows, which comes first; and the number of its last step."""


class _Ready:
    """The flows of a group to look at, by rank. Of those with the same rank the first that came is first."""

    def __init__(self) -> None:
        self._order: list[tuple[Rank, int, WorkKey]] = []
        self._ranks: dict[WorkKey, Rank] = {}
        self._arrivals = itertools.count()

    def add(self, key: WorkKey, rank: Rank) -> None:
        """Without effect if the flow is in it already with this rank or a better one."""
        known = self._ranks.get(key)
        if known is None or rank < known:
            self._ranks[key] = rank
            heapq.heappush(self._order, (rank, next(self._arrivals), key))

    def take(self) -> WorkKey | None:
        while self._order:
            rank, _, key = heapq.heappop(self._order)
            if self._ranks.get(key) == rank:  # else it came in again with a better one
                del self._ranks[key]
                return key
        return None


class WorkQueue:
    """Queues of flows, one for each of the two groups.

    By the last step, not by the arrival: a flow has mostly asked for another look after its last step, so by arrival a
    view whose source was just stepped would wait for all the others, at each level of a chain of views. A view that was
    given rows comes before all that were not: each step of a landing or a history gives rows to finitely many views, so
    nothing is passed over for ever.
    """

    def __init__(self) -> None:
        self.items: Mapping[WorkKey, WorkItem] = {}
        self._by_table: dict[str, list[WorkKey]] = {}
        self._by_stream: dict[str, list[WorkKey]] = {}
        self._readers: dict[str, list[WorkKey]] = {}
        self._given_rows: set[WorkKey] = set()
        """Views whose source has changed since their last step began."""
        self._ready = {URGENT: _Ready(), OTHERS: _Ready()}
        self._last_steps: dict[WorkKey, int] = {}
        self._steps = itertools.count(1)
        # Dicts are used as ordered sets.
        self._aside: dict[str, dict[WorkKey, None]] = {}
        self._times: list[tuple[float, WorkKey]] = []
        self._due: dict[WorkKey, float] = {}

    def assign(self, work: Sequence[WorkItem]) -> None:
        """Have these flows and no others from now on, and look at all of them."""
        self.items = {each.key: each for each in work}
        self._by_table, self._by_stream, self._readers = {}, {}, {}
        for item in work:
            for table in dict.fromkeys(item.tables):
                self._by_table.setdefault(table, []).append(item.key)
            if isinstance(item.run, LandingTable):
                self._by_stream.setdefault(item.run.stream, []).append(item.key)
            if isinstance(item.run, View):
                self._readers.setdefault(item.run.trigger.binding.table, []).append(item.key)
        self._ready = {URGENT: _Ready(), OTHERS: _Ready()}
        self._last_steps = {key: last for key, last in self._last_steps.items() if key in self.items}
        self._given_rows &= self.items.keys()
        self._aside, self._times, self._due = {}, [], {}
        self.add(self.items)

    def add(self, keys: Iterable[WorkKey]) -> None:
        """Look at these flows."""
        for key in keys:
            item = self.items.get(key)
            if item is not None:
                self._ready[_group(item)].add(key, (key not in self._given_rows, self._last_steps.get(key, 0)))

    def step_began(self, key: WorkKey) -> None:
        """From its next `add` on, the flow comes after those that were stepped before."""
        if key in self.items:
            self._last_steps[key] = next(self._steps)
            self._given_rows.discard(key)

    def add_all(self) -> None:
        self.add(self.items)

    def table_changed(self, table: str) -> None:
        """Look at the flows that write or read a table, the views of it first."""
        self._given_rows.update(self._readers.get(table, ()))
        self.add(self._by_table.get(table, ()))

    def batch_arrived(self, stream: str) -> None:
        """Look at the landings of a stream."""
        self.add(self._by_stream.get(stream, ()))

    def add_at(self, key: WorkKey, at: float) -> None:
        """Look at a flow at a time of the monotonic clock, or before if something happens."""
        if at < self._due.get(key, float("inf")):
            self._due[key] = at
            heapq.heappush(self._times, (at, key))

    def table_freed(self, table: str) -> None:
        """Look at the flows that were put aside because the table was in use."""
        self.add(self._aside.pop(table, ()))

    def next_time(self) -> float | None:
        """The earliest time given to `add_at` that has not come yet."""
        return self._times[0][0] if self._times else None

    def take(self, groups: Sequence[int], is_free: Callable[[str], bool], now: float) -> WorkItem | None:
        """Remove and return the first flow of the first group that has one whose table is free."""
        self._add_due(now)
        for group in groups:
            while (key := self._ready[group].take()) is not None:
                item = self.items[key]
                if is_free(item.table):
                    return item
                self._aside.setdefault(item.table, {}).setdefault(key)
        return None

    def _add_due(self, now: float) -> None:
        while self._times and self._times[0][0] <= now:
            at, key = heapq.heappop(self._times)
            if self._due.get(key) == at:
                del self._due[key]
                self.add([key])


def _group(item: WorkItem) -> int:
    return URGENT if item.priority <= PRIORITY["previous"] else OTHERS
