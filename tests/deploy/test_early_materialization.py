"""Bridged columns are in the files before a deployment is ready, as far as `[deploy] materialize_bytes` goes: rows keep
arriving, and nothing of it is seen but that queries are fast."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from deploy.conftest import Running
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.maintenance.column_materialization import materialize_next
from penstock.deploy.runtime import bridged_columns, early_materialization
from penstock.errors import Conflict
from penstock.lake.read.history_slices import SliceLimits
from penstock.model.deployment import Deployment
from penstock.state import crash_counts
from waiting import wait_until

EVENTS = """SCHEMA >
    `id` UInt32 `json:$.id`,
    `code` {code} `json:$.code`,
    `payload` String `json:$.payload`{more}

ENGINE MergeTree
ENGINE_SORTING_KEY id
{forward}"""
NEW = EVENTS.format(
    code="UInt16",
    more=",\n    `path` String `json:$.path`",
    forward="\nFORWARD_QUERY >\n    SELECT id, toUInt16(code) AS code, payload,"
    " JSONExtractString(payload, 'path') AS path\n",
)
NOTHING = "[deploy]\nmaterialize_bytes = 0\n"


def old(name: str) -> dict[str, str | None]:
    return {f"datasources/{name}.datasource": EVENTS.format(code="String", more="", forward="")}


def new(name: str) -> dict[str, str | None]:
    return {f"datasources/{name}.datasource": NEW}


def row(number: int) -> dict[str, object]:
    path = f"/{number % 3}"
    return {"id": number, "code": str(number % 900), "payload": json.dumps({"path": path}), "path": path}


def shown(number: int) -> tuple[object, ...]:
    return (number, number % 900, f"/{number % 3}")


def settled(running: Running, name: str, state: str) -> float:
    """The settled part of a table in the status, which learns of a new state a moment after the store has it."""

    def found() -> list[dict[str, Any]]:
        return [each for each in running.pipeline.status()["deployments"] if each["state"] == state]  # type: ignore[attr-defined]

    wait_until(lambda: bool(found()), 60)
    return float(found()[0]["tables"][name]["settled"])


def planned(deployment: Deployment, name: str) -> dict[str, object]:
    return next(dict(each) for each in deployment.plan["resources"] if each["name"] == name)  # type: ignore[attr-defined]


def rows_of(running: Running, name: str, deployment: str = "live") -> list[tuple[object, ...]]:
    return running.ask(f"SELECT id, code, path FROM {name} ORDER BY id", deployment)


def delete(running: Running, name: str, where: str, key: str) -> None:
    running.pipeline.ingestion.wait(running.pipeline.deletion.delete(name, where, key), 60)
    running.catch_up()


@contextmanager
def held_slices(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Slices are materialized only when the block ends; the event is set when the first one is asked for."""
    reached, released, materialize = threading.Event(), threading.Event(), early_materialization.materialize_slice

    def wait_first(*given: object) -> None:
        reached.set()
        released.wait(120)
        materialize(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(early_materialization, "materialize_slice", wait_first)
    try:
        yield reached
    finally:
        released.set()


def test_no_column_is_computed_any_more_when_a_version_is_ready(running: Running) -> None:
    running.deploy(old("early"))
    running.post("early", [row(number) for number in range(5)])
    running.post("early", [row(number) for number in range(5, 9)])
    staged = running.deploy(new("early"), promote=False)
    assert staged.state == "ready", staged.error
    told = planned(staged, "early")["materialization"]
    assert isinstance(told, dict)
    assert (told["columns"], told["before_promotion"], told["rows"]) == (["code", "path"], True, 9)
    assert settled(running, "early", "ready") == 1.0
    bound = staged.manifest.binding("early")
    assert bound is not None
    assert all(column.before is None or column.before.is_settled for column in bound.columns)
    running.post("early", [row(9)])
    assert rows_of(running, "early", "staging") == [shown(number) for number in range(10)]
    assert running.ask("SELECT id, code FROM early ORDER BY id") == [(n, str(n % 900)) for n in range(10)]
    running.promote()
    running.post("early", [row(10)])
    assert rows_of(running, "early") == [shown(number) for number in range(11)]
    running.rollback()
    assert running.ask("SELECT id, code FROM early ORDER BY id") == [(n, str(n % 900)) for n in range(11)]
    running.promote()
    assert rows_of(running, "early") == [shown(number) for number in range(11)]


def test_rows_arrive_and_go_while_columns_are_written(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.deploy(old("busy"))
    running.post("busy", [row(number) for number in range(6)])
    with held_slices(monkeypatch) as reached:
        made = running.pipeline.deployer.deploy(
            {path: text for path, text in {**running.files, **new("busy")}.items() if text is not None},
            DeployOptions(promote=False),
        )
        assert reached.wait(120)
        running.post("busy", [row(6), row(7)])
        assert running.ask("SELECT count() FROM busy") == [(8,)]
        with pytest.raises(Conflict, match="is being filled"):
            delete(running, "busy", "id = 2", "busy: too early")
        with pytest.raises(Conflict, match="only a ready one"):
            running.pipeline.deployer.promote(str(made.id))
    kinds = [each.data.get("flow") for each in running.pipeline.deployer.events(made.id) if each.kind == "progress"]
    assert "columns of busy" in kinds
    wait_until(lambda: running.pipeline.store.find(str(made.id)).state == "ready", 60)
    assert rows_of(running, "busy", "staging") == [shown(number) for number in range(8)]
    delete(running, "busy", "id = 2 OR id = 6", "busy: two rows")
    left = [0, 1, 3, 4, 5, 7]
    assert rows_of(running, "busy", "staging") == [shown(number) for number in left]
    assert [number for (number,) in running.ask("SELECT id FROM busy ORDER BY id")] == left
    assert settled(running, "busy", "ready") == 1.0
    running.promote(str(made.id))
    assert rows_of(running, "busy") == [shown(number) for number in left]


def test_a_discard_ends_it_and_leaves_nothing(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.deploy(old("gone"))
    running.post("gone", [row(number) for number in range(4)])
    wanted = {path: text for path, text in {**running.files, **new("gone")}.items() if text is not None}
    with held_slices(monkeypatch) as reached:
        made = running.pipeline.deployer.deploy(wanted, DeployOptions(promote=False))
        assert reached.wait(120)
        discarding = threading.Thread(target=running.pipeline.deployer.discard, args=(str(made.id),))
        discarding.start()
        wait_until(lambda: running.pipeline.store.deployments.get(made.id).state == "discarded", 60)
    discarding.join(120)
    assert not discarding.is_alive()
    table = next(each.id for each in made.manifest.tables if each.id.startswith("gone__d") and each.lands)
    found = running.pipeline.core.warehouse.lake.catalog.load_table(("penstock", table))
    assert "path" not in {field.name for field in found.schema().fields}
    assert running.ask("SELECT id, code FROM gone ORDER BY id") == [(n, str(n)) for n in range(4)]


@pytest.mark.parametrize("name", ["odd", "second"])
def test_a_table_that_cannot_be_rewritten_fails_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Because it fails, or because other maintenance of its files comes first each time."""
    running.deploy(old(name))
    running.post(name, [row(number) for number in range(4)])
    tried = []

    def fail(*_: object) -> None:
        tried.append(name)
        if name == "odd":
            raise RuntimeError("the disk is odd")

    with monkeypatch.context() as patch:
        patch.setattr(early_materialization, "materialize_slice", fail)
        patch.setattr(early_materialization, "PAUSE", 0.05)
        staged = running.deploy(new(name), promote=False)
    assert staged.state == "ready", staged.error
    assert len(tried) == early_materialization.ATTEMPTS
    assert settled(running, name, "ready") < 1.0
    assert rows_of(running, name, "staging") == [shown(number) for number in range(4)]
    running.pipeline.deployer.discard("staging")


def test_slices_in_which_spark_ends_get_smaller_and_are_left_to_the_background(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.deploy(old("dear"))
    running.post("dear", [row(number) for number in range(4)])
    tried: list[int] = []

    def end_spark(*given: object) -> None:
        tried.append(given[-1].rows)  # type: ignore[attr-defined]
        raise ConnectionResetError

    flow = running.pipeline.core.settings.flow
    with monkeypatch.context() as patch:
        patch.setattr(bridged_columns, "next_slice", end_spark)
        patch.setattr(early_materialization, "PAUSE", 0.05)
        staged = running.deploy(new("dear"), promote=False)
        assert staged.state == "ready", staged.error
        assert tried == [flow.max_step_rows >> 3 * crashes for crashes in range(bridged_columns.MOST_CRASHES)]
    table = next(each.table for each in staged.manifest.bindings if each.name == "dear")
    counts = running.pipeline.store.crash_counts
    assert [count for (of, _), count in counts.deaths.items() if of == table] == [bridged_columns.MOST_CRASHES]
    running.promote()
    assert not materialize_next(running.pipeline.core, SliceLimits(flow.max_step_rows, flow.max_step_bytes))
    monkeypatch.setattr(crash_counts, "CALM_SECONDS", 0.0)  # an hour later
    wait_until(lambda: settled(running, "dear", "live") == 1.0, 120)
    assert rows_of(running, "dear") == [shown(number) for number in range(4)]
    assert counts.count((table, "materialization")) < bridged_columns.MOST_CRASHES


def test_beyond_the_budget_the_plan_says_so_and_no_check_is_left_in_the_columns(running: Running) -> None:
    running.deploy(old("large"))
    running.post("large", [row(number) for number in range(7)])
    staged = running.deploy({**new("large"), "penstock.toml": NOTHING}, promote=False)
    assert staged.state == "ready", staged.error
    told = planned(staged, "large")["materialization"]
    assert isinstance(told, dict)
    assert (told["before_promotion"], told["reason"]) == (False, "[deploy] materialize_bytes is 0")
    assert "materialized_later" in staged.plan
    bound = staged.manifest.binding("large")
    code = bound.column("code") if bound is not None else None
    assert code is not None
    assert code.before is not None
    assert "raise_error" in code.before.expression
    assert code.before.checked is not None
    assert "raise_error" not in code.before.checked
    assert settled(running, "large", "ready") < 1.0
    running.post("large", [row(7)])
    assert rows_of(running, "large", "staging") == [shown(number) for number in range(8)]
    running.promote()
    assert rows_of(running, "large") == [shown(number) for number in range(8)]
    wait_until(lambda: settled(running, "large", "live") == 1.0, 120)
    assert rows_of(running, "large") == [shown(number) for number in range(8)]
