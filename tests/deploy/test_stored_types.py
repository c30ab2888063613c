"""Types that hold what is stored: proved by Iceberg's statistics for the plan, and once more when it is carried out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from deploy.conftest import Running
from penstock.deploy.lifecycle import executor
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.runtime.core import Core
from penstock.errors import InvalidProject
from penstock.plan.steps import Activate
from waiting import wait_until

TARGET = "SCHEMA >\n    `id` UInt32,\n    `carrier` {}\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"


def landing(carrier: str, seats: str = "Int64") -> str:
    columns = f"`id` UInt32 `json:$.id`, `carrier` {carrier} `json:$.carrier`, `seats` {seats} `json:$.seats`"
    return f"SCHEMA >\n    {columns}\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"


def view(source: str, target: str) -> str:
    return f"NODE rows\nSQL >\n    SELECT id, carrier FROM {source}\nTYPE materialized\nDATASOURCE {target}\n"


def flight(id: int, **more: object) -> dict[str, object]:
    return {"id": id, "carrier": "ab"[id % 2], "seats": 100 + id, **more}


def rows(running: Running, name: str, version: str = "live") -> list[tuple[object, ...]]:
    return sorted(running.ask(f"SELECT * FROM {name}", version))


def reason(plan: Mapping[str, object], name: str) -> str:
    return next(str(each["reason"]) for each in plan["resources"] if each["name"] == name)  # type: ignore[attr-defined]


@contextmanager
def posted_after_the_plan(running: Running, monkeypatch: pytest.MonkeyPatch, name: str, row: object) -> Iterator[None]:
    """A row is posted, and stored, when a deployment was planned, before its flows begin."""
    activate = executor.activate_deployment
    before = len(rows(running, name))

    def post_first(core: Core, id: int, step: Activate) -> None:
        running.pipeline.ingestion.append(name, json.dumps(row).encode(), None)
        wait_until(lambda: len(rows(running, name)) > before)
        activate(core, id, step)

    with monkeypatch.context() as patch:
        patch.setattr(executor, "activate_deployment", post_first)
        yield


def test_no_row_moves_where_no_value_is_lost(running: Running) -> None:
    """Rows from before have their values; of later ones the new version rejects those that its types do not hold."""
    old = {
        "full.datasource": landing("Nullable(String)"),
        "full_seen.datasource": TARGET.format("Nullable(String)"),
        "full_mv.pipe": view("full", "full_seen"),
    }
    running.deploy(old)
    running.post("full", [flight(0), flight(1, seats=65_535)])
    running.post("full", [flight(2)])
    new = {"full.datasource": landing("String", "UInt16"), "full_seen.datasource": TARGET.format("String")}
    staged = running.deploy(new, promote=False)
    planned = running.strategies(staged)
    assert (planned["full"], planned["full_seen"]) == ("in_place", "reuse")
    assert staged.plan["rows_moved"] == 0
    assert "no row of `full` has NULL in `carrier`: Iceberg counts 0 in 2 files" in reason(staged.plan, "full")
    assert "Iceberg has `seats` from 100 to 65535 in 2 files of `full`" in reason(staged.plan, "full")
    assert "no row of `full_seen` has NULL in `carrier`" in reason(staged.plan, "full_seen")
    running.post("full", [flight(3, carrier=None), flight(4, seats=65_536)])
    seen = [(0, "a"), (1, "b"), (2, "a")]
    assert rows(running, "full", "staging") == [(0, "a", 100), (1, "b", 65_535), (2, "a", 102)]
    assert rows(running, "full_seen", "staging") == seen
    assert rows(running, "full") == [(0, "a", 100), (1, "b", 65_535), (2, "a", 102), (3, None, 103), (4, "a", 65_536)]
    assert rows(running, "full_seen") == [*seen, (3, None), (4, "a")]
    running.promote()
    running.rollback()
    assert rows(running, "full_seen") == [*seen, (3, None), (4, "a")]
    running.promote()
    running.pipeline.deployer.retire(None)
    running.post("full", [flight(5)])
    assert rows(running, "full_seen") == [*seen, (5, "b")]


def test_a_null_that_comes_after_the_plan_ends_the_deployment(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live stays as it was, and the next plan counts it."""
    running.deploy({"late.datasource": landing("Nullable(String)")})
    running.post("late", [flight(0)])
    new = {"late.datasource": landing("String")}
    with posted_after_the_plan(running, monkeypatch, "late", flight(1, carrier=None)):
        failed = running.attempt(new)
    assert failed.state == "failed"
    assert "what was proved of the values of `carrier` is not known of every row any more" in str(failed.error)
    assert rows(running, "late") == [(0, "a", 100), (1, None, 101)]
    running.pipeline.deployer.discard(str(failed.id))
    with pytest.raises(InvalidProject) as refused:
        running.attempt(new)
    assert "Iceberg counts 1 NULL in it" in str(refused.value.problems[0])
    wanted = {**running.files, "late.datasource": landing("Nullable(String)", "UInt8")}
    shown = running.pipeline.deployer.deploy(wanted, DeployOptions(True, False, False, None))
    assert running.strategies(shown)["late"] == "in_place"


def test_a_target_may_have_what_is_gone_from_its_source(running: Running) -> None:
    """The source has no NULL any more, but a row that was made of one is still in the target."""
    old = {
        "gone.datasource": landing("Nullable(String)"),
        "gone_seen.datasource": TARGET.format("Nullable(String)"),
        "gone_mv.pipe": view("gone", "gone_seen"),
    }
    running.deploy(old)
    running.post("gone", [flight(0), flight(1, carrier=None)])
    receipt = running.pipeline.deletion.delete("gone", "carrier IS NULL", "")
    running.pipeline.ingestion.wait(receipt, 60)
    wait_until(lambda: rows(running, "gone") == [(0, "a", 100)])
    assert rows(running, "gone_seen") == [(0, "a"), (1, None)]
    new = {"gone.datasource": landing("String"), "gone_seen.datasource": TARGET.format("String")}
    made = running.deploy(new, destructive=True)
    planned = running.strategies(made)
    assert (planned["gone"], planned["gone_seen"]) == ("in_place", "recompute")
    assert rows(running, "gone_seen") == [(0, "a")]


def test_a_view_that_cares_for_null_keeps_the_rows_that_were_made_without(running: Running) -> None:
    old = {
        "care.datasource": landing("Nullable(String)"),
        "care_seen.datasource": TARGET.format("Nullable(String)"),
        "care_mv.pipe": view("care WHERE id < 90", "care_seen"),
    }
    running.deploy(old)
    running.post("care", [flight(0), flight(1)])
    care = "NODE rows\nSQL >\n    SELECT id, ifNull(carrier, 'none') AS carrier FROM care WHERE id < 90\n"
    staged = running.deploy({"care_mv.pipe": f"{care}TYPE materialized\nDATASOURCE care_seen\n"}, promote=False)
    assert running.strategies(staged)["care_seen"] == "reuse"
    assert "no row of `care` has NULL in `carrier`: Iceberg counts 0 in 1 file" in reason(staged.plan, "care_seen")
    running.post("care", [flight(2, carrier=None)])
    assert rows(running, "care_seen", "staging") == [(0, "a"), (1, "b"), (2, "none")]
    assert rows(running, "care_seen") == [(0, "a"), (1, "b"), (2, None)]
    running.promote()
    without = view("care WHERE carrier IS NOT NULL AND id < 90", "care_seen")
    made = running.deploy({"care_mv.pipe": without}, destructive=True)
    assert running.strategies(made)["care_seen"] != "reuse", "now there is one"
    assert rows(running, "care_seen") == [(0, "a"), (1, "b")]


def test_a_null_that_comes_after_the_plan_of_a_view(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {
        "raced.datasource": landing("Nullable(String)"),
        "raced_seen.datasource": TARGET.format("Nullable(String)"),
        "raced_mv.pipe": view("raced", "raced_seen"),
    }
    running.deploy(old)
    running.post("raced", [flight(0)])
    new = {"raced_mv.pipe": view("raced WHERE carrier IS NOT NULL", "raced_seen")}
    with posted_after_the_plan(running, monkeypatch, "raced", flight(1, carrier=None)):
        failed = running.attempt(new)
    assert failed.state == "failed"
    assert "what was proved of the values of `carrier` is not known of every row any more" in str(failed.error)
    running.pipeline.deployer.discard(str(failed.id))
    running.catch_up()
    assert rows(running, "raced_seen") == [(0, "a"), (1, None)]
    made = running.deploy(new, destructive=True)
    assert running.strategies(made)["raced_seen"] != "reuse"
    assert rows(running, "raced_seen") == [(0, "a")]


def test_what_rows_with_null_have_told_stays_when_they_are_gone(running: Running) -> None:
    """Of the type of a column that has no NULL any more nothing follows for what was counted when it had some."""
    counts = "SCHEMA >\n    `seats` Int64,\n    `unknown` UInt64\n\nENGINE SummingMergeTree\nENGINE_SORTING_KEY seats\n"
    counted = "SELECT seats, countIf(isNull(carrier)) AS unknown FROM told GROUP BY seats"
    old = {
        "told.datasource": landing("Nullable(String)"),
        "told_seen.datasource": counts,
        "told_mv.pipe": f"NODE rows\nSQL >\n    {counted}\nTYPE materialized\nDATASOURCE told_seen\n",
    }
    running.deploy(old)
    running.post("told", [flight(0), flight(1, carrier=None)])
    receipt = running.pipeline.deletion.delete("told", "carrier IS NULL", "")
    running.pipeline.ingestion.wait(receipt, 60)
    wait_until(lambda: rows(running, "told") == [(0, "a", 100)])
    assert rows(running, "told_seen") == [(100, 0), (101, 1)]
    made = running.deploy({"told.datasource": landing("String")}, promote=False, destructive=True)
    planned = running.strategies(made)
    assert (planned["told"], planned["told_seen"]) == ("in_place", "recompute")
    assert rows(running, "told_seen", "staging") == [(100, 0)]
