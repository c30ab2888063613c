from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from penstock.cli import candidates, deployment_progress
from penstock.cli.session import Session
from penstock.errors import Conflict, Problem
from penstock.model.deployment import Deployment
from unit.cli.conftest import Run
from unit.serve.memory import Event, MemoryPipeline

Json = Callable[..., tuple[int, Any]]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment_progress, "PAUSE", 0.01)
    monkeypatch.setattr(deployment_progress, "CATCH_UP_PAUSE", 0.01)


def test_nothing_to_deploy_is_no_failure(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    penstock("deploy")
    pipeline.unchanged = True
    code, out, err = penstock("deploy")
    assert (code, err) == (0, "")
    assert "nothing to deploy: deployment 1 is live and has all of it" in out
    code, made = penstock_json("deploy", "--no-wait")
    assert (code, made["id"], made["base"]) == (0, 0, 1)
    assert len(pipeline.list_deployments()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_deploy_does_not_go_live(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    watched, gone = threading.Event(), threading.Event()

    def endless(id: int) -> Iterator[Event]:
        watched.set()
        gone.wait(30)
        return iter(())

    monkeypatch.setattr(pipeline, "events", endless)
    pressing = threading.Thread(target=lambda: (watched.wait(30), os.kill(os.getpid(), number)))
    pressing.start()
    code, _, err = penstock("deploy")
    pressing.join()
    gone.set()
    assert code == 130
    assert "the server goes on with deployment 1; it does not go live by itself" in err
    assert "penstock deployment promote 1" in err
    assert "penstock deployment discard 1" in err
    assert pipeline.find("1").state == "ready"


@pytest.mark.parametrize("switched", [True, False])
def test_an_interrupted_switch_says_what_became_of_it(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch, switched: bool
) -> None:
    promote, gone = pipeline.promote, threading.Event()

    def slowly(ref: str | None) -> Deployment:
        if switched:
            promote(ref)
        os.kill(os.getpid(), signal.SIGINT)
        gone.wait(30)
        return pipeline.find("1")

    monkeypatch.setattr(pipeline, "promote", slowly)
    code, _, err = penstock("deploy")
    gone.set()
    assert code == 130
    assert ("deployment 1 is live" if switched else "asked to make deployment 1 live, and may still do so") in err
    assert "penstock deployment rollback" in err
    assert "does not go live" not in err


def test_an_interruption_is_one_document_for_programs(
    penstock_json: Json, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.cli.commands.deploy.watch_deployment", interrupt)
    code, document = penstock_json("deploy", "--no-promote")
    assert (code, document["code"]) == (130, "interrupted")
    assert "it will be ready, not live" in document["error"]
    monkeypatch.setattr("penstock.cli.client.ServerClient.deploy", interrupt)
    code, document = penstock_json("deploy")
    assert (code, "while the server was planning" in document["error"]) == (130, True)


def test_a_lost_connection_is_made_again(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    states, calls = iter(("preparing", "backfilling")), []
    find, events = pipeline.find, pipeline.events

    def ended(id: int) -> Iterator[Event]:
        calls.append(id)
        return iter(()) if len(calls) < 3 else events(id)

    def restarted(ref: str) -> Deployment:
        found = find(ref)
        return replace(found, state=next(states, found.state))  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "events", ended)
    monkeypatch.setattr(pipeline, "find", lambda ref: restarted(ref) if ref == "1" and len(calls) < 3 else find(ref))
    code, out, _ = penstock("deploy")
    assert (code, "deployment 1 is live" in out) == (0, True)


def test_who_was_away_for_long_does_not_promote(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment_progress, "AWAY_SECONDS", -1.0)
    code, _, err = penstock("deploy")
    assert (code, "was not made live: this machine slept" in err) == (1, True)
    assert pipeline.find("1").state == "ready"


def test_a_deployment_that_lags_is_waited_for(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    promote, refusals = pipeline.promote, iter(range(2))

    def lagging(ref: str | None) -> Deployment:
        if next(refusals, None) is not None:
            raise Conflict("it lags", [Problem("deployment-lags", "it lags")])
        return promote(ref)

    monkeypatch.setattr(pipeline, "promote", lagging)
    assert penstock("deploy")[0] == 0
    monkeypatch.setattr(pipeline, "promote", lambda ref: (_ for _ in ()).throw(Conflict("another one is live")))
    code, _, err = penstock("deploy")
    assert (code, "another one is live" in err) == (1, True)


def test_a_deploy_whose_version_another_one_made_live_is_done(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same files, deployed from two terminals at once, are one deployment, which either of them promotes."""
    promote = pipeline.promote

    def promoted_before(ref: str | None) -> Deployment:
        promote(ref)
        return promote(ref)

    monkeypatch.setattr(pipeline, "promote", promoted_before)
    code, out, err = penstock("deploy")
    assert (code, "deployment 1 is live" in out, err) == (0, True, "")


def test_without_waiting_the_server_promotes(penstock: Run, pipeline: MemoryPipeline) -> None:
    assert penstock("deploy", "--no-wait")[0] == 0
    assert pipeline.find("1").state == "live"


def test_candidates_that_are_left_over_are_named(penstock: Run, pipeline: MemoryPipeline) -> None:
    assert "fed beside it" not in penstock("deploy", "--no-promote")[1]
    assert "fed beside it: 1, ready, stale, made " in penstock("deploy", "--name", "second")[1]


def test_a_repeated_deploy_goes_on_with_its_candidate(
    penstock: Run, penstock_json: Json, pipeline: MemoryPipeline
) -> None:
    assert "it goes on" not in penstock("deploy", "--no-promote")[1]
    out = penstock("deploy", "--no-promote")[1]
    assert "deployment 1 has the same files, and was asked for in the same way: it goes on" in out
    assert "deployment 1 is ready" in out
    code, made = penstock_json("deploy")
    assert (code, made["id"], made["state"]) == (0, 1, "live")
    assert len(pipeline.list_deployments()) == 1
    code, made = penstock_json("deploy", "--no-promote", "--no-check-rows")
    assert (code, made["id"], "continued" in made) == (0, 2, False)


def test_a_repeated_check_only_plans(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    penstock("deploy", "--no-promote")
    code, made = penstock_json("deploy", "--check")
    assert (code, made.get("id")) == (0, 0), made


def test_several_candidates_are_named(penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    penstock("deploy", "--no-promote", "--name", "first")
    penstock("deploy", "--no-promote")
    for verb in ("promote", "discard", "pause"):
        code, _, err = penstock("deployment", verb)
        assert (code, "1 (first), ready" in err, "2, ready" in err) == (2, True, True)
    monkeypatch.setattr(Session, "is_interactive", True)
    monkeypatch.setattr(candidates.typer, "prompt", lambda text: "1")
    assert "deployment 1 (first) is live" in penstock("deployment", "promote")[1]


def test_a_stale_candidate_is_shown_as_such(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    penstock("deploy", "--no-promote")
    penstock("deploy", "--name", "second")
    assert "ready, stale (planned against nothing)" in penstock("deployment", "ls")[1]
    assert "discard it and deploy again" in penstock("deployment", "show", "1")[1]
    assert [each["stale"] for each in penstock_json("deployment", "ls")[1]["deployments"]] == [False, True]
    assert penstock("deployment", "discard")[0] == 0
    assert pipeline.find("1").state == "discarded"


def test_unchanged_resources_share_a_line(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"view_{number}" for number in range(7)]
    same = [{"name": name, "strategy": "none", "reason": "unchanged", "rows": 0, "bytes": 0} for name in names]
    moved = {"name": "flights", "strategy": "forward", "reason": "retyped", "rows": 5, "bytes": 10}
    change = {"resource": "flights", "message": "column `a` is retyped"}
    deploy = pipeline.deploy

    def changed(files: Any, options: Any) -> Deployment:
        made = deploy(files, options)
        return replace(made, plan={**made.plan, "changes": [change], "resources": [moved, *same]})

    monkeypatch.setattr(pipeline, "deploy", changed)
    out = penstock("deploy", "--check")[1]
    assert "unchanged: view_0, view_1, view_2, view_3, view_4 and 2 more (--all shows them)" in out
    assert "view_6" not in out
    assert "forward" in out
