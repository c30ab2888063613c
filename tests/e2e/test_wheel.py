"""A server started from the wheel in an empty folder takes rows and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from wheel_environment import WheelEnvironment, make_environment

pytestmark = pytest.mark.e2e


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[WheelEnvironment]:
    made = make_environment(tmp_path)
    yield made
    made.run("penstock", "down", "--project", "shop", folder=tmp_path)


@pytest.mark.timeout(300)
def test_from_the_wheel_to_an_answer(installed: WheelEnvironment, tmp_path: Path) -> None:
    for line in (
        "init shop",
        "up --project shop --port 0 --detach",
        "deploy --project shop",
        "datasource append events --project shop --file shop/fixtures/events.ndjson",
    ):
        done = installed.run("penstock", *line.split(), folder=tmp_path)
        assert done.returncode == 0, f"penstock {line}\n{done.stdout}{done.stderr}"
    answer = installed.run(
        "penstock", "endpoint", "data", "top_events", "--project", "shop", "--output", "json", folder=tmp_path
    )
    assert json.loads(answer.stdout)["rows"] > 0, answer.stdout + answer.stderr
    pulled = installed.run("penstock", "pull", "--check", "--project", "shop", folder=tmp_path)
    assert pulled.returncode == 0, pulled.stdout + pulled.stderr
