"""The scheduler with flows in memory: all is stepped, one step a table, reservations are granted, nothing hangs."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from flow_values import landing_item, view_item
from penstock.errors import Unavailable
from penstock.flow.failing_rows import RetryLater
from penstock.flow.scheduler import FlowFailure, Scheduler, SchedulerCallbacks, SchedulerLimits
from penstock.flow.work_items import WorkItem
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.model.manifest import View
from waiting import wait_until


class MemoryFlows:
    """Streams and tables that are only counts: a landing moves its stream's count into its table, a view its source's.
    `busy` flows have always something to do."""

    def __init__(self) -> None:
        self.heads: Counter[str] = Counter()
        self.tables: Counter[str] = Counter()
        self.steps: Counter[str] = Counter()
        self.looks: Counter[str] = Counter()
        self.writing: Counter[str] = Counter()
        self.busy: set[str] = set()
        self.broken: set[str] = set()
        self.error: Exception = ZeroDivisionError()
        self.away = False
        self.hanging: dict[str, threading.Event] = {}
        self.doubly_written: list[str] = []
        self.on_change: Callable[[str], None] = lambda table: None
        self._guard = threading.Lock()

    def join_pool(self, pool: str) -> None:
        pass

    def seconds_until_due(self, work: WorkItem) -> float | None:
        self.looks[work.table] += 1
        if self.away:
            raise ConnectionError("the catalog is away")
        if work.table in self.hanging:
            self.hanging[work.table].wait(60)
        return 0.0 if work.table in self.busy or self.tables[work.table] < self._available(work) else None

    def step(self, work: WorkItem, failures: int = 0, seconds: float | None = None) -> None:
        with self._guard:
            self.writing[work.table] += 1
            if self.writing[work.table] > 1:
                self.doubly_written.append(work.table)
        if work.table in self.broken:
            with self._guard:
                self.writing[work.table] -= 1
            raise self.error
        with self._guard:
            self.tables[work.table] = self._available(work)
            self.steps[work.table] += 1
            self.writing[work.table] -= 1
        self.on_change(work.table)

    def recover(self, work: WorkItem) -> None:
        pass

    def _available(self, work: WorkItem) -> int:
        source = work.tables[1] if work.flow.startswith("view") else None
        return self.tables[source] if source is not None else self.heads[work.table]


@contextmanager
def running(flows: MemoryFlows, *work: WorkItem, live_steps: int = 2) -> Iterator[Scheduler]:
    callbacks = SchedulerCallbacks(lambda split: None, lambda work: False)
    scheduler = Scheduler(flows, str, callbacks, SchedulerLimits(live_steps, 30.0))
    flows.on_change = scheduler.table_changed
    scheduler.assign(work)
    scheduler.start()
    try:
        yield scheduler
    finally:
        for event in flows.hanging.values():
            event.set()
        flows.busy.clear()
        scheduler.stop()
        assert flows.doubly_written == []


def post(flows: MemoryFlows, scheduler: Scheduler, stream: str) -> None:
    flows.heads[stream] += 1
    scheduler.batch_arrived(stream)


@pytest.mark.parametrize("live_steps", [2, 5])
def test_every_batch_goes_through_every_table(live_steps: int) -> None:
    flows = MemoryFlows()
    work = [each for n in range(20) for each in (landing_item(f"s{n}"), view_item(f"s{n}", f"v{n}"))]
    with running(flows, *work, live_steps=live_steps) as scheduler:
        for number in range(200):
            post(flows, scheduler, f"s{number % 20}")
        assert scheduler.wait(lambda: all(flows.tables[f"v{n}"] == 10 for n in range(20)), 60)


@pytest.mark.parametrize("wanted", [["t0"], ["t1", "t3", "t5"], [f"t{n}" for n in range(6)]])
def test_a_reservation_is_granted_however_busy_the_tables_are(wanted: list[str]) -> None:
    flows = MemoryFlows()
    flows.busy = {f"t{n}" for n in range(6)}
    with running(flows, *(landing_item(f"t{n}") for n in range(6))) as scheduler:
        wait_until(lambda: all(flows.steps[f"t{n}"] > 10 for n in range(6)))
        granted = threading.Event()

        def hold() -> None:
            with scheduler.exclusive(wanted):
                before = {table: flows.steps[table] for table in wanted}
                others = {table: flows.steps[table] for table in flows.busy - set(wanted)}
                wait_until(lambda: all(flows.steps[table] > count for table, count in others.items()))
                assert {table: flows.steps[table] for table in wanted} == before
                granted.set()

        holders = [threading.Thread(target=hold) for _ in range(4)]
        for each in holders:
            each.start()
        assert granted.wait(30)
        for each in holders:
            each.join(30)
        now = {table: flows.steps[table] for table in wanted}
        wait_until(lambda: all(flows.steps[table] > count for table, count in now.items()))


def test_a_catalog_that_hangs_stops_neither_arrivals_nor_other_flows() -> None:
    flows = MemoryFlows()
    flows.hanging["stuck"] = threading.Event()
    with running(flows, landing_item("stuck"), landing_item("s")) as scheduler:
        wait_until(lambda: flows.looks["stuck"] == 1)
        post(flows, scheduler, "stuck")
        post(flows, scheduler, "s")
        assert scheduler.wait(lambda: flows.tables["s"] == 1, 30, ["s"])
        flows.hanging.pop("stuck").set()
        assert scheduler.wait(lambda: flows.tables["stuck"] == 1, 30, ["stuck"])


def test_a_waiter_that_hangs_stops_nothing() -> None:
    flows, hangs = MemoryFlows(), threading.Event()
    with running(flows, landing_item("s")) as scheduler:
        waiter = threading.Thread(target=lambda: scheduler.wait(lambda: hangs.wait(60), 60, ["s"]))
        waiter.start()
        for number in range(1, 20):
            post(flows, scheduler, "s")
            assert scheduler.wait(lambda number=number: flows.tables["s"] == number, 30, ["s"])  # type: ignore[misc]
        hangs.set()
        waiter.join(30)


def test_a_waiter_is_asked_when_its_tables_moved_and_not_for_others() -> None:
    flows, asked = MemoryFlows(), Counter[str]()
    with running(flows, landing_item("s"), landing_item("quiet")) as scheduler:

        def is_there(table: str, count: int) -> bool:
            asked[table] += 1
            return flows.tables[table] >= count

        quiet = threading.Thread(target=lambda: scheduler.wait(lambda: is_there("quiet", 1), 60, ["quiet"]))
        quiet.start()
        wait_until(lambda: asked["quiet"] > 0)
        before = asked["quiet"]
        for number in range(1, 200):
            post(flows, scheduler, "s")
            assert scheduler.wait(lambda number=number: is_there("s", number), 30, ["s"])  # type: ignore[misc]
        assert asked["quiet"] - before < 20, "asked only every few seconds while nothing happens to its table"
        post(flows, scheduler, "quiet")
        quiet.join(30)
        assert not quiet.is_alive()


def test_an_arrival_looks_at_its_flow_and_not_at_a_thousand_others() -> None:
    flows = MemoryFlows()
    with running(flows, *(landing_item(f"s{n}") for n in range(1_000))) as scheduler:
        wait_until(lambda: len(flows.looks) == 1_000)
        looks = sum(flows.looks.values())
        for number in range(1, 101):
            post(flows, scheduler, "s1")
            assert scheduler.wait(lambda number=number: flows.tables["s1"] == number, 30, ["s1"])  # type: ignore[misc]
        assert sum(flows.looks.values()) - looks < 100 * 1_000 / 2


def test_a_failing_flow_is_tried_again_later_and_others_go_on() -> None:
    flows = MemoryFlows()
    flows.broken = {"bad"}
    with running(flows, landing_item("bad"), landing_item("good")) as scheduler:
        post(flows, scheduler, "bad")
        wait_until(lambda: scheduler.failures)
        for number in range(1, 50):
            post(flows, scheduler, "bad")
            post(flows, scheduler, "good")
            assert scheduler.wait(lambda number=number: flows.tables["good"] == number, 30)  # type: ignore[misc]
        assert scheduler.failures["bad", "landing.bad"].attempts < 10
        flows.broken = set()
        assert scheduler.wait(lambda: flows.tables["bad"] == 50, 30)
        wait_until(lambda: not scheduler.failures)


@pytest.mark.parametrize(
    ("error", "hint"),
    [(DamagedTable("bad", "it is empty"), "put the file back"), (Unavailable("away", hint="wait"), None)],
)
def test_a_failure_says_what_to_do_if_its_error_does(error: Exception, hint: str | None) -> None:
    flows = MemoryFlows()
    flows.broken, flows.error = {"bad"}, error
    with running(flows, landing_item("bad")) as scheduler:
        post(flows, scheduler, "bad")
        wait_until(lambda: scheduler.failures)
        found = scheduler.failures["bad", "landing.bad"].hint
        assert found is None if hint is None else hint in (found or "")


def test_slow_steps_hold_up_no_others_and_quick_ones_are_few_at_a_time() -> None:
    flows = MemoryFlows()
    slow = [landing_item(f"slow{number}") for number in range(4)]
    for item in slow:
        flows.hanging[item.table] = threading.Event()
    with running(flows, *slow, landing_item("quick")) as scheduler:
        wait_until(lambda: sum(flows.looks[item.table] for item in slow) >= 2)
        flows.heads["quick"] = 1
        scheduler.batch_arrived("quick")
        wait_until(lambda: flows.tables["quick"] == 1)


def test_after_an_outage_rows_do_not_wait_for_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that double would be of minutes after so many looks; and a flow without new rows is not failing."""
    monkeypatch.setattr("penstock.flow.scheduler.LOOK_SECONDS", 0.05)
    flows = MemoryFlows()
    with running(flows, landing_item("s"), landing_item("idle")) as scheduler:
        flows.away = True
        wait_until(lambda: len(scheduler.failures) == 2)
        wait_until(lambda: min(each.attempts for each in scheduler.failures.values()) >= 12)
        flows.away = False
        post(flows, scheduler, "s")
        assert scheduler.wait(lambda: flows.tables["s"] == 1, 30, ["s"])
        wait_until(lambda: not scheduler.failures)


def test_flows_of_a_table_that_a_worker_fills_wait_until_it_is_given_back() -> None:
    flows = MemoryFlows()
    with running(flows, landing_item("s")) as scheduler:
        scheduler.exclude(["s"])
        post(flows, scheduler, "s")
        scheduler.report(("s", "landing.s"), FlowFailure("out of memory", 1, 0.0))
        assert not scheduler.wait(lambda: flows.tables["s"] > 0, 0.2, ["s"])
        scheduler.exclude([])
        assert scheduler.wait(lambda: flows.tables["s"] == 1, 30, ["s"])


def test_work_of_staging_never_takes_the_last_thread_of_live() -> None:
    flows = MemoryFlows()
    staging = [f"staging{n}" for n in range(8)]
    flows.hanging = {table: threading.Event() for table in staging}
    with running(flows, landing_item("s"), *(landing_item(table, priority=3) for table in staging)) as scheduler:
        wait_until(lambda: sum(flows.looks[table] for table in staging) == 2)
        for number in range(1, 20):
            post(flows, scheduler, "s")
            assert scheduler.wait(lambda number=number: flows.tables["s"] == number, 30, ["s"])  # type: ignore[misc]


def test_no_thread_ends_when_what_follows_a_step_fails_too() -> None:
    """Each thread that ended would be missing until the restart: in the end live stops."""
    flows = MemoryFlows()
    broken = [f"broken{n}" for n in range(6)]
    flows.broken = set(broken)

    def explain(error: Exception) -> str:
        raise RuntimeError("the error has no text")

    callbacks = SchedulerCallbacks(lambda split: None, lambda work: False)
    scheduler = Scheduler(flows, explain, callbacks, SchedulerLimits(2, 30.0))
    scheduler.assign([landing_item("s"), *(landing_item(table) for table in broken)])
    scheduler.start()
    try:
        for table in broken:
            post(flows, scheduler, table)
        wait_until(lambda: all(flows.looks[table] > 0 for table in broken))
        post(flows, scheduler, "s")
        assert scheduler.wait(lambda: flows.tables["s"] == 1, 30, ["s"])
        flows.broken = set()
        scheduler.wake()
        assert scheduler.wait(lambda: all(flows.tables[table] == 1 for table in broken), 30)
    finally:
        scheduler.stop()


class CutFlows(MemoryFlows):
    """Steps end as Spark's process does: all that run are cut off, and those that begin later are refused."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = threading.Barrier(3)
        self.ended = threading.Event()

    def step(self, work: WorkItem, failures: int = 0, seconds: float | None = None) -> None:
        if self.ended.is_set():
            raise ConnectionRefusedError("Spark is not there")
        self.inside.wait(30)
        self.ended.wait(30)
        raise EOFError("Answer from Java side is empty")


def test_the_steps_that_spark_cut_off_are_known(caplog: pytest.LogCaptureFixture) -> None:
    flows = CutFlows()
    flows.busy = {"a", "b"}
    with running(flows, landing_item("a"), landing_item("b"), landing_item("late"), live_steps=4) as scheduler:
        flows.inside.wait(30)
        assert {work.table for work in scheduler.running_when_spark_ended} == {"a", "b"}
        flows.ended.set()
        wait_until(lambda: {table for table, _ in scheduler.failures} == {"a", "b"})
        flows.busy.add("late")
        scheduler.wake()
        wait_until(lambda: ("late", landing_item("late").flow) in scheduler.failures)
        assert {work.table for work in scheduler.running_when_spark_ended} == {"a", "b"}


class HeldFlows(MemoryFlows):
    def step(self, work: WorkItem, failures: int = 0, seconds: float | None = None) -> None:
        raise RetryLater("not before an hour", 3_600.0)


def test_a_failure_says_when_to_try_again_and_another_flow_is_tried_at_once() -> None:
    flows = HeldFlows()
    flows.busy = {"v"}
    work = view_item("s", "v")
    with running(flows, work) as scheduler:
        wait_until(lambda: work.key in scheduler.failures)
        assert scheduler.failures[work.key].retry_at > time.monotonic() + 3_000.0
        scheduler.assign([work])
        assert work.key in scheduler.failures
        flows.busy.clear()
        assert isinstance(work.run, View)
        scheduler.assign([replace(work, run=replace(work.run, sql="SELECT 1"))])
        assert work.key not in scheduler.failures


@pytest.mark.parametrize(("message", "moved"), [("java.lang.OutOfMemoryError: Java heap space", 1), ("no such row", 0)])
@pytest.mark.parametrize("priority", [0, 2])
def test_a_step_of_staging_without_memory_moves_to_the_worker(message: str, moved: int, priority: int) -> None:
    """One of live does not: it is tried again with fewer rows."""
    flows, asked = MemoryFlows(), list[str]()

    def step(work: WorkItem, failures: int = 0, seconds: float | None = None) -> None:
        raise RuntimeError(message)

    def outgrown(work: WorkItem) -> bool:
        asked.append(work.table)
        return True

    flows.step = step  # type: ignore[method-assign]
    flows.heads["a"] += 1
    callbacks = SchedulerCallbacks(lambda split: None, outgrown)
    scheduler = Scheduler(flows, str, callbacks, SchedulerLimits(2, 30.0))
    scheduler.assign([landing_item("a", priority)])
    scheduler.start()
    wait_until(lambda: bool(scheduler.failures))
    scheduler.stop()
    assert asked == ["a"] * (moved if priority else 0)
