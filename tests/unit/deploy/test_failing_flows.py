"""What fails is listed live first, with what to do."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

from penstock.deploy.failing_flows import failing_flows
from penstock.flow.scheduler import FlowFailure
from penstock.flow.work_items import collect_work
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Binding, Manifest, Source, View

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def deployment(id: int, state: DeploymentState, view: View) -> Deployment:
    bound = Binding("daily", view.table, ())
    return Deployment(id, "", state, None, NOW, NOW, {}, {}, Manifest(bindings=(bound,), flows=(view,)))


def test_what_fails_is_listed() -> None:
    trigger = Source("t", Binding("events", "events__d1", ()))
    old = View("p.n", "p", "n", "daily__d1", "SELECT 1", trigger, ())
    new = View("p.n", "p", "n", "daily__d2", "SELECT 1", trigger, ())
    running = (deployment(1, "live", old), deployment(2, "ready", new))
    failures = {
        ("daily__d2", "p.n"): FlowFailure("first", 9, 0.0, NOW - timedelta(hours=1)),
        ("daily__d1", "p.n"): FlowFailure("cannot convert", 3, 0.0, NOW),
    }
    flows = SimpleNamespace(scheduler=SimpleNamespace(work=collect_work(running), failures=failures))
    board = SimpleNamespace(live=lambda: running[0], running=SimpleNamespace(deployments=running))
    found = failing_flows(flows, board)  # type: ignore[arg-type]
    assert [(each.table, each.is_live, each.datasource, each.deployments) for each in found] == [
        ("daily__d1", True, "daily", (1,)),
        ("daily__d2", False, "daily", (2,)),
    ]
    assert "ON_ERROR quarantine" in found[0].hint
    assert found[0].as_json()["since"] == "2026-01-01T00:00:00+00:00"
    assert str(found[1]) == "p.n into `daily` of deployment 2 fails since 2025-12-31T23:00:00+00:00: first"


def test_what_the_error_says_to_do_comes_before_what_flows_of_its_kind_need() -> None:
    view = View("p.n", "p", "n", "daily__d1", "SELECT 1", Source("t", Binding("events", "events__d1", ())), ())
    running = (deployment(1, "live", view),)
    failures = {("daily__d1", "p.n"): FlowFailure("a file is missing", 1, 0.0, hint="put it back")}
    flows = SimpleNamespace(scheduler=SimpleNamespace(work=collect_work(running), failures=failures))
    board = SimpleNamespace(live=lambda: running[0], running=SimpleNamespace(deployments=running))
    assert [each.hint for each in failing_flows(flows, board)] == ["put it back"]  # type: ignore[arg-type]
