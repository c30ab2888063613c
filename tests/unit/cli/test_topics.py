"""`penstock topic` and `penstock sink` over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.state.jobs import Job
from penstock.template.render_frame import Parameter
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

Json = Callable[..., tuple[int, Any]]
SINK = (
    "NODE n\nSQL >\n    SELECT a FROM flights\nTYPE sink\nEXPORT_CONNECTION_NAME k\nEXPORT_KAFKA_TOPIC t\n"
    "EXPORT_SCHEDULE 0 3 * * *\n"
)


def test_topics_are_listed(pipeline: MemoryPipeline, penstock: Run, penstock_json: Json) -> None:
    [found] = penstock_json("topic", "ls")[1]["topics"]
    assert (found["datasource"], found["state"], found["lag"], found["missing"]) == ("visits", "reading", {"0": 4}, {})
    assert "reading" in penstock("topic", "ls")[1]


def test_lost_messages_are_given_up_by_name(pipeline: MemoryPipeline, penstock: Run, penstock_json: Json) -> None:
    assert penstock_json("topic", "skip", "visits")[1] == {"given_up": {"0": [3, 7]}}
    assert "3" in penstock("topic", "skip", "visits")[1]
    assert penstock("topic", "skip", "visit")[0] != 0
    assert "skip lost messages" in [each.action for each in pipeline.audit.recent(10)]


def test_sinks_are_listed_and_run(
    project: Path, pipeline: MemoryPipeline, penstock: Run, penstock_json: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "out.pipe").write_text(SINK)
    (project / "k.connection").write_text("TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS b:1\n")
    assert penstock("deploy")[0] == 0
    [found] = penstock_json("sink", "ls")[1]["sinks"]
    assert (found["name"], found["target"], found["schedule"], found["job"]) == ("out", "topic t", "0 3 * * *", None)
    assert "topic t" in penstock("sink", "ls")[1]
    run, asked = pipeline.run, list[tuple[str, str]]()

    def run_take(name: str, given: Mapping[str, Parameter], ref: str, token: str) -> Job:
        asked.append((ref, token))
        return run("take", given)

    monkeypatch.setattr(pipeline.sinks, "run", run_take)
    ran = penstock_json("sink", "run", "out", "--param", "country=DE")
    assert (ran[0], ran[1]["parameters"]) == (0, {"country": "DE"})
    assert penstock_json("sink", "run", "out", "--deployment", "staging")[0] == 0
    assert asked == [("live", "admin"), ("staging", "admin")]


def test_the_status_says_which_topics_wait_or_have_stopped(
    project: Path, pipeline: MemoryPipeline, penstock: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = {
        "datasource": "visits",
        "topic": "t",
        "state": "stopped",
        "reason": "partition 0 lost the offsets 3 to 6",
    }
    found = {**pipeline.status(), "topics": [stopped, {**stopped, "topic": "u", "state": "reading"}]}
    monkeypatch.setattr(pipeline, "status", lambda: found)
    said = " ".join(penstock("status")[1].split())
    assert "the topic `t` of `visits` is stopped: partition 0 lost the offsets 3 to 6" in said
    assert "`u`" not in said
