"""Lines of the server's log over HTTP, while it grows and is rotated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penstock.serve.calls import logs
from penstock.serve.http.pipeline_host import PipelineHost


@pytest.fixture
def log(host: PipelineHost, tmp_path: Path) -> Path:
    host.log_file = tmp_path / "server.log"
    return host.log_file


def line(number: int, level: str = "INFO") -> str:
    return f"2026-11-23T04:36:14.{number:03d}Z {level} penstock.flow line {number}\n"


def read(client: TestClient, **parameters: object) -> dict[str, Any]:
    answer = client.get("/v0/logs", params={name: str(value) for name, value in parameters.items()})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def numbers(found: dict[str, Any]) -> list[int]:
    return [int(each.rsplit(" ", 1)[1]) for each in found["lines"]]


def test_the_latest_lines_and_then_those_after_them(client: TestClient, log: Path) -> None:
    log.write_text("".join(map(line, range(300))) + "half a li")
    found = read(client, lines=2)
    assert numbers(found) == [298, 299]
    assert read(client, after=found["position"])["lines"] == []
    with log.open("a") as file:
        file.write("ne 1\n" + line(300))
    found = read(client, after=found["position"])
    assert found["lines"] == ["half a line 1", line(300).strip()]


def test_no_line_is_missed_when_the_log_is_rotated(client: TestClient, log: Path) -> None:
    log.write_text(line(1))
    found = read(client)
    with log.open("a") as file:
        file.write(line(2))
    log.rename(log.with_name("server.log.1"))
    log.write_text(line(3))
    seen = []
    for _ in range(3):
        found = read(client, after=found["position"])
        seen += numbers(found)
    assert seen == [2, 3]
    assert numbers(read(client)) == [1, 2, 3]


def test_a_level_takes_whole_records(client: TestClient, log: Path) -> None:
    traceback = "Traceback (most recent call last):\n  x\nValueError: 2\n"
    log.write_text(line(1) + line(2, "ERROR") + traceback + line(3, "WARNING") + line(4))
    assert len(read(client, level="error")["lines"]) == 4
    assert len(read(client, level="warning")["lines"]) == 5
    assert len(read(client)["lines"]) == 7


def test_long_logs_are_read_in_parts(client: TestClient, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", 200)
    log.write_text("".join(map(line, range(50))) + "x" * 500 + "\n" + line(50))
    found = read(client)
    assert numbers(found) == [50]
    inode, _, _ = found["position"].partition("-")
    seen: list[str] = []
    position = f"{inode}-0"
    while (part := read(client, after=position))["lines"]:
        seen += part["lines"]
        position = part["position"]
    assert "".join(seen).count("x") == 500
    assert [each for each in seen if "line" in each] == [line(number).strip() for number in range(51)]


@pytest.mark.parametrize(
    "parameters", [{"lines": 0}, {"lines": "x"}, {"lines": 10**6}, {"level": "loud"}, {"after": "1"}, {"after": "a-b"}]
)
def test_wrong_parameters_are_400(client: TestClient, log: Path, parameters: dict[str, object]) -> None:
    log.write_text(line(1))
    answer = client.get("/v0/logs", params={name: str(value) for name, value in parameters.items()})
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["code"] == "invalid-parameter"


def test_without_a_log_it_is_404(client: TestClient) -> None:
    assert client.get("/v0/logs").status_code == 404


def test_the_log_is_for_the_admin(client: TestClient, log: Path, secrets: dict[str, str]) -> None:
    log.write_text(line(1))
    for scope in ("deploy", "append", "read"):
        answer = client.get("/v0/logs", headers={"Authorization": f"Bearer {secrets[scope]}"})
        assert answer.status_code == 403
