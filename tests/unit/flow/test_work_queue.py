"""The queue looks at what something happened to, and at nothing else, however many flows there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow_values import landing_item, view_item
from penstock.flow.work_items import WorkItem
from penstock.flow.work_queue import OTHERS, URGENT, WorkQueue

MANY = 1_000


@pytest.fixture
def queue() -> WorkQueue:
    """Each of many streams with its table, and a view of that table into another one."""
    made = WorkQueue()
    made.assign([item for n in range(MANY) for item in (landing_item(f"s{n}"), view_item(f"s{n}", f"v{n}"))])
    assert len(drain(made)) == 2 * MANY
    return made


def drain(queue: WorkQueue, now: float = 0.0) -> list[tuple[str, str]]:
    found = []
    while (item := queue.take((URGENT, OTHERS), lambda table: True, now)) is not None:
        found.append(item.key)
    return found


def test_only_what_something_happened_to_is_looked_at(queue: WorkQueue) -> None:
    assert drain(queue) == []
    queue.batch_arrived("s7")
    assert drain(queue) == [("s7", "landing.s7")]
    queue.table_changed("s7")
    assert drain(queue) == [("v7", "view.v7"), ("s7", "landing.s7")]
    queue.batch_arrived("unknown")
    queue.table_changed("unknown")
    assert drain(queue) == []


def test_a_look_costs_the_same_with_many_flows(queue: WorkQueue) -> None:
    asked: list[str] = []

    def is_free(table: str) -> bool:
        asked.append(table)
        return True

    queue.batch_arrived("s1")
    assert queue.take((URGENT,), is_free, 0.0) is not None
    assert queue.take((URGENT,), is_free, 0.0) is None
    assert asked == ["s1"]


def test_a_table_in_use_is_asked_for_once_until_it_is_free(queue: WorkQueue) -> None:
    queue.batch_arrived("s1")
    asked: list[str] = []

    def is_free(table: str) -> bool:
        asked.append(table)
        return False

    for _ in range(10):
        assert queue.take((URGENT,), is_free, 0.0) is None
    assert asked == ["s1"]
    queue.table_freed("s1")
    assert drain(queue) == [("s1", "landing.s1")]


def test_times_come_in_order_and_the_earliest_counts(queue: WorkQueue) -> None:
    for at, key in ((5.0, ("s1", "landing.s1")), (2.0, ("s2", "landing.s2")), (9.0, ("s2", "landing.s2"))):
        queue.add_at(key, at)
    assert queue.next_time() == 2.0
    assert drain(queue, 1.9) == []
    assert drain(queue, 5.0) == [("s2", "landing.s2"), ("s1", "landing.s1")]
    assert queue.next_time() is None
    queue.add_at(("s2", "landing.s2"), 6.0)
    assert drain(queue, 6.0) == [("s2", "landing.s2")]


def test_live_goes_first_and_flows_that_are_gone_are_forgotten() -> None:
    queue = WorkQueue()
    queue.assign([landing_item("staging", priority=2), landing_item("live")])
    assert drain(queue) == [("live", "landing.live"), ("staging", "landing.staging")]
    queue.add_at(("live", "landing.live"), 1.0)
    queue.assign([landing_item("staging", priority=2)])
    drain(queue)
    queue.batch_arrived("live")
    assert drain(queue, 2.0) == []


@given(st.permutations("abc"), st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=40))
def test_those_whose_last_step_is_longest_ago_come_first(steps: list[str], arrivals: list[str]) -> None:
    queue = WorkQueue()
    items: list[WorkItem] = [landing_item(stream) for stream in "abc"]
    queue.assign(items)
    drain(queue)
    for stream in arrivals:  # none was stepped: the first that came is first
        queue.batch_arrived(stream)
    assert drain(queue) == [(stream, f"landing.{stream}") for stream in dict.fromkeys(arrivals)]
    for stream in steps:
        queue.step_began((stream, f"landing.{stream}"))
    for stream in arrivals:
        queue.batch_arrived(stream)
    assert drain(queue) == [(stream, f"landing.{stream}") for stream in steps if stream in arrivals]


def test_a_view_whose_source_was_stepped_does_not_wait_for_all_others(queue: WorkQueue) -> None:
    """All streams are busy: each landing asks for another look once it was stepped."""
    for stream in range(MANY):
        queue.step_began((f"v{stream}", f"view.s{stream}"))
    for stream in range(MANY):
        queue.step_began((f"s{stream}", f"landing.s{stream}"))
        queue.batch_arrived(f"s{stream}")
    queue.table_changed("s7")
    first = queue.take((URGENT,), lambda table: True, 0.0)
    assert first is not None
    assert first.table == "v7"


def test_a_view_that_was_given_rows_comes_before_all_that_were_not(queue: WorkQueue) -> None:
    """Also if it had to wait for its table or for a time; until its step begins."""
    landing, view = ("s2", "landing.s2"), ("v1", "view.v1")
    queue.step_began(view)
    queue.batch_arrived("s2")
    queue.table_changed("s1")
    assert drain(queue) == [view, landing, ("s1", "landing.s1")]
    queue.batch_arrived("s2")
    queue.add_at(view, 1.0)
    assert drain(queue, 1.0) == [view, landing]
    queue.batch_arrived("s2")
    queue.step_began(view)
    queue.add([view])
    assert drain(queue) == [landing, view]
