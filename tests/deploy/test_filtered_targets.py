"""A condition that is added to a view while rows are posted to its target, or to a table that it is seen through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from deploy.conftest import Running
from penstock.deploy.lifecycle import executor
from penstock.deploy.runtime.core import Core
from penstock.plan.steps import Activate
from waiting import wait_until


def source(columns: str) -> str:
    return f"SCHEMA >\n    {columns}\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"


def view(sql: str, target: str) -> str:
    return f"NODE rows\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE {target}\n"


LANDED = source("`id` UInt32 `json:$.id`, `kind` String `json:$.kind`")
ROWS = source("`id` UInt32, `kind` String")


def ids(running: Running, name: str, version: str = "live") -> list[int]:
    return sorted(int(str(row[0])) for row in running.ask(f"SELECT id FROM {name}", version))


@contextmanager
def posted_after_the_plan(running: Running, monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """A row is posted to a data source when a deployment was planned, before its flows begin."""
    activate = executor.activate_deployment

    def post_first(core: Core, id: int, step: Activate) -> None:
        running.pipeline.ingestion.append(name, b'{"id": 99, "kind": "b"}', None)
        wait_until(lambda: 99 in ids(running, name))
        activate(core, id, step)

    with monkeypatch.context() as patch:
        patch.setattr(executor, "activate_deployment", post_first)
        yield


def test_rows_that_a_condition_keeps_are_copied_and_later_ones_come_from_the_view(running: Running) -> None:
    files = {
        "kept_ev.datasource": LANDED,
        "kept.datasource": ROWS,
        "kept_mv.pipe": view("SELECT id, kind FROM kept_ev", "kept"),
    }
    running.deploy(files)
    running.post("kept_ev", [{"id": id, "kind": "ab"[id % 2]} for id in range(6)])
    condition = {"kept_mv.pipe": view("SELECT id, kind FROM kept_ev WHERE kind != 'b'", "kept")}
    staged = running.deploy(condition, promote=False)
    assert running.strategies(staged)["kept"] == "forward"
    running.post("kept_ev", [{"id": id, "kind": "ab"[id % 2]} for id in range(6, 9)])
    assert (ids(running, "kept"), ids(running, "kept", "staging")) == (list(range(9)), [0, 2, 4, 6, 8])
    running.promote()


def test_a_row_that_is_posted_to_the_target_after_the_plan(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new condition of the view says nothing of it."""
    files = {
        "late_ev.datasource": LANDED,
        "late.datasource": ROWS,
        "late_mv.pipe": view("SELECT id, kind FROM late_ev", "late"),
    }
    running.deploy(files)
    running.post("late_ev", [{"id": id, "kind": "ab"[id % 2]} for id in range(6)])
    condition = {"late_mv.pipe": view("SELECT id, kind FROM late_ev WHERE kind != 'b'", "late")}
    with posted_after_the_plan(running, monkeypatch, "late"):
        failed = running.attempt(condition, promote=False)
    assert failed.state == "failed"
    assert "the new condition of its view does not leave them out" in str(failed.error)
    again = running.deploy(condition)
    assert running.strategies(again)["late"] == "recompute"
    assert ids(running, "late") == [0, 2, 4, 99]


def test_a_row_that_is_posted_to_a_table_that_the_view_is_seen_through(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view that is moved from the landing to the target of another view would have left it out."""
    files = {
        "through_ev.datasource": LANDED,
        "passed.datasource": ROWS,
        "passed_mv.pipe": view("SELECT id, kind FROM through_ev", "passed"),
        "counted.datasource": ROWS,
        "counted_mv.pipe": view("SELECT id, kind FROM through_ev WHERE kind != 'a'", "counted"),
    }
    running.deploy(files)
    running.post("through_ev", [{"id": id, "kind": "ab"[id % 2]} for id in range(6)])
    moved = {"counted_mv.pipe": view("SELECT id, kind FROM passed WHERE kind != 'a'", "counted")}
    with posted_after_the_plan(running, monkeypatch, "passed"):
        failed = running.attempt(moved, promote=False)
    assert failed.state == "failed"
    assert "has other rows than its views give" in str(failed.error)
    again = running.deploy(moved)
    assert running.strategies(again)["counted"] == "recompute"
    assert ids(running, "counted") == [1, 3, 5, 99]
