"""What plans, switches and the log make of drift."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from penstock.deploy.lifecycle import drift_watch
from penstock.deploy.lifecycle.drift_watch import Drift, DriftWatch, drift_problems, find_drift, refuse_drifted
from penstock.errors import Conflict, Problem
from penstock.lake.drift.differences import TableDrift
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Binding, Copy, Manifest, Table
from penstock.plan.plan import Plan
from penstock.plan.steps import Activate, Clone
from penstock.state.database import open_database
from penstock.state.made_tables import MadeTables


def drifted(table: str, stops: bool = True) -> Drift:
    made = Problem("dropped-table", f"the table {table} was dropped", hint="put it back")
    return Drift(table.split("__")[0], (1,), TableDrift(table, "dropped", made, stops))


def manifest(*tables: str, copied: str | None = None) -> Manifest:
    copies = (Copy("copy", Binding("c", copied, ()), tables[0], (), ()),) if copied else ()
    bindings = tuple(Binding(table.split("__")[0], table, ()) for table in tables)
    return Manifest(tuple(Table(table, ()) for table in tables), bindings, flows=copies)


def deployment(id: int, state: DeploymentState, *tables: str) -> Deployment:
    now = datetime.now(timezone.utc)
    return Deployment(id, "", state, None, now, now, {}, {}, manifest(*tables))


CLONE = Plan(manifest=manifest("a__d2"), steps=(Activate((Clone(Table("a__d2", ()), "a__d1"),)),))


@pytest.mark.parametrize(
    ("plan", "stops", "level"),
    [
        (Plan(manifest=manifest("a__d1", "b__d1")), True, "error"),
        (Plan(manifest=manifest("a__d2", copied="a__d1")), True, "error"),
        (CLONE, True, "error"),
        (Plan(manifest=manifest("b__d1")), True, "warning"),
        (Plan(manifest=manifest("a__d1")), False, "warning"),
    ],
)
def test_a_plan_does_not_go_on_with_a_table_that_stands_still(plan: Plan, stops: bool, level: str) -> None:
    (found,) = drift_problems([drifted("a__d1", stops)], plan)
    assert (found.level, found.message) == (level, "`a`: the table a__d1 was dropped")


def test_a_switch_to_tables_that_stand_still_is_refused() -> None:
    found = [drifted("a__d1"), drifted("b__d1", stops=False)]
    refuse_drifted(found, manifest("b__d1", "c__d1"), manifest())
    with pytest.raises(Conflict, match="the table a__d1 was dropped") as refused:
        refuse_drifted(found, manifest("a__d1"), manifest("b__d1"))
    assert [each.code for each in refused.value.problems] == ["dropped-table"]


def test_what_both_versions_have_is_no_reason_to_stay() -> None:
    refuse_drifted([drifted("a__d1")], manifest("a__d1"), manifest("a__d1", "b__d1"))


def test_tables_of_deployments_that_are_over_are_not_looked_for(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    recorded = RecordedTables(lambda table: None, MadeTables(database))
    everything = [
        deployment(1, "retired", "a__d1"),
        deployment(2, "previous", "b__d2", "c__d2"),
        deployment(3, "live", "b__d2"),
        deployment(4, "preparing", "d__d4"),
    ]
    found = find_drift(recorded, everything)
    assert [(each.name, each.table, each.deployments) for each in found] == [
        ("b", "b__d2", (2, 3)),
        ("c", "c__d2", (2,)),
    ]
    assert found[0].as_json()["code"] == "dropped-table"
    database.close()


def test_the_log_says_each_drift_once_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    looks = [(drifted("a__d1"),), (drifted("a__d1"), drifted("b__d1")), (drifted("b__d1"),), ()]
    saves: list[int] = []
    watch = DriftWatch(lambda: looks.pop(0), lambda: saves.append(len(looks)))
    with caplog.at_level(logging.INFO):
        for _ in range(4):
            watch.run_once()
    told = [record.message for record in caplog.records]
    assert told == [
        "drift: `a`: the table a__d1 was dropped (put it back)",
        "drift: `b`: the table b__d1 was dropped (put it back)",
        "drift is over: `a`: the table a__d1 was dropped",
        "drift is over: `b`: the table b__d1 was dropped",
    ]
    assert saves == [3, 2, 1, 0]


def test_a_look_that_fails_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift_watch, "INTERVAL", 0.01)
    looks: list[tuple[Drift, ...] | OSError] = [(), OSError("the catalog is away"), (drifted("a__d1"),)]

    def look() -> tuple[Drift, ...]:
        found = looks.pop(0) if len(looks) > 1 else looks[0]
        if isinstance(found, OSError):
            raise found
        return found

    watch = DriftWatch(look, lambda: None)
    watch.start()
    deadline = time.monotonic() + 10
    while not watch.found and time.monotonic() < deadline:
        time.sleep(0.01)
    watch.stop()
    assert [each.table for each in watch.found] == ["a__d1"]
