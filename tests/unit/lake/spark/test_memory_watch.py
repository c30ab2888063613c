"""When the heap stays full, the queries that have run longest end, one by one."""

from __future__ import annotations

import math
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from penstock.lake.spark import memory_watch as module
from penstock.lake.spark.memory_watch import (
    FILLING,
    FILLING_FACTOR,
    FULL,
    LEAST_REST,
    REST_AFTER_CANCEL,
    SUSPICIOUS,
    MemoryWatch,
)
from penstock.lake.spark.running_queries import RunningQueries


@dataclass
class Heap:
    """What a JVM would say."""

    old: float = 0.0
    live: float = 0.0
    scheduler: bool = True
    collections: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def old_share(self) -> float:
        return self.old

    def share_after_collection(self) -> float:
        self.collections += 1
        self.old = self.live
        return self.live

    def has_scheduler(self) -> bool:
        return self.scheduler

    def end(self, why: str) -> None:
        self.ended.set()


def test_garbage_ends_no_query_and_is_not_collected_all_the_time() -> None:
    heap, queries = Heap(old=0.95, live=FULL - 0.01), RunningQueries()
    watch = MemoryWatch(heap, queries)
    with queries.running() as query:
        for tenths in range(int(LEAST_REST * 10)):
            heap.old = FULL
            watch.look(1_000 + tenths / 10)
        assert heap.collections == 1
        watch.look(1_000 + LEAST_REST)
        assert heap.collections == 2
        assert not query.chosen.is_set()


def test_a_heap_that_is_not_suspicious_is_not_collected() -> None:
    heap = Heap(old=SUSPICIOUS - 0.01, live=SUSPICIOUS - 0.01)
    MemoryWatch(heap, RunningQueries()).look(1_000)
    assert heap.collections == 0


def test_the_longest_running_queries_end_one_by_one_until_there_is_memory() -> None:
    heap, queries = Heap(old=0.9, live=0.9), RunningQueries()
    watch = MemoryWatch(heap, queries)
    with ExitStack() as running:
        first, second, third = (running.enter_context(queries.running()) for _ in range(3))
        watch.look(1_000)
        watch.look(1_000 + REST_AFTER_CANCEL / 2)
        assert [each.chosen.is_set() for each in (first, second, third)] == [True, False, False]
        watch.look(1_000 + REST_AFTER_CANCEL)
        assert [each.chosen.is_set() for each in (first, second, third)] == [True, True, False]
        heap.live = 0.5
        heap.old = 0.9
        watch.look(1_000 + 2 * REST_AFTER_CANCEL)
        assert not third.chosen.is_set()


def test_queries_that_come_while_something_else_fills_the_heap_are_not_cancelled() -> None:
    """A step fills it, or it is too small for what Spark keeps: nobody would be answered any more."""
    heap, queries = Heap(old=0.9, live=0.9), RunningQueries()
    watch, cancelled = MemoryWatch(heap, queries), 0
    watch.look(1_000)
    for tenths in range(1, 301):
        heap.old = 0.9
        with queries.running() as query:
            watch.look(1_000 + tenths / 10)
            cancelled += query.chosen.is_set()
    assert heap.collections <= 1 + 30 / LEAST_REST
    assert cancelled == 0


@pytest.mark.parametrize("emptied", ["by the watch", "by the JVM itself"])
def test_a_heap_that_is_full_again_is_looked_at_soon(emptied: str) -> None:
    heap, queries = Heap(old=0.9, live=0.9), RunningQueries()
    watch = MemoryWatch(heap, queries)
    watch.look(1_000)
    heap.live = 0.5
    heap.old = 0.9 if emptied == "by the watch" else 0.5
    watch.look(1_000 + LEAST_REST)
    heap.old = heap.live = 0.9
    with queries.running() as first, queries.running() as second:
        watch.look(1_000 + 2 * LEAST_REST)
        watch.look(1_000 + 2 * LEAST_REST + REST_AFTER_CANCEL)
        assert first.chosen.is_set()
        assert second.chosen.is_set()


def test_a_heap_that_a_query_fills_is_looked_at_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that grows by a tenth of the heap in the rest after a collection would else end Spark."""
    live = FULL - 0.09
    heap, queries = Heap(old=0.9, live=live), RunningQueries()
    times = iter([0.0, 10.0, 0.0, 0.1, 0.1])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(times)))
    watch = MemoryWatch(heap, queries)
    with queries.running() as query:
        query.began = 0.0
        watch.look(1_000)
        soon = 1_000 + FILLING_FACTOR * 10
        heap.old = live + (1 - live) * FILLING - 0.01
        watch.look(soon)
        assert heap.collections == 1
        heap.old = heap.live = live + (1 - live) * FILLING + 0.01
        watch.look(soon - 1)
        assert heap.collections == 1
        watch.look(soon)
        assert heap.collections == 2
        assert query.chosen.is_set()


def test_a_heap_that_fills_without_a_query_is_not_collected_more_often() -> None:
    heap = Heap(old=0.9, live=0.75)
    watch = MemoryWatch(heap, RunningQueries())
    for tenths in range(int(LEAST_REST * 10)):
        heap.old = 0.95
        watch.look(1_000 + tenths / 10)
    assert heap.collections == 1


def test_without_a_query_nothing_ends() -> None:
    heap = Heap(old=0.9, live=0.9)
    watch = MemoryWatch(heap, RunningQueries())
    for second in range(20):
        watch.look(1_000 + second)
    assert heap.collections <= 20 / LEAST_REST
    assert not heap.ended.is_set()


def test_spark_without_its_scheduler_is_ended_once() -> None:
    heap = Heap(scheduler=False)
    watch = MemoryWatch(heap, RunningQueries())
    watch.start()
    assert heap.ended.wait(30)
    watch.stop()


def test_a_query_that_has_ended_is_not_chosen() -> None:
    queries = RunningQueries()
    with queries.running() as outer:
        with queries.running():
            pass
        assert queries.choose(outer.began - 1) is None
        assert queries.choose(outer.began) is outer
        assert queries.choose(math.inf) is None
    assert queries.choose(math.inf) is None
